//! An ask under way: it waits for room first, then for the reply.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use wigwag_spin::Spin;

use crate::call::answer::{Answer, AnswerPlace};
use crate::call::ask_target::AskTarget;
use crate::call::block::block_within;
use crate::call::cycle::{self, CallCycle, WaitGuard};
use crate::call::time_limit::TimeLimit;
use crate::call::{Answerable, refused};
use crate::error::{AskError, CallError, CallErrorKind, Refused};
use crate::limits::ASK_WAIT_MAX;
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::interface::Interface;
use crate::reference::local_ref::AskMode;
use crate::reference::route::Attempt;
use crate::reference::{Place, Priority, Ref};
use crate::scheduler;
use crate::turn;

/// The future of [`Call::ask`](crate::Call::ask) and [`Urgent::ask`](crate::Urgent::ask): an ask
/// that waits for room, then for the reply.
///
/// It borrows the reference that was asked; that of [`Call::into_ask`](crate::Call::into_ask) is
/// `Ask<'static, _, _>` and borrows nothing. It is `Send`, and any executor may poll it.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Ask<'a, I: Interface, R: Answerable<I>> {
    target: AskTarget<'a, I>,
    message: Option<I::Message>,
    ticket: Ticket,
    limit: TimeLimit,
    priority: Priority,
    answer: Option<Answer<'a, I, R>>,
    spin: Option<Spin<'a>>,
    /// Marks the asking actor as waiting.
    waits: Option<WaitGuard>,
}

impl<'a, I: Interface, R: Answerable<I>> Ask<'a, I, R> {
    #[inline]
    pub(crate) fn new(
        target: AskTarget<'a, I>,
        message: I::Message,
        limit: TimeLimit,
        priority: Priority,
    ) -> Ask<'a, I, R> {
        Ask {
            target,
            message: Some(message),
            ticket: Ticket::default(),
            limit,
            priority,
            answer: None,
            spin: None,
            waits: None,
        }
    }

    /// Waits only until the message is sent; the answer is awaited later, and many answers may be
    /// outstanding at once. The time limit of the call covers this part alone.
    ///
    /// # Limits
    /// A session with another process holds at most 65,536 asks whose answers were not taken; the
    /// next ask waits until an answer is taken. A caller that holds more unawaited answers than
    /// this deadlocks on itself: give the call a time limit, or take answers in between.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, the message is not sent.
    pub async fn sent(mut self) -> Result<Answer<'a, I, R>, Refused<I::Message>> {
        let mode = AskMode::awaited_later(self.priority);
        let outcome = std::future::poll_fn(|context| self.poll_send(mode, context)).await;
        match outcome {
            Ok(place) => Ok(Answer::new(&self.target, place)),
            Err(error) => Err(refused(self.message.take(), *error)),
        }
    }

    /// Sends an ask whose answer is awaited next: the answer may be there when this returns.
    #[inline(always)]
    fn poll_send_now(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<AnswerPlace<R>, Box<CallError>>> {
        let mode = match (&self.target.place, self.priority) {
            (_, Priority::Urgent) => AskMode::Urgent,
            (Place::Local(_) | Place::Adapted(_), _) if ready!(scheduler::proceed(context)) => {
                AskMode::Inline
            }
            _ => AskMode::Now,
        };
        self.poll_send(mode, context)
    }

    #[inline(always)]
    fn poll_send(
        &mut self,
        mode: AskMode,
        context: &mut Context<'_>,
    ) -> Poll<Result<AnswerPlace<R>, Box<CallError>>> {
        let waker = Some(context.waker());
        // An answer that is awaited later has no limit.
        let is_awaited = matches!(mode, AskMode::Now | AskMode::Inline);
        let within_ms = if is_awaited { self.limit.left_ms() } else { None };
        match Answer::send(
            &self.target,
            mode,
            within_ms,
            &mut self.message,
            &mut self.ticket,
            waker,
        ) {
            Attempt::Sent(place) => Poll::Ready(Ok(place)),
            Attempt::Failed(error) => Poll::Ready(Err(error)),
            Attempt::Full => self.limit.poll(context).map(|kind| {
                self.target.leave(self.priority, &mut self.ticket);
                Err(Box::new(self.target.gave_up(kind)))
            }),
        }
    }

    /// Runs on the first poll inside a handler: refuses an ask that would wait for itself.
    fn check_cycle(&mut self) -> Result<(), CallError> {
        let Some(target) = self.target.shared_actor() else { return Ok(()) };
        match cycle::begin_wait(&target) {
            Ok(waits) => {
                self.waits = waits;
                Ok(())
            }
            Err(CallCycle) => Err(CallError::new(CallErrorKind::CallCycle, self.target.target())),
        }
    }

    /// Starts to spin for an answer from another process or thread before the thread parks.
    fn begin_spin(&self) -> Option<Spin<'a>> {
        match self.target {
            AskTarget::Borrowed(Ref { place: Place::Remote(route, _) }) => {
                route.spin_policy().begin()
            }
            // An ask that owns its reference is one of many, mostly, and they wait together.
            AskTarget::Borrowed(_) | AskTarget::Owned(_) => None,
        }
    }

    /// Waits with the calling thread.
    #[track_caller]
    pub(crate) fn block(mut self) -> Result<R, AskError<I::Message>> {
        if turn::is_open() {
            return Err(self.give_up(CallErrorKind::BlockingInTurn));
        }
        let limit = self.limit.keep_by_thread(ASK_WAIT_MAX);
        match block_within(&mut self, limit) {
            Some(outcome) => outcome,
            None => Err(self.give_up(CallErrorKind::Timeout(limit))),
        }
    }

    /// The error of an ask that is given up.
    #[cold]
    fn give_up(&mut self, kind: CallErrorKind) -> AskError<I::Message> {
        let error = self.target.gave_up(kind);
        self.answer = None;
        match self.message.take() {
            Some(message) => AskError::Refused(Refused { message, error }),
            None => AskError::Failed(error),
        }
    }
}

impl<I: Interface, R: Answerable<I>> Unpin for Ask<'_, I, R> {}

impl<I: Interface, R: Answerable<I>> Future for Ask<'_, I, R> {
    type Output = Result<R, AskError<I::Message>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.answer.is_none() {
            if turn::is_handler()
                && this.waits.is_none()
                && let Err(error) = this.check_cycle()
            {
                let refused = refused(this.message.take(), error);
                return Poll::Ready(Err(AskError::Refused(refused)));
            }
            match ready!(this.poll_send_now(context)) {
                Ok(place) => {
                    this.spin = this.begin_spin();
                    this.answer = Some(Answer::new(&this.target, place));
                }
                Err(error) => {
                    let refused = refused(this.message.take(), *error);
                    return Poll::Ready(Err(AskError::Refused(refused)));
                }
            }
        }
        let Some(answer) = &mut this.answer else {
            return Poll::Pending;
        };
        if let Poll::Ready(outcome) = answer.poll_reply(context.waker()) {
            if let Some(spin) = this.spin.take() {
                spin.found();
            }
            this.limit.met();
            return Poll::Ready(outcome.map_err(AskError::Failed));
        }
        if let Some(spin) = &mut this.spin {
            spin.again(context);
        }
        let waited = answer.poll_limit(&mut this.limit, context);
        waited.map(|kind| Err(this.give_up(kind)))
    }
}

impl<I: Interface, R: Answerable<I>> Drop for Ask<'_, I, R> {
    fn drop(&mut self) {
        self.target.leave(self.priority, &mut self.ticket);
    }
}
