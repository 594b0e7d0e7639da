//! The head of a request.

use std::borrow::Cow;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Method};
use percent_encoding::percent_decode_str;

use super::problem::Problem;
use crate::limits::ASK_TIME_MAX;

/// How a client would like to be answered (RFC 7240).
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The head of a request.
pub(crate) struct Parts<'r> {
    pub(crate) parts: &'r hyper::http::request::Parts,
    has: Has<'r>,
}

/// The headers of a request that the gateway knows, by one look at all of them instead of one search for
/// each.
#[derive(Clone, Copy, Debug, Default)]
struct Has<'r> {
    authorization: bool,
    origin: bool,
    prefer: bool,
    host: Option<&'r HeaderValue>,
    hosts: usize,
}

impl<'r> Has<'r> {
    fn of(headers: &'r HeaderMap) -> Has<'r> {
        let mut has = Has::default();
        for (name, value) in headers {
            if *name == HOST {
                has.host.get_or_insert(value);
                has.hosts += 1;
            }
            has.authorization |= *name == AUTHORIZATION;
            has.origin |= *name == ORIGIN;
            has.prefer |= *name == PREFER;
        }
        has
    }
}

impl<'r> Parts<'r> {
    pub(crate) fn new(parts: &'r hyper::http::request::Parts) -> Parts<'r> {
        let has = Has::of(&parts.headers);
        Parts { parts, has }
    }

    /// The first header `Host`, and the number of them.
    pub(crate) fn hosts(&self) -> (Option<&'r HeaderValue>, usize) {
        (self.has.host, self.has.hosts)
    }

    /// The first header `Authorization`.
    pub(crate) fn authorization(&self) -> Option<&HeaderValue> {
        if self.has.authorization { self.parts.headers.get(AUTHORIZATION) } else { None }
    }

    /// The origin of the page that the request comes from.
    pub(crate) fn origin(&self) -> Option<&HeaderValue> {
        if self.has.origin { self.parts.headers.get(ORIGIN) } else { None }
    }

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

    /// The time of `Prefer: wait=SECONDS` (RFC 7240 4.3); a longer one than [`ASK_TIME_MAX`] counts as
    /// that.
    pub(crate) fn wait(&self) -> Option<Duration> {
        if !self.has.prefer {
            return None;
        }
        let preferences =
            self.parts.headers.get_all(PREFER).iter().filter_map(|it| it.to_str().ok());
        let mut each = preferences.flat_map(|line| line.split([',', ';']));
        each.find_map(wait_of).map(|seconds| Duration::from_secs(seconds).min(ASK_TIME_MAX))
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

    #[test]
    fn a_reply_is_waited_for_no_longer_than_the_longest_time() {
        let most = ASK_TIME_MAX.as_secs();
        let preferences = [(most, most), (most + 1, most), (u64::MAX, most), (0, 0)];
        for (asked, expected) in preferences {
            let request = hyper::Request::builder().header(PREFER, format!("a, wait={asked}"));
            let (parts, ()) = request.body(()).expect("a request").into_parts();
            assert_eq!(Parts::new(&parts).wait(), Some(Duration::from_secs(expected)), "{asked}");
        }
    }
}
