//! The tasks of both halves of a connection, where one event may concern either of them.
//!
//! A socket wakes only the task that polled it last. So both halves poll it with one waker, which
//! wakes each half that waits: the half that polled last may have stopped, as a reader that has its
//! message does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// A half of a connection.
#[derive(Clone, Copy)]
pub(crate) enum Half {
    Reader,
    Writer,
}

impl Half {
    #[cfg(feature = "shm")]
    pub(crate) fn other(self) -> Half {
        match self {
            Half::Reader => Half::Writer,
            Half::Writer => Half::Reader,
        }
    }
}

/// The wakers of the halves that wait for an event.
pub(crate) struct Halves {
    waiting: Arc<Waiting>,
    /// Wakes all that are `waiting`.
    waker: Waker,
}

impl Halves {
    pub(crate) fn new() -> Halves {
        let waiting = Arc::<Waiting>::default();
        Halves { waker: waiting.clone().into(), waiting }
    }

    /// Registers the task of `half`, in place of the last one.
    pub(crate) fn enter(&self, half: Half, waker: &Waker) {
        let place = &mut self.waiting.places()[half as usize];
        if !place.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *place = Some(waker.clone());
        }
    }

    /// Removes the task of `half`.
    pub(crate) fn take(&self, half: Half) -> Option<Waker> {
        self.waiting.places()[half as usize].take()
    }

    /// Registers the task of `half`, and polls `event` with the waker of both halves. The task stays
    /// registered if the event is ready.
    pub(crate) fn poll<T>(
        &self,
        half: Half,
        context: &Context<'_>,
        event: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        self.enter(half, context.waker());
        // Without the lock: the event may wake the task from within.
        event(&mut Context::from_waker(&self.waker))
    }
}

#[derive(Default)]
struct Waiting(Mutex<[Option<Waker>; 2]>);

impl Waiting {
    fn places(&self) -> MutexGuard<'_, [Option<Waker>; 2]> {
        // Wakers are whole at every step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        let waiting = std::mem::take(&mut *self.places());
        waiting.into_iter().flatten().for_each(Waker::wake);
    }
}
