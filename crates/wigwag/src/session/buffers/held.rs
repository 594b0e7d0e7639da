//! Calls that threads hold between their turns, and that the driver publishes.
//!
//! A task of the runtime or a thread that sends outside a turn has no end of a turn at which its
//! calls could be published. So its first call goes under the lock of the session and wakes the
//! driver. While it goes on calling the same actor, its further calls gather in the send buffer of
//! its thread, and the next thread that writes, the driver at the latest, publishes them.
//!
//! Measured gain: `lab run remote`, cell *tell, thread*, 18 M/s; without it 8.4 M/s.

use std::cell::Cell;
use std::sync::{Arc, PoisonError};
use std::thread;

use wigwag_actor::reference::run_writer;
use wigwag_actor::turn::buffers;

use crate::session::Session;
use crate::session::buffers::buffer::SendBuffer;
use crate::session::buffers::encoding::{Arguments, Encoding};
use crate::session::buffers::frames::TurnFrames;
use crate::session::buffers::holders::HOLDER_REST_CALLS;
use crate::session::buffers::{EncodeOutcome, RunHandout, take_back_from_others, target};
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

thread_local! {
    static LAST_CALLED: LastCalled = const { LastCalled(Cell::new((0, 0, 0))) };
}

/// The last call of this thread outside a turn: the session, the channel, and the calls that go
/// one by one before another one is held, because one could not be.
struct LastCalled(Cell<(usize, u64, u16)>);

impl LastCalled {
    /// Notes a call. True if it may be held.
    #[inline]
    fn called(&self, target: usize, channel: u64) -> bool {
        match self.0.get() {
            (session, number, 0) if (session, number) == (target, channel) => true,
            (session, number, rest) if (session, number) == (target, channel) => {
                self.0.set((target, channel, rest - 1));
                false
            }
            _ => {
                self.0.set((target, channel, 0));
                false
            }
        }
    }

    fn rest(&self) {
        let (target, channel, _) = self.0.get();
        self.0.set((target, channel, HOLDER_REST_CALLS));
    }
}

impl Drop for LastCalled {
    fn drop(&mut self) {
        // The thread ends. The next thread that writes takes what it holds.
        drop(run_writer::take_back());
    }
}

/// The threads whose frames hold calls between turns.
#[derive(Default)]
pub(crate) struct HeldFrames {
    /// There may be some.
    has_some: AtomicBool,
    turns: Mutex<Vec<Arc<TurnFrames>>>,
}

impl HeldFrames {
    fn turns(&self) -> MutexGuard<'_, Vec<Arc<TurnFrames>>> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, turn: &Arc<TurnFrames>) {
        let mut turns = self.turns();
        if !turns.iter().any(|held| Arc::ptr_eq(held, turn)) {
            turns.push(turn.clone());
        }
        self.has_some.store(true, Ordering::Release);
    }

    /// True if a thread holds calls that is not this one.
    fn are_elsewhere(&self) -> bool {
        self.turns().iter().any(|turn| !turn.is_of_this_thread())
    }

    fn take(&self) -> Vec<Arc<TurnFrames>> {
        let mut turns = self.turns();
        self.has_some.store(false, Ordering::Relaxed);
        std::mem::take(&mut *turns)
    }
}

/// Encodes a call outside a turn, if this thread has called the same actor before.
#[inline(never)]
pub(super) fn call(
    session: &Arc<Session>,
    call: &Encoding<'_, impl Arguments>,
    handout: Option<&RunHandout<'_>>,
) -> EncodeOutcome {
    let target = target(session);
    let may_hold = LAST_CALLED.try_with(|last| last.called(target.get(), call.channel));
    if !may_hold.unwrap_or(false) {
        return EncodeOutcome::NotHere;
    }
    take_back_from_others(target);
    let handout = handout.filter(|handout| handout.is_of_one_route && handout.ring.is_none());
    let make = || Box::new(SendBuffer::new(session));
    let outcome = buffers::with_between_turns(target.get(), make, |buffer| {
        buffer.call_between_turns(target, call, handout)
    });
    let outcome = outcome.unwrap_or(EncodeOutcome::NotHere);
    if let EncodeOutcome::NotHere = outcome {
        let _ = LAST_CALLED.try_with(LastCalled::rest);
    }
    outcome
}

impl Session {
    /// Makes the next thread that writes publish the calls of `turn`.
    pub(super) fn hold(&self, turn: &Arc<TurnFrames>) {
        self.held.add(turn);
        self.wake_driver();
        // The end of the session publishes what is held then. Either it takes this entry, or the
        // lock of the list orders its flag before this look.
        if self.has_ended() {
            self.publish_between_turns();
        }
    }

    /// Gives the processor away once if another thread holds calls between its turns. Such a thread
    /// often goes on, and to take its calls costs it the way through the session's lock and a wake of the
    /// driver. Where the driver shares a processor with other threads, the receiver's among them, they
    /// have their turn first, and the calls of that time leave together.
    ///
    /// Measured gain: `lab run remote`, cell *tell, thread*, 14.2 M/s at 0.130 µs of processor time; without
    /// it 9.8 M/s at 0.181 µs, the medians of four rounds in turn.
    #[inline]
    pub(crate) fn give_way_to_holders(&self) {
        if self.held.has_some.load(Ordering::Acquire) && self.held.are_elsewhere() {
            thread::yield_now();
        }
    }

    /// Publishes the calls that threads hold between their turns.
    #[inline]
    pub(crate) fn publish_between_turns(&self) {
        if self.held.has_some.load(Ordering::Acquire) {
            self.publish_all_held();
        }
    }

    #[cold]
    pub(crate) fn publish_all_held(&self) {
        for turn in self.held.take() {
            // This thread may have the lock, or that of other frames, and come here by a waker that
            // sends. Another thread has it for a moment, and after the end of the session nobody
            // comes again.
            let frames = match self.has_ended() && !buffers::is_busy() {
                true => Some(turn.lock()),
                false => turn.try_lock(),
            };
            match frames {
                Some(frames) => turn.publish_between_turns(frames, self),
                None => {
                    self.held.add(&turn);
                    self.wake_driver();
                }
            }
        }
    }
}
