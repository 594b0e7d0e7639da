//! The place of one outstanding ask, shared by the asker and the reader of the connection.
//!
//! A small answer lies in the slot itself, as words that both sides may touch: no lock is taken
//! when it comes and none when it is fetched. One word says whose move it is. Only the asker leaves
//! `FREE`, `DONE`; only the reader leaves `ABANDONED`; out of `WAITING` and `HAS_WAKER` both may, and
//! the exchange says who was first.

use std::sync::PoisonError;
use std::task::{Poll, Waker};

use bytes::Bytes;
use wigwag_actor::{CallErrorKind, SMALL_REPLY_BYTES, SmallReply};

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Bytes of an answer that lie in the slot itself.
const INLINE_BYTES: usize = SMALL_REPLY_BYTES;

/// Nobody asks.
const FREE: u64 = 0;
/// The answer has not come and nobody looks.
const WAITING: u64 = 1;
/// The answer has not come; a waker lies aside.
const HAS_WAKER: u64 = 2;
/// The answer is there.
const DONE: u64 = 3;
/// The asker went away; the slot stays taken until the completion comes.
const ABANDONED: u64 = 4;

/// In the place of the length: the answer lies aside.
const IN_COLD: u64 = 0xFF;

/// Phase, length of the answer, generation.
const fn state(phase: u64, length: u64, generation: u32) -> u64 {
    phase | length << 8 | (generation as u64) << 32
}

const fn phase(state: u64) -> u64 {
    state & 0xFF
}

const fn generation(state: u64) -> u32 {
    (state >> 32) as u32
}

/// Why there will be no answer, and what there is to say about it.
pub(crate) type ReplyFailure = Box<(CallErrorKind, Box<str>)>;

/// What does not fit the words.
#[derive(Debug)]
enum ColdState {
    Nothing,
    Waker(Waker),
    Large(Bytes),
    Failed(ReplyFailure),
}

/// What an answer came to; `None`: there is no such ask.
pub(crate) type FetchedReply = Option<Result<Bytes, ReplyFailure>>;

/// What became of a completion.
#[derive(Debug)]
pub(crate) enum Completion {
    /// It is in its slot; who waits for it must be woken.
    Stored(Option<Waker>),
    /// Nobody wanted it; the slot is free again.
    Unwanted,
    /// That ask is not open.
    NotOpen,
}

/// What every ask touches.
#[derive(Debug)]
pub(crate) struct HotSlot {
    state: AtomicU64,
    words: [AtomicU64; INLINE_BYTES / 8],
}

impl HotSlot {
    pub(crate) fn new() -> HotSlot {
        let words = [const { 0 }; INLINE_BYTES / 8].map(AtomicU64::new);
        HotSlot { state: AtomicU64::new(state(FREE, 0, 0)), words }
    }

    /// The slot is asked from for the first time, with that generation.
    pub(crate) fn begin(&self, generation: u32) {
        self.state.store(state(FREE, 0, generation), Ordering::Release);
    }

    /// Opens an ask in a slot that is free and the caller's; gives its generation.
    #[inline(always)]
    pub(crate) fn open(&self) -> u32 {
        let generation = generation(self.state.load(Ordering::Relaxed));
        self.state.store(state(WAITING, 0, generation), Ordering::Release);
        generation
    }

    /// Lays a small answer down if it is asked for and nobody looks, as is true of nearly all.
    #[inline(always)]
    pub(crate) fn complete(&self, generation: u32, value: &[u8]) -> bool {
        let now = state(WAITING, 0, generation);
        if value.len() > INLINE_BYTES || self.state.load(Ordering::Acquire) != now {
            return false;
        }
        let done = state(DONE, self.store_small(value), generation);
        self.state.compare_exchange(now, done, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Only the reader of the connection comes here; gives the length.
    #[inline(always)]
    fn store_small(&self, value: &[u8]) -> u64 {
        for (word, bytes) in self.words.iter().zip(words(value)) {
            word.store(bytes, Ordering::Relaxed);
        }
        value.len() as u64
    }

    /// Fetches a small answer that is there, which frees the slot; gives its length.
    #[inline(always)]
    pub(crate) fn take_small(&self, wanted: u32, into: &mut SmallReply) -> Option<usize> {
        let now = self.state.load(Ordering::Acquire);
        let length = now >> 8 & 0xFF;
        if now & !state(0, IN_COLD, 0) != state(DONE, 0, wanted) || length == IN_COLD {
            return None;
        }
        for (place, word) in into.chunks_exact_mut(8).zip(&self.words) {
            place.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        self.set_free(now);
        Some((length as usize).min(INLINE_BYTES))
    }

    fn set_free(&self, now: u64) {
        let next = generation(now).wrapping_add(1);
        self.state.store(state(FREE, 0, next), Ordering::Release);
    }
}

/// What only an ask touches that is waited for or has a large answer.
#[derive(Debug)]
pub(crate) struct ColdSlot(Mutex<ColdState>);

impl ColdSlot {
    pub(crate) fn new() -> ColdSlot {
        ColdSlot(Mutex::new(ColdState::Nothing))
    }
}

/// One slot. Its two parts lie in tables of their own, so that two slots in use share a line of the
/// cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    pub(crate) hot: &'a HotSlot,
    pub(crate) cold: &'a ColdSlot,
}

impl<'a> Slot<'a> {
    /// Takes back an ask that was never sent. What a peer may have answered to it is thrown away.
    #[cold]
    pub(crate) fn close_unsent(&self, generation: u32) {
        let before = self.hot.state.swap(state(FREE, 0, generation), Ordering::AcqRel);
        if before != state(WAITING, 0, generation) {
            *self.cold_state() = ColdState::Nothing;
        }
    }

    /// True while an asker waits.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(phase(self.hot.state.load(Ordering::Acquire)), WAITING | HAS_WAKER)
    }

    /// The answer has come.
    #[cfg(test)]
    pub(crate) fn complete(&self, generation: u32, value: &[u8]) -> Completion {
        if self.hot.complete(generation, value) {
            return Completion::Stored(None);
        }
        self.complete_slow(generation, value)
    }

    /// The answer has come, and [`HotSlot::complete`] has found that there is more to it.
    #[inline(never)]
    pub(crate) fn complete_slow(&self, generation: u32, value: &[u8]) -> Completion {
        if value.len() > INLINE_BYTES {
            return self
                .complete_cold(generation, || ColdState::Large(Bytes::copy_from_slice(value)));
        }
        let now = self.hot.state.load(Ordering::Acquire);
        if now != state(WAITING, 0, generation) && now != state(HAS_WAKER, 0, generation) {
            return self.complete_unwanted(now, generation);
        }
        let done = state(DONE, self.hot.store_small(value), generation);
        match self.leave_waiting(now, done) {
            // Whoever laid a waker aside before the exchange has it there; who comes later sees
            // that the answer is in.
            Ok(_) => match std::mem::replace(&mut *self.cold_state(), ColdState::Nothing) {
                ColdState::Waker(waker) => Completion::Stored(Some(waker)),
                _ => Completion::Stored(None),
            },
            Err(now) => self.complete_unwanted(now, generation),
        }
    }

    /// There will be no answer.
    #[cold]
    pub(crate) fn fail(&self, generation: u32, failure: ReplyFailure) -> Completion {
        self.complete_cold(generation, || ColdState::Failed(failure))
    }

    /// There will be no answer to whoever waits here, if anybody does.
    #[cold]
    pub(crate) fn fail_if_waiting(&self, make: impl FnOnce() -> ReplyFailure) -> Option<Waker> {
        let now = self.hot.state.load(Ordering::Acquire);
        self.store_cold(now, || ColdState::Failed(make())).ok().flatten()
    }

    #[cold]
    fn complete_cold(&self, wanted: u32, make: impl FnOnce() -> ColdState) -> Completion {
        let now = self.hot.state.load(Ordering::Acquire);
        if generation(now) != wanted {
            return Completion::NotOpen;
        }
        match self.store_cold(now, make) {
            Ok(waker) => Completion::Stored(waker),
            Err(now) => self.complete_unwanted(now, wanted),
        }
    }

    /// The answer goes aside if somebody waits; gives who must be woken. Under the lock, so whoever
    /// sees that it is there finds it.
    fn store_cold(&self, now: u64, make: impl FnOnce() -> ColdState) -> Result<Option<Waker>, u64> {
        let mut cold = self.cold_state();
        self.leave_waiting(now, state(DONE, IN_COLD, generation(now)))?;
        match std::mem::replace(&mut *cold, make()) {
            ColdState::Waker(waker) => Ok(Some(waker)),
            _ => Ok(None),
        }
    }

    /// Goes from whatever kind of waiting to `next`; otherwise gives what is there.
    fn leave_waiting(&self, mut now: u64, next: u64) -> Result<u64, u64> {
        while matches!(phase(now), WAITING | HAS_WAKER) && generation(now) == generation(next) {
            match self.hot.state.compare_exchange(now, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(before) => return Ok(before),
                Err(other) => now = other,
            }
        }
        Err(now)
    }

    /// Only the reader of the connection comes here.
    #[cold]
    fn complete_unwanted(&self, now: u64, wanted: u32) -> Completion {
        if now != state(ABANDONED, 0, wanted) {
            return Completion::NotOpen;
        }
        self.hot.set_free(now);
        Completion::Unwanted
    }

    /// Fetches the answer, which frees the slot, or has `waker` woken when it comes.
    pub(crate) fn poll(&self, wanted: u32, waker: &Waker) -> Poll<FetchedReply> {
        let mut now = self.hot.state.load(Ordering::Acquire);
        if generation(now) != wanted {
            return Poll::Ready(None);
        }
        if matches!(phase(now), WAITING | HAS_WAKER) {
            match self.register(now, waker) {
                Ok(()) => return Poll::Pending,
                Err(done) => now = done,
            }
        }
        if phase(now) != DONE {
            return Poll::Ready(None);
        }
        let mut small = [0; INLINE_BYTES];
        Poll::Ready(match self.hot.take_small(wanted, &mut small) {
            Some(length) => Some(Ok(Bytes::copy_from_slice(&small[..length]))),
            None => self.take_cold(now),
        })
    }

    /// Lays the waker aside; an error when the answer is there, with the state.
    fn register(&self, now: u64, waker: &Waker) -> Result<(), u64> {
        let mut cold = self.cold_state();
        if !matches!(&*cold, ColdState::Waker(old) if old.will_wake(waker)) {
            // An answer that lies aside already is left there.
            if matches!(*cold, ColdState::Nothing | ColdState::Waker(_)) {
                *cold = ColdState::Waker(waker.clone());
            }
        }
        match self.leave_waiting(now, state(HAS_WAKER, 0, generation(now))) {
            Ok(_) => Ok(()),
            Err(now) => {
                if matches!(*cold, ColdState::Waker(_)) {
                    *cold = ColdState::Nothing;
                }
                Err(now)
            }
        }
    }

    #[cold]
    fn take_cold(&self, now: u64) -> FetchedReply {
        let cold = std::mem::replace(&mut *self.cold_state(), ColdState::Nothing);
        self.hot.set_free(now);
        match cold {
            ColdState::Large(bytes) => Some(Ok(bytes)),
            ColdState::Failed(failure) => Some(Err(failure)),
            ColdState::Nothing | ColdState::Waker(_) => None,
        }
    }

    /// The asker goes away. `true`: the slot is free; otherwise it is when the completion comes.
    pub(crate) fn abandon(&self, wanted: u32) -> bool {
        let now = self.hot.state.load(Ordering::Acquire);
        if generation(now) != wanted {
            return false;
        }
        let mut cold = self.cold_state();
        let left = std::mem::replace(&mut *cold, ColdState::Nothing);
        let done = match self.leave_waiting(now, state(ABANDONED, 0, wanted)) {
            Ok(_) => return false,
            Err(now) => now,
        };
        drop((cold, left));
        if phase(done) == DONE {
            self.hot.set_free(done);
        }
        phase(done) == DONE
    }

    fn cold_state(&self) -> MutexGuard<'a, ColdState> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
        self.cold.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `value` as words, the rest zero. Two loads that overlap for nearly every length, not a loop.
#[inline(always)]
fn words(value: &[u8]) -> [u64; INLINE_BYTES / 8] {
    if let (Some(first), Some(last)) = (value.first_chunk::<8>(), value.last_chunk::<8>())
        && value.len() <= 16
    {
        // The last eight bytes without those that the first have.
        let again = 8 * (16 - value.len() as u32);
        let second = u64::from_le_bytes(*last).checked_shr(again).unwrap_or(0);
        return [u64::from_le_bytes(*first), second, 0];
    }
    let mut bytes = [0; INLINE_BYTES];
    bytes[..value.len()].copy_from_slice(value);
    [0, 8, 16].map(|at| bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word)))
}

#[cfg(all(test, not(wigwag_loom)))]
#[path = "slot_tests.rs"]
mod tests;
#[cfg(all(test, wigwag_loom))]
#[path = "slot_loom.rs"]
mod models;
