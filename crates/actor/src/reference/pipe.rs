//! A reference in an answer that has not come yet.
//!
//! A call through it waits for the answer, as it would wait for room, and then goes to the actor that
//! the answer leads to. Nothing runs in between: each caller that waits polls the ask, and its waker
//! wakes all of them.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Poll, Wake, Waker};

use crate::error::{CallError, CallErrorKind};
use crate::lifecycle::handle::AnyActor;
use crate::limits::PIPED_ASKS_MAX;
use crate::mailbox::backlog::parked::{Parked, Ticket};
use crate::reference::interface::Interface;
use crate::reference::route::Attempt;
use crate::reference::{Place, Ref};
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// The tag of the tickets of senders that wait for an answer.
const TAG: u16 = u16::MAX;

/// Why a call fails through an answer that holds the reference in itself, or one whose ask waits for
/// it.
const LEADS_BACK: &str = "the answer leads to itself";

/// Why a call fails through an answer that waits for more others than may wait in a chain.
const TOO_LONG: &str =
    "128 asks (`PIPED_ASKS_MAX`) wait for the answers before them: await one of these first";

/// Held while an answer is noted that leads to another one.
static LINKING: Mutex<()> = Mutex::new(());

/// The number of the next place in the queue of an answer. A sender may move from one answer to
/// another one, so no two places have the same number.
static NEXT_PLACE: AtomicU64 = AtomicU64::new(0);

/// The ask whose answer holds the reference.
pub(crate) trait PipedAsk<I: Interface>: Send {
    /// The reference in the answer. Sends the ask first, if there was no room before.
    fn poll(&mut self, waker: &Waker) -> Poll<Result<Ref<I>, CallError>>;

    /// The actor that was asked, if it lives in this process.
    fn asked_actor(&self) -> Option<Arc<dyn AnyActor>>;
}

/// An answer that leads to an actor, whatever the interface of the actor.
pub(crate) trait AnyPipe: Send + Sync {
    /// The answer that this one waits for, or leads to, if that is not known to lead to an actor.
    fn next(&self) -> Option<Arc<dyn AnyPipe>>;
}

/// A reference in an answer that has not come yet, or has come since.
pub(crate) struct Pipe<I: Interface> {
    /// The ask, for errors.
    target: Arc<str>,
    /// The answer that the ask is sent through. The ask holds it for as long as it waits.
    behind: Option<Weak<dyn AnyPipe>>,
    outcome: OnceLock<Result<Ref<I>, CallError>>,
    /// `None` while a thread polls it, and after the answer.
    ask: Mutex<Option<Box<dyn PipedAsk<I>>>>,
    waiting: Arc<Waiting>,
}

/// The callers that wait for the answer.
struct Waiting {
    parked: Mutex<Parked>,
    /// The ask was woken while it was polled.
    is_woken: AtomicBool,
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::SeqCst);
        let woken = lock(&self.parked).drain();
        woken.into_iter().for_each(Waker::wake);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The value is whole between two statements, so a panic elsewhere has broken nothing.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(kind: CallErrorKind, target: &Arc<str>, why: &str) -> CallError {
    CallError::new(kind, target).with_detail(why)
}

/// The answer, the one that it waits for, and so on.
fn awaited(answer: Option<Arc<dyn AnyPipe>>) -> impl Iterator<Item = Arc<dyn AnyPipe>> {
    std::iter::successors(answer, |pipe| pipe.next())
}

impl<I: Interface> Pipe<I> {
    /// `behind` is the answer that the ask is sent through, if it is.
    pub(crate) fn new(
        target: Arc<str>,
        behind: Option<Arc<dyn AnyPipe>>,
        ask: Box<dyn PipedAsk<I>>,
    ) -> Arc<Pipe<I>> {
        let (mut outcome, mut ask) = (OnceLock::new(), Some(ask));
        if awaited(behind.clone()).nth(PIPED_ASKS_MAX - 1).is_some() {
            outcome = Err(failed(CallErrorKind::Overloaded, &target, TOO_LONG)).into();
            // Nothing was sent, since the answer before it has not come. Kept, it would keep that one.
            ask = None;
        }
        let behind = behind.map(|pipe| Arc::downgrade(&pipe));
        let (parked, is_woken) = (Mutex::new(Parked::tagged(TAG)), AtomicBool::new(false));
        Arc::new(Pipe {
            target,
            behind,
            outcome,
            ask: Mutex::new(ask),
            waiting: Arc::new(Waiting { parked, is_woken }),
        })
    }

    /// The reference, if the answer has come and was looked at.
    pub(crate) fn reference(&self) -> Option<&Ref<I>> {
        self.outcome.get()?.as_ref().ok()
    }

    /// The error of the ask, if that is known to have failed.
    pub(crate) fn error(&self) -> Option<&CallError> {
        self.outcome.get()?.as_ref().err()
    }

    pub(crate) fn target(&self) -> &Arc<str> {
        &self.target
    }

    /// The actor of this process that the answer is awaited from.
    pub(crate) fn asked_actor(&self) -> Option<Arc<dyn AnyActor>> {
        lock(&self.ask).as_ref()?.asked_actor()
    }

    /// Polls the ask. The outcome, once it is known.
    fn advance(&self) -> Option<&Result<Ref<I>, CallError>> {
        while self.outcome.get().is_none() {
            // Another thread that polls it looks again if it was woken meanwhile.
            let mut ask = lock(&self.ask).take()?;
            self.waiting.is_woken.store(false, Ordering::SeqCst);
            match ask.poll(&Waker::from(self.waiting.clone())) {
                Poll::Ready(outcome) => {
                    self.answered(outcome);
                    Arc::clone(&self.waiting).wake();
                }
                Poll::Pending => {
                    *lock(&self.ask) = Some(ask);
                    if !self.waiting.is_woken.load(Ordering::SeqCst) {
                        return None;
                    }
                }
            }
        }
        self.outcome.get()
    }

    /// Notes the outcome of the ask. An answer may hold a reference in another answer, which is
    /// followed as far as it is known. An answer that leads back here leads to no actor, since it
    /// would be followed for ever; nor does one whose ask, or one before that, waits for this answer:
    /// each of them would wait for the others, and keep them.
    fn answered(&self, outcome: Result<Ref<I>, CallError>) {
        let mut outcome = outcome.map(|reference| reference.resolved().clone());
        let mut linking = None;
        if let Ok(Ref { place: Place::Piped(_) }) = &outcome {
            // So that of two that lead to each other one sees it.
            linking = Some(lock(&LINKING));
            outcome = outcome.map(|reference| reference.resolved().clone());
        }
        if let Ok(reference) = &outcome
            && let Err((kind, why)) = self.may_wait_for(reference.awaited_answer())
        {
            outcome = Err(failed(kind, &self.target, why));
        }
        // Nobody else has had the ask.
        let _ = self.outcome.set(outcome);
        drop(linking);
    }

    /// Refuses to wait for an answer that is this one or waits for it, or for one behind too many others.
    fn may_wait_for(
        &self,
        answer: Option<Arc<dyn AnyPipe>>,
    ) -> Result<(), (CallErrorKind, &'static str)> {
        // That ends, because no answer was noted before that closes a circle.
        for (place, pipe) in awaited(answer).enumerate() {
            if std::ptr::addr_eq(Arc::as_ptr(&pipe), self) {
                return Err((CallErrorKind::NoSuchActor, LEADS_BACK));
            }
            if place >= PIPED_ASKS_MAX {
                return Err((CallErrorKind::Overloaded, TOO_LONG));
            }
        }
        Ok(())
    }

    /// Calls `send` with the reference. Until there is one, a sender with a waker is parked.
    pub(crate) fn with<T>(
        &self,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        send: impl FnOnce(&Ref<I>, &mut Ticket) -> Attempt<T>,
    ) -> Attempt<T> {
        let mut pipe = self;
        // Answers that lead to answers are followed here: a call for each of them would need the more
        // stack the more there are.
        loop {
            let reference = match pipe.looked_at(ticket, waker) {
                Attempt::Sent(reference) => reference,
                Attempt::Full => return Attempt::Full,
                Attempt::Failed(error) => return Attempt::Failed(error),
            };
            match &reference.place {
                // It knows its places.
                Place::Piped(next) => pipe = next,
                _ => {
                    // Elsewhere this one would be none.
                    if ticket.has_tag(TAG) {
                        *ticket = Ticket::default();
                    }
                    return send(reference, ticket);
                }
            }
        }
    }

    /// The reference in this answer. Until there is one, a sender with a waker is parked.
    fn looked_at(&self, ticket: &mut Ticket, waker: Option<&Waker>) -> Attempt<&Ref<I>> {
        if let (None, Some(waker)) = (self.outcome.get(), waker) {
            let number = || NEXT_PLACE.fetch_add(1, Ordering::Relaxed);
            lock(&self.waiting.parked).park_as(ticket, waker, number);
        }
        let Some(outcome) = self.advance() else { return Attempt::Full };
        self.leave_own(ticket);
        match outcome {
            Ok(reference) => Attempt::Sent(reference),
            Err(error) => Attempt::Failed(Box::new(error.clone())),
        }
    }

    /// Gives up the place of a sender that waits for the answer. False if it waits elsewhere.
    pub(crate) fn leave_own(&self, ticket: &mut Ticket) -> bool {
        if !ticket.has_tag(TAG) {
            return false;
        }
        let mut parked = lock(&self.waiting.parked);
        let is_own = parked.contains(ticket);
        if is_own {
            parked.leave(ticket);
        }
        is_own
    }
}

/// Lets go of an answer that leads to others one after the other: each within the one before would
/// need the more stack the more there are.
impl<I: Interface> Drop for Pipe<I> {
    fn drop(&mut self) {
        let mut outcome = self.outcome.take();
        while let Some(Ok(Ref { place: Place::Piped(pipe) })) = outcome {
            outcome = Arc::into_inner(pipe).and_then(|mut pipe| pipe.outcome.take());
        }
    }
}

impl<I: Interface> AnyPipe for Pipe<I> {
    fn next(&self) -> Option<Arc<dyn AnyPipe>> {
        match self.outcome.get() {
            Some(Ok(reference)) => reference.awaited_answer(),
            Some(Err(_)) => None,
            None => self.behind.as_ref()?.upgrade(),
        }
    }
}
