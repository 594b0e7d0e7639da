//! The body of a response.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::activity::Begun;
use crate::limits::PIECE_BYTES_MAX;

/// The body of a response: bytes, or a stream of them, as the events of a stream and what a router of
/// the program answers.
// A type of its own, since a boxed one costs an allocation for each response.
#[derive(Default)]
pub struct Body {
    kind: Kind,
    /// The request, which goes on as long as its answer.
    _begun: Option<Begun>,
}

#[derive(Debug, Default)]
enum Kind {
    #[default]
    Empty,
    Bytes(Option<Bytes>),
    Other(axum::body::Body),
}

impl Body {
    fn of(kind: Kind) -> Body {
        Body { kind, _begun: None }
    }

    /// The body of the answer to this request.
    pub(crate) fn holding(self, begun: Begun) -> Body {
        Body { _begun: Some(begun), ..self }
    }

    /// The bytes, if they are there as a whole.
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        match &self.kind {
            Kind::Bytes(bytes) => bytes.as_ref(),
            _ => None,
        }
    }

    pub(crate) fn other(body: axum::body::Body) -> Body {
        Body::of(Kind::Other(body))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

impl<B: Into<Bytes>> From<B> for Body {
    fn from(bytes: B) -> Body {
        Body::of(Kind::Bytes(Some(bytes.into())))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut self.kind {
            Kind::Empty => Poll::Ready(None),
            Kind::Bytes(bytes) => Poll::Ready(piece(bytes).map(|piece| Ok(Frame::data(piece)))),
            Kind::Other(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Empty => true,
            Kind::Bytes(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Kind::Other(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Empty => SizeHint::with_exact(0),
            Kind::Bytes(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |it| it.len() as u64))
            }
            Kind::Other(body) => body.size_hint(),
        }
    }
}

/// The next piece of a body. HTTP takes one when the client has room for it, so the request goes on until
/// the client has taken almost all of its answer.
fn piece(bytes: &mut Option<Bytes>) -> Option<Bytes> {
    match bytes {
        Some(long) if long.len() > PIECE_BYTES_MAX => Some(long.split_to(PIECE_BYTES_MAX)),
        _ => bytes.take(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::Waker;

    use http_body::Body as _;

    use super::*;
    use crate::http::activity::Activity;

    #[test]
    fn a_long_body_is_taken_in_pieces() {
        for length in [0, 1, PIECE_BYTES_MAX, PIECE_BYTES_MAX + 1, 3 * PIECE_BYTES_MAX] {
            let bytes: Vec<u8> = (0..length).map(|at| (at / 7) as u8).collect();
            let begun = Arc::new(Activity::new()).begin();
            let mut body = Body::from(bytes.clone()).holding(begun);
            let mut taken = Vec::new();
            let mut context = Context::from_waker(Waker::noop());
            while !body.is_end_stream() {
                assert_eq!(body.size_hint().exact(), Some((length - taken.len()) as u64));
                let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context)
                else {
                    panic!("the body ends after {} of {length} bytes", taken.len());
                };
                let piece = frame.into_data().unwrap();
                assert!(piece.len() <= PIECE_BYTES_MAX, "{}", piece.len());
                taken.extend_from_slice(&piece);
            }
            assert_eq!(taken, bytes);
        }
    }
}
