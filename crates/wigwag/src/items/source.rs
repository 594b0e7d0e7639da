//! Where the items of a stream come from: a sender of this process, a stream of another library, or
//! a session.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};

use wigwag_actor::CallErrorKind;
use wigwag_wire::{DecodeError, Reader};

use super::queue::QueueReader;
use super::received::ReceivedItems;
use crate::streams::inbox::Failure;

/// Polls a stream of another library.
type PollStream<T> = dyn FnMut(&mut Context<'_>) -> Poll<Option<Result<T, Failure>>> + Send;

/// The origin of the items of one stream. Its drop tells the producer that nobody reads them.
pub(crate) enum Source<T: Send + 'static> {
    /// A sender of this process.
    Queue(QueueReader<T>),
    /// A stream of another library, which runs in the task that reads.
    Stream(Box<PollStream<T>>),
    /// The peer of a session, and the decoder of an item.
    Session(Box<ReceivedItems>, fn(&mut Reader<'_>) -> Result<T, DecodeError>),
    /// It has failed before the first item.
    Failed(Failure),
}

impl<T: Send + 'static> Source<T> {
    /// Polls for the next item. `None` after the end; after an error there is nothing more.
    pub(crate) fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, Failure>>> {
        match self {
            Source::Queue(queue) => queue.poll_next(context.waker()),
            Source::Stream(poll_next) => {
                // A panic of the producer is the end of its stream, and not that of its reader.
                let next = || poll_next(context);
                catch_unwind(AssertUnwindSafe(next)).unwrap_or_else(|_| {
                    let why = "the stream has panicked";
                    Poll::Ready(Some(Err((CallErrorKind::Panicked, why.into()))))
                })
            }
            Source::Session(items, decode) => {
                let mut item = None;
                let mut read = |reader: &mut Reader<'_>| {
                    item = Some(decode(reader)?);
                    Ok(())
                };
                let next = items.poll(&mut read, context.waker());
                // An item was decoded if there is no error.
                next.map(|next| next.and_then(|next| next.map(|()| item).transpose()))
            }
            Source::Failed(failure) => Poll::Ready(Some(Err(failure.clone()))),
        }
    }

    /// Drops the source, and tells its producer why.
    pub(crate) fn leave(self, why: Failure) {
        match self {
            Source::Queue(queue) => queue.leave(why),
            Source::Session(mut items, _) => items.leave(why),
            Source::Stream(_) | Source::Failed(_) => {}
        }
    }
}
