//! Urgent calls: calls that overtake those that wait.
//!
//! Urgent calls have a queue of their own, which the mailbox creates at the first urgent call; an
//! actor that never gets one pays nothing for it. Control mail notifies the actor of urgent calls,
//! so it ends its current run early; `precedence` says when it does not.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::call::ask::Answer;
use crate::call::block::block_on_until;
use crate::call::cycle::{self, CallCycle, WaitGuard};
use crate::call::{Answerable, Call, TimeLimit, full, refused};
use crate::error::{AskError, CallError, CallErrorKind, Refused};
use crate::lifecycle::handle::AnyActor;
use crate::limits::ASK_WAIT_MAX;
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::interface::Interface;
use crate::reference::route::Attempt;
use crate::reference::{Place, Ref};
use crate::reply::Asker;
use crate::reply::one_shot::OneShot;
use crate::turn;

impl<'a, I: Interface, R> Call<'a, I, R> {
    /// Makes the call urgent: it overtakes all calls that wait, whether from local senders, other
    /// nodes or timers. It stays behind earlier urgent calls and control mail. The call that the
    /// actor is handling is finished first; the urgent one is next.
    ///
    /// ```
    /// # use wigwag_actor as wigwag;
    /// # fn cancel<I: wigwag::Interface>(call: wigwag::Call<'_, I, ()>) {
    /// let _ = call.urgent().try_tell();
    /// # }
    /// ```
    ///
    /// # Limits
    /// [`URGENT_CALLS_MAX`](crate::limits::URGENT_CALLS_MAX) urgent calls may wait for an actor, in
    /// addition to the room of its mailbox; the next one meets the mailbox's own
    /// [rule](crate::WhenFull) for a call without room. After
    /// [`URGENT_RUNS_MAX`](crate::limits::URGENT_RUNS_MAX) runs of urgent calls, the actor handles
    /// one run of ordinary calls.
    ///
    /// # Errors
    /// Those of any call, and `Remote`, with the message, for an actor of another process, where no
    /// call overtakes another. The message may then be sent as an ordinary call.
    ///
    /// # Performance
    /// Two locks more than an ordinary call from outside a turn, and urgent calls are never
    /// batched: use them rarely. The order between a sender's ordinary and urgent calls is given
    /// up.
    pub fn urgent(self) -> Urgent<'a, I, R> {
        Urgent(self)
    }
}

/// An urgent call that has not been made yet; see [`Call::urgent`].
#[must_use = "a call does nothing until it is told or asked"]
pub struct Urgent<'a, I: Interface, R>(Call<'a, I, R>);

impl<'a, I: Interface, R> Urgent<'a, I, R> {
    /// Bounds the whole wait, as [`Call::timeout`] does.
    pub fn timeout(self, limit: Duration) -> Urgent<'a, I, R> {
        Urgent(self.0.timeout(limit))
    }

    /// Removes the time limit, as [`Call::without_limit`] does.
    pub fn without_limit(self) -> Urgent<'a, I, R> {
        Urgent(self.0.without_limit())
    }

    /// Sends the message if there is room now, and hands it back otherwise. An urgent call is never
    /// batched: it is in the mailbox when this returns.
    pub fn try_tell(self) -> Result<(), Refused<I::Message>> {
        let (target, mut message) = (self.0.target, Some(self.0.message));
        match push(target, &mut message, None, &mut Ticket::default(), None) {
            Attempt::Sent(()) => Ok(()),
            Attempt::Full => Err(full(target, message)),
            Attempt::Failed(error) => Err(refused(message, *error)),
        }
    }

    /// Sends the message, waiting for room, as [`Call::tell`] does.
    pub fn tell(self) -> UrgentTell<'a, I> {
        UrgentTell {
            target: self.0.target,
            message: Some(self.0.message),
            ticket: Ticket::default(),
            limit: TimeLimit::new(self.0.timeout),
        }
    }

    /// Sends the message, blocking the calling thread, as [`Call::blocking_tell`] does.
    pub fn blocking_tell(self) -> Result<(), Refused<I::Message>> {
        let target = self.0.target;
        if turn::is_open() {
            let error = CallError::new(CallErrorKind::BlockingInTurn, target.target());
            return Err(Refused { message: self.0.message, error });
        }
        // The thread keeps the time, not a runtime.
        let limit = self.0.timeout.unwrap_or(Duration::MAX);
        let mut tell = self.without_limit().tell();
        match block_on_until(&mut tell, Instant::now().checked_add(limit)) {
            Some(outcome) => outcome,
            None => Err(tell.give_up(CallErrorKind::Timeout(limit))),
        }
    }
}

impl<'a, I: Interface, R: Answerable> Urgent<'a, I, R> {
    /// Sends the message and waits for the reply, as [`Call::ask`] does.
    pub fn ask(self) -> UrgentAsk<'a, I, R> {
        let limit = TimeLimit::of_ask(self.0.timeout);
        let mut sends = self.tell();
        sends.limit = limit;
        UrgentAsk { sends, answer: None, waits: None }
    }

    /// Sends the message if there is room now, as [`Call::try_ask`] does; the reply is awaited
    /// later.
    pub fn try_ask(self) -> Result<Answer<'a, I, R>, Refused<I::Message>> {
        let (target, mut message) = (self.0.target, Some(self.0.message));
        match send(target, &mut message, &mut Ticket::default(), None) {
            Attempt::Sent(answer) => Ok(answer),
            Attempt::Full => Err(full(target, message)),
            Attempt::Failed(error) => Err(refused(message, *error)),
        }
    }

    /// Sends the message and blocks the calling thread until the reply arrives, as
    /// [`Call::blocking_ask`] does.
    pub fn blocking_ask(self) -> Result<R, AskError<I::Message>> {
        let (target, limit) = (self.0.target, self.0.timeout.unwrap_or(ASK_WAIT_MAX));
        if turn::is_open() {
            let error = CallError::new(CallErrorKind::BlockingInTurn, target.target());
            return Err(AskError::Refused(Refused { message: self.0.message, error }));
        }
        let mut ask = self.without_limit().ask();
        match block_on_until(&mut ask, Instant::now().checked_add(limit)) {
            Some(outcome) => outcome,
            None => Err(ask.give_up(CallErrorKind::Timeout(limit))),
        }
    }
}

/// The future of [`Urgent::tell`]: an urgent tell that waits for room. If it is dropped while it
/// waits, the message is not sent.
#[must_use = "futures do nothing unless they are awaited"]
pub struct UrgentTell<'a, I: Interface> {
    target: &'a Ref<I>,
    message: Option<I::Message>,
    ticket: Ticket,
    limit: TimeLimit,
}

// Nothing in it is pinned in place: the timer is boxed.
impl<I: Interface> Unpin for UrgentTell<'_, I> {}

impl<I: Interface> UrgentTell<'_, I> {
    /// Turns the outcome of an attempt into a poll; waits when there was no room.
    fn after<T>(
        &mut self,
        attempt: Attempt<T>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T, Refused<I::Message>>> {
        match attempt {
            Attempt::Sent(sent) => Poll::Ready(Ok(sent)),
            Attempt::Failed(error) => Poll::Ready(Err(refused(self.message.take(), *error))),
            Attempt::Full => self.limit.poll(context).map(|kind| Err(self.give_up(kind))),
        }
    }

    fn give_up(&mut self, kind: CallErrorKind) -> Refused<I::Message> {
        leave(self.target, &mut self.ticket);
        refused(self.message.take(), CallError::new(kind, self.target.target()))
    }
}

impl<I: Interface> Future for UrgentTell<'_, I> {
    type Output = Result<(), Refused<I::Message>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let waker = Some(context.waker());
        let attempt = push(this.target, &mut this.message, None, &mut this.ticket, waker);
        this.after(attempt, context)
    }
}

impl<I: Interface> Drop for UrgentTell<'_, I> {
    fn drop(&mut self) {
        leave(self.target, &mut self.ticket);
    }
}

/// The future of [`Urgent::ask`]: an urgent ask that waits for room, then for the reply. Dropping
/// it cancels it as it does an [ask](Call::ask).
#[must_use = "futures do nothing unless they are awaited"]
pub struct UrgentAsk<'a, I: Interface, R: Answerable> {
    sends: UrgentTell<'a, I>,
    answer: Option<Answer<'a, I, R>>,
    /// Marks the asking actor as waiting.
    waits: Option<WaitGuard>,
}

impl<I: Interface, R: Answerable> Unpin for UrgentAsk<'_, I, R> {}

impl<I: Interface, R: Answerable> UrgentAsk<'_, I, R> {
    /// Runs on the first poll inside a handler: refuses an ask that would wait for itself.
    fn check_cycle(&mut self) -> Result<(), Refused<I::Message>> {
        let Place::Local(local) = &self.sends.target.place else { return Ok(()) };
        let target: Arc<dyn AnyActor> = local.mailbox.clone();
        match cycle::begin_wait(&target) {
            Ok(waits) => {
                self.waits = waits;
                Ok(())
            }
            Err(CallCycle) => Err(self.sends.give_up(CallErrorKind::CallCycle)),
        }
    }

    fn give_up(&mut self, kind: CallErrorKind) -> AskError<I::Message> {
        match self.answer.take() {
            Some(_) => AskError::Failed(CallError::new(kind, self.sends.target.target())),
            None => AskError::Refused(self.sends.give_up(kind)),
        }
    }
}

impl<I: Interface, R: Answerable> Future for UrgentAsk<'_, I, R> {
    type Output = Result<R, AskError<I::Message>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.answer.is_none() {
            if turn::is_handler()
                && this.waits.is_none()
                && let Err(refused) = this.check_cycle()
            {
                return Poll::Ready(Err(AskError::Refused(refused)));
            }
            let sends = &mut this.sends;
            let waker = Some(context.waker());
            let attempt = send(sends.target, &mut sends.message, &mut sends.ticket, waker);
            match sends.after(attempt, context) {
                Poll::Ready(Ok(answer)) => this.answer = Some(answer),
                Poll::Ready(Err(refused)) => return Poll::Ready(Err(AskError::Refused(refused))),
                Poll::Pending => return Poll::Pending,
            }
        }
        let Some(answer) = &mut this.answer else { return Poll::Pending };
        if let Poll::Ready(outcome) = Pin::new(answer).poll(context) {
            return Poll::Ready(outcome.map_err(AskError::Failed));
        }
        this.sends.limit.poll(context).map(|kind| Err(this.give_up(kind)))
    }
}

/// Sends an urgent ask.
fn send<'a, I: Interface, R: Answerable>(
    target: &'a Ref<I>,
    message: &mut Option<I::Message>,
    ticket: &mut Ticket,
    waker: Option<&Waker>,
) -> Attempt<Answer<'a, I, R>> {
    let place = Arc::new(OneShot::new());
    match push(target, message, Some(place.clone()), ticket, waker) {
        Attempt::Sent(()) => Attempt::Sent(Answer::local(target, place)),
        Attempt::Full => Attempt::Full,
        Attempt::Failed(error) => Attempt::Failed(error),
    }
}

fn push<I: Interface>(
    target: &Ref<I>,
    message: &mut Option<I::Message>,
    asker: Asker,
    ticket: &mut Ticket,
    waker: Option<&Waker>,
) -> Attempt<()> {
    match &target.place {
        Place::Local(local) => local.push_urgent(message, asker, ticket, waker),
        Place::Remote(route, _) => {
            let error = CallError::new(CallErrorKind::Remote, route.target());
            let why = "an urgent call goes before others only in the actor's own process";
            Attempt::Failed(Box::new(error.with_detail(why)))
        }
    }
}

/// Gives up the place in the queue of a sender that may have waited.
fn leave<I: Interface>(target: &Ref<I>, ticket: &mut Ticket) {
    if let (true, Place::Local(local)) = (ticket.is_parked(), &target.place) {
        local.mailbox.leave_urgent(ticket);
    }
}

impl<I: Interface, R> fmt::Debug for Urgent<'_, I, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Urgent({})", self.0.target.target())
    }
}
