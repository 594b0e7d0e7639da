//! Compression of answers, for clients that ask for it.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, VARY};
use hyper::{HeaderMap, Response};

use crate::http::body::Body;
use crate::limits::{COMPRESSED_BYTES_ELSEWHERE, COMPRESSED_BYTES_MIN};

/// True if the response has a body to be compressed for a client that allows it. Streams are never
/// compressed.
pub(crate) fn is_worth_it(response: &Response<Body>) -> bool {
    response.body().whole().is_some_and(|whole| whole.len() >= COMPRESSED_BYTES_MIN)
}

/// The response, compressed if the request allows it.
pub(crate) async fn compress(response: Response<Body>, request: &HeaderMap) -> Response<Body> {
    let Some(whole) = response.body().whole() else { return response };
    let is_wanted =
        request.get_all(ACCEPT_ENCODING).iter().any(|value| value.to_str().is_ok_and(accepts_gzip));
    if response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    let compressed = match (is_wanted, whole.len() >= COMPRESSED_BYTES_ELSEWHERE) {
        (false, _) => None,
        (true, false) => gzip(whole),
        (true, true) => {
            let whole = whole.clone();
            tokio::task::spawn_blocking(move || gzip(&whole)).await.ok().flatten()
        }
    };
    let (mut head, body) = response.into_parts();
    head.headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    let Some(compressed) = compressed else { return Response::from_parts(head, body) };
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(head, Body::from(compressed))
}

/// The bytes in gzip's form; `None` if that is not shorter.
fn gzip(bytes: &Bytes) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes).ok()?;
    let compressed = encoder.finish().ok()?;
    (compressed.len() < bytes.len()).then(|| compressed.into())
}

/// True if the value of Accept-Encoding has gzip with a weight above 0 (RFC 9110 12.5.3).
fn accepts_gzip(value: &str) -> bool {
    value.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        is_gzip && weight.is_none_or(|weight| weight > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_that_accept_it() {
        for (value, accepted) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip;q=0.0, br", false),
            ("deflate", false),
            ("", false),
        ] {
            assert_eq!(accepts_gzip(value), accepted, "{value}");
        }
    }
}
