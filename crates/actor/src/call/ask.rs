//! An ask under way: it waits for room first, then for the reply.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use wigwag_wire::{DecodeError, Reader};

use crate::call::cycle::{self, CallCycle, WaitGuard};
use crate::call::{Answerable, TimeLimit, refused};
use crate::error::{AskError, CallError, CallErrorKind, Refused};
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::interface::Interface;
use crate::reference::route::{Attempt, SMALL_REPLY_BYTES, Slot};
use crate::reference::spin::Spin;
use crate::reference::{LocalRef, Place, Ref, local_batch, send};
use crate::reply::LocalReply;
use crate::reply::one_shot::{OneShot, ReplyOutcome};
use crate::scheduler::{self, DirectCall, InlineRun};
use crate::turn;

/// The future of [`Call::ask`](crate::Call::ask): an ask that waits for room, then for the reply.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Ask<'a, I: Interface, R: Answerable> {
    target: &'a Ref<I>,
    message: Option<I::Message>,
    ticket: Ticket,
    limit: TimeLimit,
    answer: Option<Answer<'a, I, R>>,
    spin: Option<Spin<'a>>,
    /// Marks the asking actor as waiting.
    waits: Option<WaitGuard>,
}

impl<'a, I: Interface, R: Answerable> Ask<'a, I, R> {
    #[inline]
    pub(crate) fn new(target: &'a Ref<I>, message: I::Message, limit: TimeLimit) -> Ask<'a, I, R> {
        Ask {
            target,
            message: Some(message),
            ticket: Ticket::default(),
            limit,
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
        let outcome = std::future::poll_fn(|context| self.poll_send(context, false)).await;
        match outcome {
            Ok(answer) => Ok(answer),
            Err(error) => Err(refused(self.message.take(), error)),
        }
    }

    /// Sends an ask whose answer is awaited next: the answer may be there when this returns.
    #[inline(always)]
    fn poll_send_now(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Answer<'a, I, R>, CallError>> {
        if let Place::Local(local) = &self.target.place
            && ready!(scheduler::proceed(context))
        {
            let waker = Some(context.waker());
            let sent =
                Answer::ask_now(self.target, local, &mut self.message, &mut self.ticket, waker);
            return self.sent_or_wait(sent, context);
        }
        self.poll_send(context, true)
    }

    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        now: bool,
    ) -> Poll<Result<Answer<'a, I, R>, CallError>> {
        let waker = Some(context.waker());
        let sent = Answer::send(self.target, &mut self.message, &mut self.ticket, waker, now);
        self.sent_or_wait(sent, context)
    }

    #[inline(always)]
    fn sent_or_wait(
        &mut self,
        sent: Attempt<Answer<'a, I, R>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Answer<'a, I, R>, CallError>> {
        match sent {
            Attempt::Sent(answer) => Poll::Ready(Ok(answer)),
            Attempt::Failed(error) => Poll::Ready(Err(*error)),
            Attempt::Full => self.limit.poll(context).map(|kind| {
                self.target.leave(&mut self.ticket);
                Err(CallError::new(kind, self.target.target()))
            }),
        }
    }

    /// Runs on the first poll inside a handler: refuses an ask that would wait for itself.
    fn check_cycle(&mut self) -> Result<(), CallError> {
        let Place::Local(local) = &self.target.place else { return Ok(()) };
        let target: Arc<dyn AnyActor> = local.mailbox.clone();
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
        match &self.target.place {
            Place::Remote(route, _) => route.spin_policy().begin(),
            Place::Local(_) => None,
        }
    }

    /// The error of an ask that is given up after `limit`.
    pub(crate) fn give_up(&mut self, limit: Duration) -> AskError<I::Message> {
        let error = CallError::new(CallErrorKind::Timeout(limit), self.target.target());
        match self.message.take() {
            Some(message) => AskError::Refused(Refused { message, error }),
            None => AskError::Failed(error),
        }
    }
}

impl<I: Interface, R: Answerable> Unpin for Ask<'_, I, R> {}

impl<I: Interface, R: Answerable> Future for Ask<'_, I, R> {
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
                Ok(answer) => {
                    this.spin = this.begin_spin();
                    this.answer = Some(answer);
                }
                Err(error) => {
                    let refused = refused(this.message.take(), error);
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
            return Poll::Ready(outcome.map_err(AskError::Failed));
        }
        this.spin.take_if(|spin| !spin.again(context));
        this.limit.poll(context).map(|kind| {
            this.answer = None;
            Err(AskError::Failed(CallError::new(kind, this.target.target())))
        })
    }
}

impl<I: Interface, R: Answerable> Drop for Ask<'_, I, R> {
    fn drop(&mut self) {
        if self.ticket.is_parked() {
            self.target.leave(&mut self.ticket);
        }
    }
}

/// The future answer to an ask that has been sent. Dropping it cancels the ask: an actor of this
/// process that has not begun to handle it skips it.
///
/// [`Ask::sent`] and [`Call::try_ask`](crate::Call::try_ask) return it.
#[must_use = "dropping an answer cancels the ask"]
pub struct Answer<'a, I: Interface, R: Answerable> {
    target: &'a Ref<I>,
    place: AnswerPlace<R>,
    reply: PhantomData<fn() -> R>,
}

enum AnswerPlace<R> {
    Local(Arc<OneShot<R>>),
    Remote(Slot),
    Done,
}

impl<'a, I: Interface, R: Answerable> Answer<'a, I, R> {
    /// The answer that an actor of this process will put into `place`.
    pub(crate) fn local(target: &'a Ref<I>, place: Arc<OneShot<R>>) -> Answer<'a, I, R> {
        Answer { target, place: AnswerPlace::Local(place), reply: PhantomData }
    }

    /// Sends the ask to an actor of this process, or, if the actor sleeps, runs it inline to
    /// answer.
    #[inline(always)]
    fn ask_now(
        target: &'a Ref<I>,
        local: &LocalRef<I>,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<Answer<'a, I, R>> {
        local_batch::publish_to(local);
        let place = OneShot::fresh();
        let mut asker = Some(place.clone() as Arc<dyn LocalReply>);
        let sent = match local.push_or_find_asleep(message, &mut asker, ticket, waker) {
            Ok(sent) => sent,
            Err(actor) => {
                if let Some(actor) = InlineRun::begin(actor) {
                    actor.run(&mut DirectCall { message, asker: &mut asker });
                }
                match message {
                    Some(_) => local.push(message, asker, ticket, waker),
                    None => Attempt::Sent(()),
                }
            }
        };
        match sent {
            Attempt::Sent(()) => Attempt::Sent(Answer::local(target, place)),
            Attempt::Full => Attempt::Full,
            Attempt::Failed(error) => Attempt::Failed(error),
        }
    }

    /// Sends the ask. `now`: the caller polls the answer next. Always inlined, so that the answer
    /// is built in its final place: otherwise it would be stored in two halves and loaded as a
    /// whole right after, which a processor does slowly.
    #[inline(always)]
    pub(crate) fn send(
        target: &'a Ref<I>,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        now: bool,
    ) -> Attempt<Answer<'a, I, R>> {
        let sent = match &target.place {
            Place::Remote(route, _) => match route.ask(message, ticket, waker, now) {
                Attempt::Sent(slot) => Attempt::Sent(AnswerPlace::Remote(slot)),
                Attempt::Full => Attempt::Full,
                Attempt::Failed(error) => Attempt::Failed(error),
            },
            Place::Local(local) => {
                let place = OneShot::fresh();
                let asker = Some(place.clone() as Arc<dyn LocalReply>);
                let pushed = if now {
                    local_batch::publish_to(local);
                    local.push(message, asker, ticket, waker)
                } else {
                    send(local, message, asker, ticket, waker)
                };
                match pushed {
                    Attempt::Sent(()) => Attempt::Sent(AnswerPlace::Local(place)),
                    Attempt::Full => Attempt::Full,
                    Attempt::Failed(error) => Attempt::Failed(error),
                }
            }
        };
        match sent {
            Attempt::Sent(place) => Attempt::Sent(Answer { target, place, reply: PhantomData }),
            Attempt::Full => Attempt::Full,
            Attempt::Failed(error) => Attempt::Failed(error),
        }
    }

    /// Gives up the answer without cancelling the ask: the call is still handled.
    pub(crate) fn disown(mut self) {
        // An actor of another process is never notified of a dropped answer.
        if let AnswerPlace::Local(place) = &self.place {
            place.disown();
            self.place = AnswerPlace::Done;
        }
    }

    /// Polls for the reply. A small reply that has arrived is decoded into the caller's place; all
    /// other cases are rare and stay out of line.
    #[inline(always)]
    fn poll_reply(&mut self, waker: &Waker) -> Poll<Result<R, CallError>> {
        if let (AnswerPlace::Remote(slot), Place::Remote(route, _)) =
            (&self.place, &self.target.place)
        {
            let mut small = [0; SMALL_REPLY_BYTES];
            if let Some(length) = route.take_reply(*slot, &mut small) {
                self.place = AnswerPlace::Done;
                return Poll::Ready(match R::decode(&mut Reader::new(&small[..length])) {
                    Ok(value) => Ok(value),
                    Err(why) => Err(bad_reply(route.target(), &why)),
                });
            }
        }
        self.poll_slowly(waker)
    }

    #[inline(never)]
    fn poll_slowly(&mut self, waker: &Waker) -> Poll<Result<R, CallError>> {
        // Most often the answer is there at once, and the responder has dropped its handle.
        let outcome = match (&self.place, &self.target.place) {
            (AnswerPlace::Local(place), _) if Arc::strong_count(place) == 1 => {
                let AnswerPlace::Local(place) =
                    std::mem::replace(&mut self.place, AnswerPlace::Done)
                else {
                    unreachable!("matched above")
                };
                return Poll::Ready(local_outcome(self.target, OneShot::take(place)));
            }
            (AnswerPlace::Local(place), _) => match place.poll(waker) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(outcome) => local_outcome(self.target, outcome),
            },
            (AnswerPlace::Remote(slot), Place::Remote(route, _)) => {
                match route.poll_reply(*slot, waker) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(bytes)) => R::decode(&mut Reader::new(&bytes))
                        .map_err(|why| bad_reply(route.target(), &why)),
                    Poll::Ready(Err(error)) => Err(error),
                }
            }
            _ => return Poll::Pending,
        };
        self.place = AnswerPlace::Done;
        Poll::Ready(outcome)
    }
}

impl<I: Interface, R: Answerable> Unpin for Answer<'_, I, R> {}

impl<I: Interface, R: Answerable> Future for Answer<'_, I, R> {
    type Output = Result<R, CallError>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_reply(context.waker())
    }
}

impl<I: Interface, R: Answerable> Drop for Answer<'_, I, R> {
    #[inline]
    fn drop(&mut self) {
        match (&self.place, &self.target.place) {
            (AnswerPlace::Done, _) => {}
            (AnswerPlace::Local(place), _) => place.abandon(),
            (AnswerPlace::Remote(slot), Place::Remote(route, _)) => route.cancel(*slot),
            (AnswerPlace::Remote(_), Place::Local(_)) => {}
        }
    }
}

/// The outcome of an ask that an actor of this process has answered.
fn local_outcome<I: Interface, R>(
    target: &Ref<I>,
    outcome: ReplyOutcome<R>,
) -> Result<R, CallError> {
    outcome.map_err(|(kind, detail)| CallError { kind, target: target.target().clone(), detail })
}

#[cold]
pub(crate) fn bad_reply(target: &Arc<str>, why: &DecodeError) -> CallError {
    CallError::new(CallErrorKind::BadReply, target).with_detail(&why.to_string())
}
