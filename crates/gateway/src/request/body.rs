//! The body of a request, within its limits.

use std::error::Error;
use std::iter;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, LengthLimitError};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderValue};
use hyper::{HeaderMap, StatusCode};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::http::RequestBody;
use crate::http::problem::Problem;
use crate::shared::Inner;

/// A whole body, which counts as long as it is held.
pub(crate) struct Held<'a> {
    pub(crate) bytes: Bytes,
    _permits: Vec<SemaphorePermit<'a>>,
}

impl Inner {
    /// Reads a body of at most `most` bytes.
    pub(crate) async fn read_body<'s, B: RequestBody>(
        &'s self,
        headers: &HeaderMap,
        body: &mut B,
        most: usize,
    ) -> Result<Held<'s>, Problem> {
        if body.is_end_stream() {
            return Ok(Held { bytes: Bytes::new(), _permits: Vec::new() });
        }
        // `identity` says that it is not compressed (RFC 9110, 12.5.3).
        let is_plain = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"identity");
        if !headers.get_all(CONTENT_ENCODING).iter().all(is_plain) {
            // A small body that grows when it is decompressed has no limit that its sender pays for.
            let detail = "the body is compressed";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            let hint = "send the body as it is, without Content-Encoding";
            return Err(Problem::client(status, "UnsupportedMediaType", detail, hint));
        }
        let length =
            headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<usize>().ok());
        if length.is_some_and(|length| length > most) {
            return Err(too_large(most));
        }
        let reading = collect(&self.bodies, body, most);
        let limit = self.options.get_body_time();
        timeout(limit, reading).await.unwrap_or_else(|_| {
            let status = StatusCode::REQUEST_TIMEOUT;
            let detail = format!("the body was not there within {limit:?}");
            Err(Problem::client(status, "BodyTimeout", &detail, "send it faster, or in parts"))
        })
    }
}

async fn collect<'b, B: RequestBody>(
    bodies: &'b Semaphore,
    body: &mut B,
    most: usize,
) -> Result<Held<'b>, Problem> {
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    let mut permits = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| unread(&*error.into()))?;
        // Trailers say nothing that is needed.
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + all.len() + data.len() > most {
            return Err(too_large(most));
        }
        let count = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let full = |_| Problem::overloaded("the gateway holds as many bodies as it may");
        permits.push(bodies.try_acquire_many(count).map_err(full)?);
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        all.extend_from_slice(&std::mem::take(&mut first));
        all.extend_from_slice(&data);
    }
    let bytes = if all.is_empty() { first } else { all.freeze() };
    Ok(Held { bytes, _permits: permits })
}

/// The problem of a body that has not come to its end.
fn unread(error: &(dyn Error + 'static)) -> Problem {
    let mut causes = iter::successors(Some(error), |&error| error.source());
    if causes.any(|cause| cause.is::<LengthLimitError>()) {
        return longer_than("the server around the gateway takes");
    }
    // The connection has broken, or what came is no body.
    let (status, text) = (StatusCode::BAD_REQUEST, error.to_string());
    Problem::client(status, "BadBody", &text, "send the body anew")
}

fn too_large(most: usize) -> Problem {
    longer_than(&format!("{most} bytes"))
}

fn longer_than(most: &str) -> Problem {
    let detail = format!("the body has more than {most}");
    let hint = "send less, or several calls";
    Problem::client(StatusCode::PAYLOAD_TOO_LARGE, "TooLarge", &detail, hint)
}
