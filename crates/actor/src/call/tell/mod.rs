//! A tell under way: it waits for room, and with [`Tell::sent`] for the peer's acknowledgement.

mod sent;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use crate::call::block::block_within;
use crate::call::time_limit::TimeLimit;
use crate::call::{Call, refused};
use crate::error::{CallErrorKind, Refused};
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::interface::Interface;
use crate::reference::route::Attempt;
use crate::reference::{Priority, Ref};
use crate::scheduler::proceed_to_tell;
use crate::turn;

/// The future of [`Call::tell`] and [`Urgent::tell`](crate::Urgent::tell): a tell that waits for
/// room.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Tell<'a, I: Interface> {
    target: &'a Ref<I>,
    message: Option<I::Message>,
    ticket: Ticket,
    limit: TimeLimit,
    priority: Priority,
}

// Nothing in it is pinned in place: the timer is boxed.
impl<I: Interface> Unpin for Tell<'_, I> {}

impl<I: Interface> Future for Tell<'_, I> {
    type Output = Result<(), Refused<I::Message>>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // A parked sender keeps its place in the queue and must not overtake it here.
        if !self.ticket.is_parked()
            && self.priority == Priority::Ordinary
            && let Some(message) = self.message.take()
        {
            match self.target.add(message) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(message) => self.message = Some(message),
            }
        }
        self.poll_alone(context)
    }
}

impl<'a, I: Interface> Tell<'a, I> {
    #[inline(always)]
    pub(super) fn new<R>(call: Call<'a, I, R>, priority: Priority) -> Tell<'a, I> {
        let (limit, ticket) = (TimeLimit::new(call.timeout), Ticket::default());
        Tell { target: call.target, message: Some(call.message), ticket, limit, priority }
    }

    /// Sends a tell that cannot join the batch of the tells before it. A method of its own, so that
    /// the common path of a busy turn stays short.
    #[inline(never)]
    fn poll_alone(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Refused<I::Message>>> {
        if !self.ticket.is_parked() {
            ready!(proceed_to_tell(context));
        }
        let waker = Some(context.waker());
        match self.target.tell(self.priority, &mut self.message, &mut self.ticket, waker) {
            Attempt::Sent(()) => Poll::Ready(Ok(())),
            Attempt::Failed(error) => Poll::Ready(Err(refused(self.message.take(), *error))),
            Attempt::Full => self.limit.poll(context).map(|kind| Err(self.give_up(kind))),
        }
    }

    /// Waits with the calling thread.
    #[track_caller]
    pub(super) fn block(mut self) -> Result<(), Refused<I::Message>> {
        if turn::is_open() {
            return Err(self.give_up(CallErrorKind::BlockingInTurn));
        }
        let limit = self.limit.keep_by_thread(Duration::MAX);
        match block_within(&mut self, limit) {
            Some(outcome) => outcome,
            None => Err(self.give_up(CallErrorKind::Timeout(limit))),
        }
    }

    #[cold]
    fn give_up(&mut self, kind: CallErrorKind) -> Refused<I::Message> {
        self.target.leave(self.priority, &mut self.ticket);
        refused(self.message.take(), self.target.gave_up(kind))
    }
}

impl<I: Interface> Drop for Tell<'_, I> {
    #[inline(always)]
    fn drop(&mut self) {
        self.target.leave(self.priority, &mut self.ticket);
    }
}
