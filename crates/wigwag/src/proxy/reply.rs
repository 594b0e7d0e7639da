//! The outcome of a call of a client without a session: a reply, or a stream of items.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use serde_json::Value;
use wigwag_actor::{CallError, CallErrorKind};

use super::calls::OpenStream;
use super::failure::Failure;
use crate::json;

/// A reply, or an item of a stream: one MessagePack value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyReply(pub(super) Vec<u8>);

impl ProxyReply {
    /// The value as MessagePack.
    pub fn message_pack(&self) -> &[u8] {
        &self.0
    }

    /// The value as JSON.
    ///
    /// # Errors
    /// [`BadReply`](CallErrorKind::BadReply) if the value has no form in JSON.
    pub fn json(&self) -> Result<String, CallError> {
        self.value().map(|value| value.to_string())
    }

    /// The value as a value of JSON.
    ///
    /// # Errors
    /// As [`json`](Self::json).
    pub fn value(&self) -> Result<Value, CallError> {
        json::reply::value(&self.0).map_err(|why| {
            let text = format!("the reply has no form in JSON: {why}");
            Failure::call(CallErrorKind::BadReply, text).into_error(&"the reply".into())
        })
    }
}

/// A stream of items. Dropping it tells the producer that they are not wanted any more.
pub struct ProxyStream {
    pub(super) open: OpenStream,
    /// Items that were taken from the queue together.
    pub(super) taken: VecDeque<Vec<u8>>,
    pub(super) target: Arc<str>,
}

impl ProxyStream {
    /// The next item; `None` after the end.
    ///
    /// # Errors
    /// The error with which the producer has ended the stream.
    ///
    /// # Cancellation
    /// The future may be dropped at any time: no item is lost.
    pub async fn next(&mut self) -> Option<Result<ProxyReply, CallError>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// [`next`](Self::next) for a future of the caller's own.
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<ProxyReply, CallError>>> {
        let next = self.open.items.poll_next(&mut self.taken, context.waker());
        next.map(|next| {
            Some(next?.map(ProxyReply).map_err(|(kind, text)| {
                Failure::call(kind, text.unwrap_or_default()).into_error(&self.target)
            }))
        })
    }
}

impl fmt::Debug for ProxyStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyStream").field("target", &self.target).finish_non_exhaustive()
    }
}
