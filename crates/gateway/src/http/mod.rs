//! Requests and responses, without what they are about.

pub(crate) mod activity;
pub(crate) mod body;
pub(crate) mod head;
pub(crate) mod problem;

use bytes::Bytes;
use hyper::Response;
use hyper::header::{CONTENT_TYPE, HeaderValue};

use body::Body;
use problem::Problem;

/// The body of a request, of the gateway's own server or of another one.
pub(crate) trait RequestBody:
    http_body::Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static
{
}

impl<B> RequestBody for B where
    B: http_body::Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static
{
}

/// The outcome of a request.
pub(crate) type Outcome = Result<Response<Body>, Problem>;

/// A response with JSON.
pub(crate) fn json_response(json: String) -> Response<Body> {
    let mut response = Response::new(Body::from(json));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
