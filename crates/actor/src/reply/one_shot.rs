//! The one-shot place where the reply to a local ask arrives.

use std::any::Any;
use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::error::CallErrorKind;

/// The answer of a handler, or the reason why there is none.
pub(crate) type ReplyOutcome<R> = Result<R, (CallErrorKind, Option<Box<str>>)>;

enum OneShotState<R> {
    Waiting(Option<Waker>),
    /// As `Waiting`; and the handler is woken when the asker goes.
    Watched {
        asker: Option<Waker>,
        handler: Waker,
    },
    Done(ReplyOutcome<R>),
    /// The outcome was taken, or the asker has gone.
    Over,
    /// The asker has gone, but the call is still to be handled.
    Disowned,
}

thread_local! {
    /// An empty place for the next ask of this thread; a thread that asks one thing after the other
    /// allocates no more.
    static SPARE: Cell<Option<Arc<dyn Any + Send + Sync>>> = const { Cell::new(None) };
}

/// The place of one reply: filled once by the actor, emptied once by the asker.
pub(crate) struct OneShot<R>(Mutex<OneShotState<R>>);

impl<R> OneShot<R> {
    pub(crate) fn new() -> OneShot<R> {
        OneShot(Mutex::new(OneShotState::Waiting(None)))
    }

    /// Stores the outcome; only the first one counts.
    pub(crate) fn complete(&self, outcome: ReplyOutcome<R>) {
        let mut state = self.lock();
        let (OneShotState::Waiting(waker) | OneShotState::Watched { asker: waker, .. }) =
            &mut *state
        else {
            return;
        };
        let waker = waker.take();
        let before = std::mem::replace(&mut *state, OneShotState::Done(outcome));
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        drop(before);
    }

    pub(crate) fn poll(&self, waker: &Waker) -> Poll<ReplyOutcome<R>> {
        let mut state = self.lock();
        match &mut *state {
            OneShotState::Waiting(asker) | OneShotState::Watched { asker, .. } => {
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

    /// A place with no other holder: the one that this thread emptied last, if its type fits.
    #[inline]
    pub(crate) fn fresh() -> Arc<OneShot<R>>
    where
        R: Send + 'static,
    {
        let spare = SPARE.try_with(Cell::take).ok().flatten();
        spare.and_then(|spare| spare.downcast().ok()).unwrap_or_else(|| Arc::new(OneShot::new()))
    }

    /// Takes the outcome as [`poll`](Self::poll) does, but without a lock when the caller is the
    /// only holder: every earlier holder has filled it before letting go.
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
        matches!(*self.lock(), OneShotState::Waiting(_) | OneShotState::Watched { .. })
    }

    /// True while the task of `waker` waits for the answer.
    pub(crate) fn is_awaited_by(&self, waker: &Waker) -> bool {
        match &*self.lock() {
            OneShotState::Waiting(Some(asker))
            | OneShotState::Watched { asker: Some(asker), .. } => asker.will_wake(waker),
            _ => false,
        }
    }

    /// The asker has gone, and a call that was not begun may be skipped.
    pub(crate) fn abandon(&self) {
        self.close(OneShotState::Over);
    }

    /// The asker has gone, but the call is still to be handled.
    pub(crate) fn disown(&self) {
        self.close(OneShotState::Disowned);
    }

    /// True when a call that was not begun may be skipped.
    pub(crate) fn is_called_off(&self) -> bool {
        matches!(*self.lock(), OneShotState::Over)
    }

    /// Ready when a call that has begun need not be continued; otherwise `waker` is woken then.
    pub(crate) fn poll_called_off(&self, waker: &Waker) -> Poll<()> {
        let mut state = self.lock();
        let asker = match &mut *state {
            OneShotState::Waiting(asker) => asker.take(),
            OneShotState::Watched { handler, .. } if handler.will_wake(waker) => {
                return Poll::Pending;
            }
            OneShotState::Watched { asker, .. } => asker.take(),
            OneShotState::Over => return Poll::Ready(()),
            OneShotState::Done(_) | OneShotState::Disowned => return Poll::Pending,
        };
        let watched = OneShotState::Watched { asker, handler: waker.clone() };
        let before = std::mem::replace(&mut *state, watched);
        drop(state);
        drop(before);
        Poll::Pending
    }

    fn close(&self, state: OneShotState<R>) {
        // Dropping an outcome may drop a reference and wake others: done without the lock.
        let before = std::mem::replace(&mut *self.lock(), state);
        if let OneShotState::Watched { handler, .. } = before {
            handler.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, OneShotState<R>> {
        // The state is consistent between any two statements, so a panic elsewhere has broken
        // nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
