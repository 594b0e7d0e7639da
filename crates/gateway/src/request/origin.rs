//! Pages of other origins: which of them may call, and what browsers are told (the Fetch standard,
//! CORS protocol).

use std::iter;

use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HOST,
    HeaderName, HeaderValue, VARY,
};
use hyper::{HeaderMap, Method, Response, StatusCode};

use crate::http::body::Body;
use crate::http::head::Parts;
use crate::http::problem::Problem;
use crate::options::GatewayOptions;

/// Seconds for which a browser may remember what it was told.
const MAX_AGE: &str = "600";

/// Checks the origin of a request. A request of a browser that only asks what is allowed is answered.
pub(crate) fn check(
    options: &GatewayOptions,
    request: &Parts<'_>,
) -> Result<Option<Response<Body>>, Problem> {
    let Some(origin) = request.origin() else { return Ok(None) };
    let request = &request.parts;
    if !is_allowed(options, origin, &request.headers, request.uri.authority().map(|it| it.as_str()))
    {
        let hint = "allow the page's origin with `GatewayOptions::allow_origin`";
        let detail = "a page of this origin may not call the gateway";
        return Err(Problem::client(StatusCode::FORBIDDEN, "WrongOrigin", detail, hint));
    }
    let is_preflight = request.method == Method::OPTIONS
        && request.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    Ok(is_preflight.then(|| preflight(options)))
}

fn preflight(options: &GatewayOptions) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    for (name, value) in [
        (ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PUT, PATCH, DELETE"),
        (ACCESS_CONTROL_MAX_AGE, MAX_AGE),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let sent = with_repeated(options, "authorization, content-type, prefer, traceparent");
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, sent);
    response
}

/// The list of `names` and of the headers that answers repeat, which a page both sends and reads.
fn with_repeated(options: &GatewayOptions, names: &'static str) -> HeaderValue {
    if options.repeated.is_empty() {
        return HeaderValue::from_static(names);
    }
    let repeated = options.repeated.iter().map(HeaderName::as_str);
    let list = iter::once(names).chain(repeated).collect::<Vec<_>>().join(", ");
    // A name of a header is always a value too.
    HeaderValue::try_from(list).unwrap_or(HeaderValue::from_static(names))
}

/// Tells the browser that the page may read the answer.
pub(crate) fn allow(options: &GatewayOptions, request: &Parts<'_>, response: &mut HeaderMap) {
    if !options.origins.is_empty() {
        response.append(VARY, HeaderValue::from_static("origin"));
    }
    let Some(origin) = request.origin() else { return };
    if is_allowed(options, origin, &request.parts.headers, None) {
        response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        response.insert(ACCESS_CONTROL_EXPOSE_HEADERS, with_repeated(options, "retry-after"));
    }
}

fn is_allowed(
    options: &GatewayOptions,
    origin: &HeaderValue,
    headers: &HeaderMap,
    authority: Option<&str>,
) -> bool {
    let host = headers.get(HOST).map(HeaderValue::as_bytes).or(authority.map(str::as_bytes));
    options.origins.allow(origin.as_bytes(), host.unwrap_or_default())
}
