//! The place where one local reply arrives.

use std::any::Any;
use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::error::CallErrorKind;

/// The answer of a handler, or the reason why there is none.
pub(crate) type ReplyOutcome<R> = Result<R, (CallErrorKind, Option<Box<str>>)>;

enum OneShotState<R> {
    Waiting(Option<Waker>),
    Done(ReplyOutcome<R>),
    /// The outcome was taken, or nobody wants it any more.
    Over,
    /// Nobody wants the outcome, and the call is to be handled all the same.
    Disowned,
}

thread_local! {
    /// An empty slot, for the next ask of this thread: a caller that asks one thing after the other
    /// needs no other.
    static SPARE: Cell<Option<Arc<dyn Any + Send + Sync>>> = const { Cell::new(None) };
}

/// Filled once by the actor, emptied once by the asker.
pub(crate) struct OneShot<R>(Mutex<OneShotState<R>>);

impl<R> OneShot<R> {
    pub(crate) fn new() -> OneShot<R> {
        OneShot(Mutex::new(OneShotState::Waiting(None)))
    }

    /// Only the first outcome counts.
    pub(crate) fn complete(&self, outcome: ReplyOutcome<R>) {
        let mut state = self.lock();
        let OneShotState::Waiting(waker) = &mut *state else {
            return;
        };
        let waker = waker.take();
        *state = OneShotState::Done(outcome);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn poll(&self, waker: &Waker) -> Poll<ReplyOutcome<R>> {
        let mut state = self.lock();
        match &mut *state {
            OneShotState::Waiting(asker) => {
                *asker = Some(waker.clone());
                Poll::Pending
            }
            OneShotState::Done(_) => match std::mem::replace(&mut *state, OneShotState::Over) {
                OneShotState::Done(outcome) => Poll::Ready(outcome),
                _ => Poll::Pending,
            },
            OneShotState::Over | OneShotState::Disowned => Poll::Pending,
        }
    }

    /// A place that nobody else knows: the one that this thread has emptied last, if it fits.
    #[inline]
    pub(crate) fn fresh() -> Arc<OneShot<R>>
    where
        R: Send + 'static,
    {
        let spare = SPARE.try_with(Cell::take).ok().flatten();
        spare.and_then(|spare| spare.downcast().ok()).unwrap_or_else(|| Arc::new(OneShot::new()))
    }

    /// Takes the result of [`poll`](Self::poll) without a lock if the caller alone holds the slot:
    /// any other holder has filled it first.
    #[inline]
    pub(crate) fn take(mut place: Arc<OneShot<R>>) -> ReplyOutcome<R>
    where
        R: Send + 'static,
    {
        let lost = Err((CallErrorKind::ReplyDropped, None));
        let Some(alone) = Arc::get_mut(&mut place) else { return lost };
        let state = alone.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let OneShotState::Done(outcome) = std::mem::replace(state, OneShotState::Waiting(None))
        else {
            return lost;
        };
        let _ = SPARE.try_with(|spare| spare.set(Some(place)));
        outcome
    }

    pub(crate) fn is_awaited(&self) -> bool {
        matches!(*self.lock(), OneShotState::Waiting(_))
    }

    /// True while who is woken by `waker` waits for the answer.
    pub(crate) fn is_awaited_by(&self, waker: &Waker) -> bool {
        matches!(&*self.lock(), OneShotState::Waiting(Some(asker)) if asker.will_wake(waker))
    }

    /// The asker went away, and what was not begun need not be.
    pub(crate) fn abandon(&self) {
        self.close(OneShotState::Over);
    }

    /// The asker went away, and the call is to be handled all the same.
    pub(crate) fn disown(&self) {
        self.close(OneShotState::Disowned);
    }

    /// True when the call need not be begun any more.
    pub(crate) fn is_called_off(&self) -> bool {
        matches!(*self.lock(), OneShotState::Over)
    }

    fn close(&self, state: OneShotState<R>) {
        // The value may be a reference whose end wakes others: it is dropped outside the lock.
        let before = std::mem::replace(&mut *self.lock(), state);
        drop(before);
    }

    fn lock(&self) -> MutexGuard<'_, OneShotState<R>> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
