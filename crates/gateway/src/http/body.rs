//! The body of a response.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use super::activity::Begun;

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
            Kind::Bytes(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
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
