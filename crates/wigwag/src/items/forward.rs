//! The task that sends the items of a stream to the process that was given it.

use std::future::poll_fn;
use std::task::{Context, Poll};

use wigwag_actor::{CallErrorKind, ItemOffer, ItemSink};
use wigwag_wire::Encode;

use super::source::Source;
use crate::limits::ITEMS_PER_POLL;
use crate::session::receive::items::SentItems;
use crate::streams::inbox::{Failure, StreamEnd};

/// How the task ends.
enum Forwarded {
    /// The source has ended.
    Ended(StreamEnd),
    /// The reader has gone.
    Gone,
    /// The reader's process cannot be sent an item.
    Refused(Failure),
}

/// Sends the items of `source` until it ends or its reader goes, and tells each of the end of the
/// other.
pub(super) async fn forward<T: Encode + Send + 'static>(
    mut sink: SentItems,
    mut source: Source<T>,
) {
    let mut held = None;
    match poll_fn(|context| poll(&mut source, &mut held, &mut sink, context)).await {
        Forwarded::Ended(end) => sink.end(end),
        Forwarded::Gone => {
            let gone = sink.gone();
            sink.end(Err((CallErrorKind::Cancelled, "".into())));
            source.leave((gone.kind, gone.text));
        }
        Forwarded::Refused(why) => {
            sink.end(Err(why.clone()));
            source.leave(why);
        }
    }
}

fn poll<T: Encode + Send + 'static>(
    source: &mut Source<T>,
    held: &mut Option<T>,
    sink: &mut SentItems,
    context: &mut Context<'_>,
) -> Poll<Forwarded> {
    for _ in 0..ITEMS_PER_POLL {
        // An item is taken only when it may be sent: a slow reader stops the producer. Without the
        // first credit the stream is not open, and has no end either.
        if sink.poll_credit(context.waker()).is_pending() {
            return Poll::Pending;
        }
        if !sink.is_wanted() {
            return Poll::Ready(Forwarded::Gone);
        }
        let item = match held.take() {
            Some(item) => item,
            None => match source.poll_next(context) {
                Poll::Ready(Some(Ok(item))) => item,
                Poll::Ready(Some(Err(failure))) => {
                    return Poll::Ready(Forwarded::Ended(Err(failure)));
                }
                Poll::Ready(None) => return Poll::Ready(Forwarded::Ended(Ok(()))),
                Poll::Pending => {
                    return sink.poll_unwanted(context.waker()).map(|()| Forwarded::Gone);
                }
            },
        };
        match sink.offer(&item, Some(context.waker())) {
            ItemOffer::Sent => {}
            ItemOffer::Full => {
                *held = Some(item);
                return Poll::Pending;
            }
            ItemOffer::Unwanted => return Poll::Ready(Forwarded::Gone),
            ItemOffer::Refused(kind, why) => {
                return Poll::Ready(Forwarded::Refused((kind, why.into())));
            }
        }
    }
    // Other tasks of the thread have their turn.
    context.waker().wake_by_ref();
    Poll::Pending
}
