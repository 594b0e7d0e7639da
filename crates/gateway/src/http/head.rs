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
        each.find_map(|one| one.trim().strip_prefix("wait=")?.trim_matches('"').parse().ok())
    }
}

/// A segment of a path without its percent signs.
pub(crate) fn decoded(segment: &str) -> Result<Cow<'_, str>, Problem> {
    percent_decode_str(segment)
        .decode_utf8()
        .map_err(|_| Problem::not_found("the path is no UTF-8"))
}
