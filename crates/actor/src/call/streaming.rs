//! The consumer's end of a stream.

use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use wigwag_wire::{DecodeError, Reader};

use crate::call::Answerable;
use crate::call::cycle::{self, CallCycle};
use crate::call::time_limit::TimeLimit;
use crate::error::{CallError, CallErrorKind};
use crate::limits::ITEMS_AHEAD_MAX;
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::interface::Interface;
use crate::reference::route::{Attempt, ItemSource};
use crate::reference::{Place, Priority, Ref};
use crate::reply::flow::Flow;
use crate::turn;

/// A call whose reply is a stream of `T`. It sends nothing until its first item is asked for.
///
/// `while let Some(item) = items.next().await` takes all items. The producer's end is a
/// [`Yield`](crate::Yield).
///
/// ```
/// # use wigwag_actor::{CallError, Interface, Streaming};
/// # async fn sum<I: Interface>(mut items: Streaming<I, u64>) -> Result<u64, CallError> {
/// let mut sum = 0;
/// while let Some(item) = items.next().await {
///     sum += item?;
/// }
/// # Ok(sum)
/// # }
/// ```
///
/// The stream holds a reference, so the actor lives at least as long.
///
/// # Errors
/// The stream ends once: with `None`, or with one error and then `None`. Errors are those of a
/// call: `ActorStopped` or `Panicked` when the actor ends before the stream does, `ReplyDropped`
/// when the producer drops its end, `Application` with the actor's own error. Every item that was
/// sent before the end arrives first. The end of a session is an error too, `Unknown`; a cut is
/// none: the stream goes on where it was.
///
/// # Cancellation
/// Dropping the stream notifies the producer at once and drops the items that are queued. If it is
/// dropped before the handler has begun, the call is not handled at all.
///
/// # Performance
/// In a process an item takes one lock of the producer, those of half the queue together one of the
/// consumer, and no allocation in steady state.
///
/// # Limits
/// At most [`ITEMS_AHEAD`](crate::limits::ITEMS_AHEAD) items are queued, or the number that
/// [`ahead`](Self::ahead) sets. A stream of an actor of another process has a window of 512 KiB, of
/// which a short item takes 64 bytes, or less if very many streams are open; `ahead` sets that number
/// of 64 bytes. Its items are at most 64 KiB long, and the node keeps as much for each, so the window
/// may be exceeded by one item. All streams of a session share 256 MiB, and all of a node a sixteenth
/// of `NodeOptions::peer_memory`; beyond that a stream fails with `Overloaded`.
#[must_use = "a stream does nothing until its first item is asked for"]
pub struct Streaming<I: Interface, T: Send + 'static> {
    target: Ref<I>,
    /// The call, until it is sent.
    message: Option<I::Message>,
    ticket: Ticket,
    flow: Arc<Flow<T>>,
    /// Items that were taken out of it together.
    taken: VecDeque<T>,
    /// How many items the producer may be ahead, if the caller has set it.
    ahead: Option<usize>,
    /// The items of an actor of another process, while the call is under way.
    remote: Option<Box<dyn ItemSource>>,
    decode: fn(&mut Reader<'_>) -> Result<T, DecodeError>,
    timeout: Option<Duration>,
    /// The time limit of the wait under way.
    limit: TimeLimit,
    over: bool,
}

impl<I: Interface, T: Send + 'static> Streaming<I, T> {
    /// Builds the stream that `message` asks `target` for. The methods of an actor's reference use
    /// it.
    pub fn new(target: &Ref<I>, message: I::Message) -> Streaming<I, T>
    where
        T: Answerable<I>,
    {
        Streaming {
            target: target.clone(),
            message: Some(message),
            ticket: Ticket::default(),
            flow: Arc::new(Flow::new()),
            taken: VecDeque::new(),
            ahead: None,
            remote: None,
            decode: T::decode_reply,
            timeout: None,
            limit: TimeLimit::new(None),
            over: false,
        }
    }

    /// Sets how many items the producer may be ahead of the consumer, clamped to between 1 and
    /// [`ITEMS_AHEAD_MAX`].
    pub fn ahead(mut self, items: usize) -> Streaming<I, T> {
        self.flow.set_ahead(items);
        self.ahead = Some(items.clamp(1, ITEMS_AHEAD_MAX));
        self
    }

    /// Bounds the wait for each item; the wait for the first item includes the wait for room in the
    /// mailbox. When the time is over the stream ends with `Timeout`.
    ///
    /// Without it a wait has no limit, except inside a handler: there it ends after
    /// [`HANDLER_WAIT_MAX`](crate::limits::HANDLER_WAIT_MAX) with `Overloaded`.
    pub fn timeout(mut self, limit: Duration) -> Streaming<I, T> {
        self.timeout = Some(limit);
        self.limit = TimeLimit::new(self.timeout);
        self
    }

    /// The next item; `None` after the end.
    ///
    /// # Errors
    /// `Full`, `ActorStopped` and the other errors of a call; `NotSerializable` when the actor
    /// lives in a process of an earlier release, which knows no streams. After an error there is only
    /// `None`.
    ///
    /// # Cancellation
    /// The future may be dropped at any time: no item is lost.
    ///
    /// # Panics
    /// When it has a time limit, has to wait, and is polled outside a tokio runtime.
    #[expect(clippy::should_implement_trait, reason = "it is that of streams, which wait")]
    pub fn next(&mut self) -> impl Future<Output = Option<Result<T, CallError>>> + Send {
        self.limit = TimeLimit::new(self.timeout);
        poll_fn(|context| self.poll_next(context))
    }

    /// Polls for the next item, as the `Stream` traits of other crates do; see
    /// [`next`](Self::next).
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, CallError>>> {
        if self.over {
            return Poll::Ready(None);
        }
        if self.message.is_some() {
            match self.send(context) {
                Ok(true) => self.limit = TimeLimit::new(self.timeout),
                Ok(false) => return self.wait(context),
                Err(error) => return self.end(Some(error)),
            }
        }
        if self.remote.is_some() {
            return self.poll_remote(context);
        }
        match self.flow.poll_next(&mut self.taken, context.waker()) {
            Poll::Pending => self.wait(context),
            Poll::Ready(Some(Ok(item))) => {
                self.limit = TimeLimit::new(self.timeout);
                Poll::Ready(Some(Ok(item)))
            }
            Poll::Ready(Some(Err((kind, detail)))) => {
                let error = CallError::new(kind, self.target.target());
                self.end(Some(CallError { detail, ..error }))
            }
            Poll::Ready(None) => self.end(None),
        }
    }

    fn poll_remote(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, CallError>>> {
        if let Some(item) = self.taken.pop_front() {
            self.limit = TimeLimit::new(self.timeout);
            return Poll::Ready(Some(Ok(item)));
        }
        let Some(remote) = &mut self.remote else { return Poll::Ready(None) };
        let (decode, taken) = (self.decode, &mut self.taken);
        let mut read = |reader: &mut Reader<'_>| {
            taken.push_back(decode(reader)?);
            Ok(())
        };
        let polled = remote.poll_items(&mut read, context.waker());
        match (polled, self.taken.pop_front()) {
            (Poll::Pending, _) => self.wait(context),
            (Poll::Ready(Some(Ok(()))), Some(item)) => {
                self.limit = TimeLimit::new(self.timeout);
                Poll::Ready(Some(Ok(item)))
            }
            (Poll::Ready(Some(Err(error))), _) => self.end(Some(error)),
            (Poll::Ready(_), _) => self.end(None),
        }
    }

    /// Takes the call back, if it was not sent.
    pub fn into_message(mut self) -> Option<I::Message> {
        self.message.take()
    }

    /// Sends the call. False when there is no room yet.
    fn send(&mut self, context: &Context<'_>) -> Result<bool, CallError> {
        // An answer may lead to another one.
        while let Place::Piped(pipe) = &self.target.place {
            let (ticket, waker) = (&mut self.ticket, Some(context.waker()));
            match pipe.with(ticket, waker, |reference, _| Attempt::Sent(reference.clone())) {
                Attempt::Sent(reference) => self.target = reference,
                Attempt::Full => return Ok(false),
                Attempt::Failed(error) => return Err(*error),
            }
        }
        if let Place::Remote(route, _) = &self.target.place {
            let (message, ticket) = (&mut self.message, &mut self.ticket);
            return match route.stream(message, ticket, Some(context.waker()), self.ahead) {
                Attempt::Sent(items) => {
                    self.remote = Some(items);
                    Ok(true)
                }
                Attempt::Full => Ok(false),
                Attempt::Failed(error) => Err(*error),
            };
        }
        let Some(actor) = self.target.shared_actor() else { return Ok(false) };
        // The producer need not be the actor's handler, so the cycle is checked now and no guard is
        // kept.
        if turn::is_handler()
            && !self.ticket.is_parked()
            && let Err(CallCycle) = cycle::begin_wait(&actor)
        {
            return Err(CallError::new(CallErrorKind::CallCycle, self.target.target()));
        }
        let asker = Some(self.flow.clone() as _);
        let (message, ticket, waker) = (&mut self.message, &mut self.ticket, context.waker());
        match self.target.send_local(message, asker, ticket, Some(waker)) {
            Attempt::Sent(()) => Ok(true),
            Attempt::Full => Ok(false),
            Attempt::Failed(error) => Err(*error),
        }
    }

    fn wait(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, CallError>>> {
        match self.limit.poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(kind) => self.end(Some(self.target.gave_up(kind))),
        }
    }

    fn end(&mut self, error: Option<CallError>) -> Poll<Option<Result<T, CallError>>> {
        self.over = true;
        self.limit = TimeLimit::new(None);
        self.let_go();
        Poll::Ready(error.map(Err))
    }

    fn let_go(&mut self) {
        self.target.leave(Priority::Ordinary, &mut self.ticket);
        self.flow.abandon();
        self.taken = VecDeque::new();
        self.remote = None;
    }
}

// Nothing in it is pinned in place: the timer is boxed.
impl<I: Interface, T: Send + 'static> Unpin for Streaming<I, T> {}

impl<I: Interface, T: Send + 'static> Drop for Streaming<I, T> {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl<I: Interface, T: Send + 'static> fmt::Debug for Streaming<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streaming").field("target", &self.target).finish_non_exhaustive()
    }
}
