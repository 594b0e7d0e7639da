//! The place where one local reply arrives.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::error::CallErrorKind;

/// What a handler answered, or why it did not.
pub(crate) type Outcome<R> = Result<R, (CallErrorKind, Option<Box<str>>)>;

enum State<R> {
    Waiting(Option<Waker>),
    Done(Outcome<R>),
    /// The outcome was taken, or nobody wants it any more.
    Over,
}

/// Filled once by the actor, emptied once by the asker.
pub(crate) struct OneShot<R>(Mutex<State<R>>);

impl<R> OneShot<R> {
    pub(crate) fn new() -> OneShot<R> {
        OneShot(Mutex::new(State::Waiting(None)))
    }

    /// Only the first outcome counts.
    pub(crate) fn complete(&self, outcome: Outcome<R>) {
        let mut state = self.lock();
        let State::Waiting(waker) = &mut *state else {
            return;
        };
        let waker = waker.take();
        *state = State::Done(outcome);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Outcome<R>> {
        let mut state = self.lock();
        match &mut *state {
            State::Waiting(asker) => {
                *asker = Some(waker.clone());
                Poll::Pending
            }
            State::Done(_) => match std::mem::replace(&mut *state, State::Over) {
                State::Done(outcome) => Poll::Ready(outcome),
                _ => Poll::Pending,
            },
            State::Over => Poll::Pending,
        }
    }

    pub(crate) fn is_awaited(&self) -> bool {
        matches!(*self.lock(), State::Waiting(_))
    }

    /// The asker went away.
    pub(crate) fn abandon(&self) {
        // What lies there may be a reference whose end wakes others: not under the lock.
        let before = std::mem::replace(&mut *self.lock(), State::Over);
        drop(before);
    }

    fn lock(&self) -> MutexGuard<'_, State<R>> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
