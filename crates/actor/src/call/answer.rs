//! The answer to an ask that has been sent, and the places where it may arrive.

use std::future::Future;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use wigwag_wire::{DecodeError, Reader};

use crate::call::Answerable;
use crate::call::ask_target::AskTarget;
use crate::call::time_limit::TimeLimit;
use crate::error::{CallError, CallErrorKind};
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::interface::Interface;
use crate::reference::local_ref::AskMode;
use crate::reference::route::{AskTiming, Attempt, Route, SMALL_REPLY_BYTES, Slot};
use crate::reference::{Place, Ref};
use crate::reply::one_shot::{OneShot, ReplyOutcome};
use crate::reply::{Asker, LocalReply};

/// The future answer to an ask that has been sent. Dropping it cancels the ask: an actor that has
/// not begun to handle it skips it. One in another process learns of it over the network; one of an
/// earlier release handles the ask.
///
/// It is `Send`, and any task, thread or executor may await it. It borrows the reference that was
/// asked; [`into_owned`](Self::into_owned) makes one that borrows nothing. It has no time limit of its
/// own.
///
/// [`Ask::sent`](crate::Ask::sent) and [`Call::try_ask`](crate::Call::try_ask) return it.
#[must_use = "dropping an answer cancels the ask"]
pub struct Answer<'a, I: Interface, R: Answerable<I>> {
    target: AskTarget<'a, I>,
    place: AnswerPlace<R>,
    reply: PhantomData<fn() -> R>,
}

pub(crate) enum AnswerPlace<R> {
    Local(Arc<OneShot<R>>),
    Remote(Slot),
    Done,
}

impl<'a, I: Interface, R: Answerable<I>> Answer<'a, I, R> {
    /// The answer that will arrive in `place`. The caller builds it where it stays: otherwise it
    /// would be stored in parts and loaded as a whole right after, which a processor does slowly.
    #[inline(always)]
    pub(crate) fn new(target: &AskTarget<'a, I>, place: AnswerPlace<R>) -> Answer<'a, I, R> {
        Answer { target: target.clone(), place, reply: PhantomData }
    }

    /// Sends the ask; returns the place where its answer arrives.
    #[inline(always)]
    pub(crate) fn send(
        target: &AskTarget<'a, I>,
        mode: AskMode,
        within_ms: Option<NonZeroU32>,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<AnswerPlace<R>> {
        match &target.place {
            Place::Remote(..) if mode == AskMode::Urgent => target.not_urgent_there(),
            Place::Remote(route, _) => {
                let timing = AskTiming { now: mode != AskMode::Later, within_ms };
                route.ask(message, ticket, waker, timing).map(AnswerPlace::Remote)
            }
            Place::Local(local) => {
                answered_here(|asker| local.ask(mode, message, asker, ticket, waker))
            }
            Place::Adapted(adapter) => {
                answered_here(|asker| adapter.send(mode, message, asker, ticket, waker))
            }
            Place::Piped(pipe) => pipe.with(ticket, waker, |reference, ticket| {
                let target = AskTarget::Borrowed(reference);
                Answer::send(&target, mode, within_ms, message, ticket, waker)
            }),
        }
    }

    /// Converts the answer into one with a reference of its own, which can be stored or moved into
    /// another task, thread or runtime. It keeps the actor alive for as long as it lives.
    pub fn into_owned(mut self) -> Answer<'static, I, R> {
        let place = std::mem::replace(&mut self.place, AnswerPlace::Done);
        Answer { target: self.target.to_owned(), place, reply: PhantomData }
    }

    /// Gives up the answer without cancelling the ask: the call is still handled.
    pub(crate) fn disown(mut self) {
        match (&self.place, &self.target.resolved().place) {
            (AnswerPlace::Local(place), _) => place.disown(),
            (AnswerPlace::Remote(slot), Place::Remote(route, _)) => route.disown(*slot),
            (AnswerPlace::Remote(_), _) | (AnswerPlace::Done, _) => {}
        }
        self.place = AnswerPlace::Done;
    }

    /// `Ready` when the ask, which waits for its reply, has done so for too long; with the kind of the
    /// resulting error.
    pub(super) fn poll_limit(
        &self,
        limit: &mut TimeLimit,
        context: &mut Context<'_>,
    ) -> Poll<CallErrorKind> {
        match (&self.place, &self.target.place) {
            (AnswerPlace::Remote(slot), Place::Remote(route, _)) => limit.poll_by_route(
                context,
                |most| route.begin_wait(*slot, most),
                || route.has_waited(*slot),
            ),
            _ => limit.poll(context),
        }
    }

    /// Polls for the reply. A small reply that has arrived is decoded into the caller's place; all
    /// other cases are rare and stay out of line.
    #[inline(always)]
    pub(super) fn poll_reply(&mut self, waker: &Waker) -> Poll<Result<R, CallError>> {
        if let (AnswerPlace::Remote(slot), Place::Remote(route, _)) =
            (&self.place, &self.target.place)
        {
            let mut small = [0; SMALL_REPLY_BYTES];
            if let Some(length) = route.take_reply(*slot, &mut small) {
                self.place = AnswerPlace::Done;
                return Poll::Ready(match R::decode_reply(&mut Reader::new(&small[..length])) {
                    Ok(value) => Ok(value),
                    Err(why) => read_again(&**route, &small[..length], why),
                });
            }
        }
        self.poll_slowly(waker)
    }

    #[inline(never)]
    fn poll_slowly(&mut self, waker: &Waker) -> Poll<Result<R, CallError>> {
        // Most often the answer is there at once, and the responder has dropped its handle.
        let outcome = match (&self.place, &self.target.resolved().place) {
            (AnswerPlace::Local(place), _) if Arc::strong_count(place) == 1 => {
                let AnswerPlace::Local(place) =
                    std::mem::replace(&mut self.place, AnswerPlace::Done)
                else {
                    unreachable!("matched above")
                };
                return Poll::Ready(local_outcome(&self.target, OneShot::take(place)));
            }
            (AnswerPlace::Local(place), _) => match place.poll(waker) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(outcome) => local_outcome(&self.target, outcome),
            },
            (AnswerPlace::Remote(slot), Place::Remote(route, _)) => {
                match route.poll_reply(*slot, waker) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(bytes)) => {
                        match R::decode_reply(&mut Reader::of_owner(&bytes, &bytes)) {
                            Ok(value) => Ok(value),
                            Err(why) => read_again(&**route, &bytes, why),
                        }
                    }
                    Poll::Ready(Err(error)) => Err(error),
                }
            }
            _ => return Poll::Pending,
        };
        self.place = AnswerPlace::Done;
        Poll::Ready(outcome)
    }
}

/// Reads a reply that could not be read: as the value of a session if it has references or streams.
#[cold]
fn read_again<I: Interface, R: Answerable<I>>(
    route: &dyn Route<I>,
    value: &[u8],
    why: DecodeError,
) -> Result<R, CallError> {
    let mut read = Err(why);
    if let Err(DecodeError::NeedsSession) = read {
        route.reading(value, &mut || {
            read = R::decode_reply(&mut Reader::new(value));
            read.is_ok()
        });
    }
    read.map_err(|why| bad_reply(route.target(), &why))
}

impl<I: Interface, R: Answerable<I>> Unpin for Answer<'_, I, R> {}

impl<I: Interface, R: Answerable<I>> Future for Answer<'_, I, R> {
    type Output = Result<R, CallError>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_reply(context.waker())
    }
}

impl<I: Interface, R: Answerable<I>> Drop for Answer<'_, I, R> {
    #[inline]
    fn drop(&mut self) {
        match (&self.place, &self.target.place) {
            (AnswerPlace::Done, _) => {}
            (AnswerPlace::Local(place), _) => place.abandon(),
            (AnswerPlace::Remote(slot), Place::Remote(route, _)) => route.cancel(*slot),
            (AnswerPlace::Remote(slot), _) => {
                if let Place::Remote(route, _) = &self.target.resolved().place {
                    route.cancel(*slot);
                }
            }
        }
    }
}

/// Sends an ask by `send`, and returns the place where an actor of this process answers it.
#[inline(always)]
fn answered_here<R: Send + 'static>(
    send: impl FnOnce(Asker) -> Attempt<()>,
) -> Attempt<AnswerPlace<R>> {
    let place = OneShot::fresh();
    let asker = Some(place.clone() as Arc<dyn LocalReply>);
    send(asker).map(|()| AnswerPlace::Local(place))
}

/// The outcome of an ask that an actor of this process has answered.
fn local_outcome<I: Interface, R>(
    target: &Ref<I>,
    outcome: ReplyOutcome<R>,
) -> Result<R, CallError> {
    outcome.map_err(|(kind, detail)| CallError { detail, ..CallError::new(kind, target.target()) })
}

#[cold]
pub(crate) fn bad_reply(target: &Arc<str>, why: &DecodeError) -> CallError {
    CallError::new(CallErrorKind::BadReply, target).with_detail(&why.to_string())
}
