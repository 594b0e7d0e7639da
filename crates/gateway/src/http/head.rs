//! The head of a request.

use std::borrow::Cow;

use hyper::Method;
use hyper::header::HeaderName;
use percent_encoding::percent_decode_str;

use super::problem::Problem;

/// How a client would like to be answered (RFC 7240).
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The head of a request.
pub(crate) struct Parts {
    pub(crate) parts: hyper::http::request::Parts,
}

impl Parts {
    /// Refuses methods of HTTP that the path does not take.
    pub(crate) fn takes(&self, method: &Method) -> Result<(), Problem> {
        let taken = &self.parts.method;
        if taken == method || (taken == Method::HEAD && method == Method::GET) {
            return Ok(());
        }
        Err(Problem::method_not_allowed(match *method {
            Method::GET => "GET, HEAD",
            _ => method.as_str(),
        }))
    }

    /// The seconds of `Prefer: wait=SECONDS` (RFC 7240 4.3).
    pub(crate) fn wait_seconds(&self) -> Option<u64> {
        let preferences =
            self.parts.headers.get_all(PREFER).iter().filter_map(|it| it.to_str().ok());
        let mut each = preferences.flat_map(|line| line.split([',', ';']));
        each.find_map(wait_of)
    }
}

/// The seconds of a preference `wait`, whose name may have capitals and spaces behind it (RFC 7240 2).
fn wait_of(preference: &str) -> Option<u64> {
    let (name, seconds) = preference.split_once('=')?;
    let is_wait = name.trim().eq_ignore_ascii_case("wait");
    is_wait.then(|| seconds.trim().trim_matches('"').parse().ok()).flatten()
}

/// A segment of a path without its percent signs.
pub(crate) fn decoded(segment: &str) -> Result<Cow<'_, str>, Problem> {
    percent_decode_str(segment)
        .decode_utf8()
        .map_err(|_| Problem::not_found("the path is no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preference_wait_is_read_however_it_is_spelled() {
        for one in ["wait=5", " wait=5 ", "Wait=5", "WAIT = 5", "wait=\"5\""] {
            assert_eq!(wait_of(one), Some(5), "{one}");
        }
        for one in ["wait", "wait=", "wait=x", "wait=-1", "await=5", "wait=99999999999999999999"] {
            assert_eq!(wait_of(one), None, "{one}");
        }
    }
}
