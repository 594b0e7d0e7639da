//! A call that waits in a queue until it can be done, or its time is over.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::time::Sleep;
use wigwag_sp::{ContextId, PipeId};

use crate::socket::core::{Core, State};
use crate::socket::error::SocketErrorKind;

/// The queue that a call waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum QueueKey {
    Send,
    Receive,
    /// Receivers of a context that gets its own messages.
    Context(ContextId),
    /// Senders to one peer among many.
    Peer(PipeId),
}

impl State {
    fn wait(&mut self, queue: QueueKey, ticket: &mut Option<u64>, waker: &Waker) {
        match queue {
            QueueKey::Send => self.senders.wait(ticket, waker),
            QueueKey::Receive => self.receivers.wait(ticket, waker),
            other => self.others.wait(other, ticket, waker),
        }
    }

    fn leave(&mut self, queue: QueueKey, ticket: u64) -> bool {
        match queue {
            QueueKey::Send => self.senders.leave(ticket),
            QueueKey::Receive => self.receivers.leave(ticket),
            other => self.others.leave(other, ticket),
        }
    }

    #[inline]
    pub(crate) fn wake_next(&mut self, queue: QueueKey) {
        let next = match queue {
            QueueKey::Send => self.senders.next(),
            QueueKey::Receive => self.receivers.next(),
            other => self.others.next(other),
        };
        if next.is_some() {
            self.wakes.extend(next);
        }
    }
}

/// A call that may wait.
pub(crate) struct Waiter<'c> {
    pub(super) core: &'c Arc<Core>,
    queue: QueueKey,
    ticket: Option<u64>,
    alarm: Option<Alarm>,
}

/// The end of a call's time. Boxed: the future of a call is copied into that of each caller above it,
/// and few calls have a time limit.
struct Alarm {
    sleep: Pin<Box<Sleep>>,
    limit: Duration,
}

impl<'c> Waiter<'c> {
    pub(crate) fn new(core: &'c Arc<Core>, queue: QueueKey) -> Waiter<'c> {
        Waiter { core, queue, ticket: None, alarm: None }
    }

    /// Runs `attempt`; the call waits while it returns `None`. When it succeeds, the next in the
    /// queue is woken.
    pub(crate) fn poll<T>(
        &mut self,
        context: &Context<'_>,
        attempt: impl FnOnce(&mut State) -> Option<T>,
    ) -> Poll<T> {
        let (queue, ticket) = (self.queue, &mut self.ticket);
        self.core.with(|state| match attempt(state) {
            None => {
                state.wait(queue, ticket, context.waker());
                Poll::Pending
            }
            Some(outcome) => {
                if let Some(ticket) = ticket.take() {
                    state.leave(queue, ticket);
                }
                state.wake_next(queue);
                Poll::Ready(outcome)
            }
        })
    }

    /// [`poll`](Self::poll) for at most the time that `limit_of` the state is when the call begins
    /// to wait.
    #[inline]
    pub(super) fn poll_within<T>(
        &mut self,
        context: &mut Context<'_>,
        limit_of: impl FnOnce(&State) -> Option<Duration>,
        attempt: impl FnOnce(&mut State) -> Option<Result<T, SocketErrorKind>>,
    ) -> Poll<Result<T, SocketErrorKind>> {
        let mut limit = None;
        let outcome = self.poll(context, |state| {
            let outcome = attempt(state);
            if outcome.is_none() {
                limit = limit_of(state);
            }
            outcome
        });
        match outcome {
            Poll::Ready(outcome) => Poll::Ready(outcome),
            Poll::Pending => self.poll_alarm(context, limit).map(Err),
        }
    }

    /// Lets the call's time begin anew when it next waits.
    pub(super) fn restart(&mut self) {
        self.alarm = None;
    }

    /// Ready when the call's time is over.
    #[cold]
    pub(super) fn poll_alarm(
        &mut self,
        context: &mut Context<'_>,
        limit: Option<Duration>,
    ) -> Poll<SocketErrorKind> {
        let alarm = match (&mut self.alarm, limit) {
            (Some(alarm), _) => alarm,
            (None, None) => return Poll::Pending,
            (none, Some(limit)) => {
                let runtime = match self.core.runtime() {
                    Ok(runtime) => runtime,
                    Err(error) => return Poll::Ready(SocketErrorKind::NoRuntime(error)),
                };
                // Only creating a timer needs the runtime; any executor may wait for it.
                let _entered = runtime.enter();
                none.insert(Alarm { sleep: Box::pin(tokio::time::sleep(limit)), limit })
            }
        };
        ready!(alarm.sleep.as_mut().poll(context));
        Poll::Ready(self.core.too_late(alarm.limit))
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let queue = self.queue;
        self.core.with(|state| {
            if !state.leave(queue, ticket) {
                state.wake_next(queue);
            }
        });
    }
}
