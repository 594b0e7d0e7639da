//! The slot of one outstanding ask, shared by the asker and the reader of the connection.
//!
//! A small answer is stored in the slot itself, in words that both sides access atomically: neither
//! storing nor taking it locks anything. One state word says which side may act. Only the asker
//! leaves `FREE` and `DONE`; only the reader leaves `ABANDONED`; both may leave `WAITING` and
//! `HAS_WAKER`, and the compare-exchange decides which of them was first.

use std::sync::PoisonError;
use std::task::{Poll, Waker};

use bytes::Bytes;
use wigwag_actor::{CallErrorKind, SMALL_REPLY_BYTES, SmallReply};

use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Bytes of an answer that fit into the slot itself.
const INLINE_BYTES: usize = SMALL_REPLY_BYTES;

/// Bytes of an answer that fit into the hot part of the slot: two numbers, or a short text.
const FIRST_BYTES: usize = 24;

const FIRST_WORDS: usize = FIRST_BYTES / 8;

/// Words of an answer that are in the cold part.
const MORE_WORDS: usize = INLINE_BYTES / 8 - FIRST_WORDS;

/// No ask uses the slot.
const FREE: u64 = 0;
/// The answer has not arrived and no waker is registered.
const WAITING: u64 = 1;
/// The answer has not arrived; the cold part holds a waker.
const HAS_WAKER: u64 = 2;
/// The answer is stored.
const DONE: u64 = 3;
/// The asker has gone away; the slot stays in use until its completion arrives.
const ABANDONED: u64 = 4;

/// Stands in the length field when the answer is in the cold part.
const IN_COLD: u64 = 0xFF;

/// Packs phase, answer length and generation into a state word.
const fn state(phase: u64, length: u64, generation: u32) -> u64 {
    phase | length << 8 | (generation as u64) << 32
}

const fn phase(state: u64) -> u64 {
    state & 0xFF
}

const fn generation(state: u64) -> u32 {
    (state >> 32) as u32
}

/// Why an ask has no answer, and details for its error.
pub(crate) type ReplyFailure = Box<(CallErrorKind, Box<str>)>;

/// The cold part of a slot: everything that does not fit the words.
#[derive(Debug)]
enum ColdState {
    Nothing,
    Waker(Waker),
    Large(Bytes),
    Failed(ReplyFailure),
}

/// The result of taking an answer; `None` if there is no such ask.
pub(crate) type FetchedReply = Option<Result<Bytes, ReplyFailure>>;

/// The result of completing an ask.
#[derive(Debug)]
pub(crate) enum Completion {
    /// The completion is stored; the waker, if any, must be woken.
    Stored(Option<Waker>),
    /// The asker has gone away; the slot is free.
    Unwanted,
    /// There is no such ask.
    NotOpen,
}

/// The slot of an ask that was abandoned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Abandoned {
    /// It is free when the completion arrives.
    Open,
    /// It is free. The answer, if it has arrived: its references and streams are to be let go.
    Free(Bytes),
}

/// The part of a slot that every ask touches.
#[derive(Debug)]
pub(crate) struct HotSlot {
    state: AtomicU64,
    words: [AtomicU64; FIRST_WORDS],
}

impl HotSlot {
    pub(crate) fn new() -> HotSlot {
        let words = [const { 0 }; FIRST_WORDS].map(AtomicU64::new);
        HotSlot { state: AtomicU64::new(state(FREE, 0, 0)), words }
    }

    /// Sets the generation of a slot that is used for the first time.
    pub(crate) fn begin(&self, generation: u32) {
        self.state.store(state(FREE, 0, generation), Ordering::Release);
    }

    /// Opens an ask in a free slot that the caller owns; returns its generation.
    #[inline(always)]
    pub(crate) fn open(&self) -> u32 {
        let generation = generation(self.state.load(Ordering::Relaxed));
        self.state.store(state(WAITING, 0, generation), Ordering::Release);
        generation
    }

    /// Stores an answer that fits here, if the ask is open and has no waker, which holds for nearly
    /// all. Otherwise returns false and changes nothing.
    #[inline(always)]
    pub(crate) fn complete(&self, generation: u32, value: &[u8]) -> bool {
        let now = state(WAITING, 0, generation);
        if value.len() > FIRST_BYTES || self.state.load(Ordering::Acquire) != now {
            return false;
        }
        self.store_first(value);
        let done = state(DONE, value.len() as u64, generation);
        self.state.compare_exchange(now, done, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Stores at most [`FIRST_BYTES`] of an answer. Only the reader of the connection calls this.
    #[inline(always)]
    fn store_first(&self, value: &[u8]) {
        for (word, bytes) in self.words.iter().zip(first_words(value)) {
            word.store(bytes, Ordering::Relaxed);
        }
    }

    /// Takes a small answer if there is one, which frees the slot; returns its length. `cold` gives the
    /// other part of the slot, for an answer that is partly there.
    #[inline(always)]
    pub(crate) fn take_small<'c>(
        &self,
        cold: impl FnOnce() -> Option<&'c ColdSlot>,
        wanted: u32,
        into: &mut SmallReply,
    ) -> Option<usize> {
        let now = self.state.load(Ordering::Acquire);
        let length = now >> 8 & 0xFF;
        if now & !state(0, IN_COLD, 0) != state(DONE, 0, wanted) || length == IN_COLD {
            return None;
        }
        let length = (length as usize).min(INLINE_BYTES);
        let (first, more) = into.split_at_mut(FIRST_BYTES);
        load_words(&self.words, first);
        if length > FIRST_BYTES {
            load_words(&cold()?.words, &mut more[..(length - FIRST_BYTES).next_multiple_of(8)]);
        }
        self.set_free(now);
        Some(length)
    }

    fn set_free(&self, now: u64) {
        let next = generation(now).wrapping_add(1);
        self.state.store(state(FREE, 0, next), Ordering::Release);
    }
}

/// The part of a slot that is touched only by an ask that is polled, or has an answer that does not
/// fit the other part.
#[derive(Debug)]
pub(crate) struct ColdSlot {
    state: Mutex<ColdState>,
    /// The end of an answer that is too long for the hot part and small all the same.
    words: [AtomicU64; MORE_WORDS],
}

impl ColdSlot {
    pub(crate) fn new() -> ColdSlot {
        let words = [const { 0 }; MORE_WORDS].map(AtomicU64::new);
        ColdSlot { state: Mutex::new(ColdState::Nothing), words }
    }

    /// Stores what follows [`FIRST_BYTES`] of an answer. Only the reader of the connection calls this.
    fn store_more(&self, more: &[u8]) {
        for (word, bytes) in self.words.iter().zip(more.chunks(8)) {
            word.store(padded(bytes), Ordering::Relaxed);
        }
    }
}

/// One slot. Its two parts are in separate tables, so that two slots in use share a cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    pub(crate) hot: &'a HotSlot,
    pub(crate) cold: &'a ColdSlot,
}

impl<'a> Slot<'a> {
    /// Closes an ask that was never sent, and drops any answer that a peer sent to it.
    #[cold]
    pub(crate) fn close_unsent(&self, generation: u32) {
        let before = self.hot.state.swap(state(FREE, 0, generation), Ordering::AcqRel);
        if before != state(WAITING, 0, generation) {
            *self.cold_state() = ColdState::Nothing;
        }
    }

    /// True until the answer to the ask of this generation has come, whether or not it is wanted.
    pub(crate) fn is_open(&self, wanted: u32) -> bool {
        let state = self.hot.state.load(Ordering::Acquire);
        generation(state) == wanted && matches!(phase(state), WAITING | HAS_WAKER | ABANDONED)
    }

    /// True while the ask has no answer.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(phase(self.hot.state.load(Ordering::Acquire)), WAITING | HAS_WAKER)
    }

    /// Takes a small answer if there is one, which frees the slot; returns its length.
    fn take_small(&self, wanted: u32, into: &mut SmallReply) -> Option<usize> {
        self.hot.take_small(|| Some(self.cold), wanted, into)
    }

    /// The waker that the caller has left.
    pub(crate) fn waker(&self) -> Option<Waker> {
        match &*self.cold_state() {
            ColdState::Waker(waker) => Some(waker.clone()),
            _ => None,
        }
    }

    /// Stores the answer.
    #[cfg(test)]
    pub(crate) fn complete(&self, generation: u32, value: &[u8]) -> Completion {
        if self.hot.complete(generation, value) {
            return Completion::Stored(None);
        }
        self.complete_slow(generation, value)
    }

    /// Stores an answer that [`HotSlot::complete`] left: a large one, or one to an ask with a
    /// waker.
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
        let (first, more) = value.split_at(value.len().min(FIRST_BYTES));
        self.hot.store_first(first);
        self.cold.store_more(more);
        let done = state(DONE, value.len() as u64, generation);
        match self.leave_waiting(now, done) {
            // A waker that was registered before the exchange is there; an asker that comes later
            // sees the answer.
            Ok(_) => match std::mem::replace(&mut *self.cold_state(), ColdState::Nothing) {
                ColdState::Waker(waker) => Completion::Stored(Some(waker)),
                _ => Completion::Stored(None),
            },
            Err(now) => self.complete_unwanted(now, generation),
        }
    }

    /// Fails the ask.
    #[cold]
    pub(crate) fn fail(&self, generation: u32, failure: ReplyFailure) -> Completion {
        self.complete_cold(generation, || ColdState::Failed(failure))
    }

    /// Fails the ask in this slot if it is open; returns the waker of its caller, if that waits.
    /// `None` if no ask is open. The number of a slot whose caller has gone away is not used again.
    #[cold]
    pub(crate) fn fail_if_open(
        &self,
        make: impl FnOnce() -> ReplyFailure,
    ) -> Option<Option<Waker>> {
        let now = self.hot.state.load(Ordering::Acquire);
        match self.store_cold(now, || ColdState::Failed(make())) {
            Ok(waker) => Some(waker),
            // Its ask may be among those that never left too, and must fail once.
            Err(now) => {
                matches!(self.complete_unwanted(now, generation(now)), Completion::Unwanted)
                    .then_some(None)
            }
        }
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

    /// Stores the completion in the cold part if the ask waits; returns the waker. This happens
    /// under the lock, so an asker that sees the state finds the completion.
    fn store_cold(&self, now: u64, make: impl FnOnce() -> ColdState) -> Result<Option<Waker>, u64> {
        let mut cold = self.cold_state();
        self.leave_waiting(now, state(DONE, IN_COLD, generation(now)))?;
        match std::mem::replace(&mut *cold, make()) {
            ColdState::Waker(waker) => Ok(Some(waker)),
            _ => Ok(None),
        }
    }

    /// Moves from either waiting phase to `next`; otherwise returns the current state.
    fn leave_waiting(&self, mut now: u64, next: u64) -> Result<u64, u64> {
        while matches!(phase(now), WAITING | HAS_WAKER) && generation(now) == generation(next) {
            match self.hot.state.compare_exchange(now, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(before) => return Ok(before),
                Err(other) => now = other,
            }
        }
        Err(now)
    }

    /// Handles a completion for an ask that does not wait. Only the reader of the connection calls
    /// this.
    #[cold]
    fn complete_unwanted(&self, now: u64, wanted: u32) -> Completion {
        if now != state(ABANDONED, 0, wanted) {
            return Completion::NotOpen;
        }
        // At the end of the session two threads may complete it.
        let free = state(FREE, 0, wanted.wrapping_add(1));
        match self.hot.state.compare_exchange(now, free, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Completion::Unwanted,
            Err(_) => Completion::NotOpen,
        }
    }

    /// Takes the answer, which frees the slot, or registers `waker`.
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
        Poll::Ready(match self.take_small(wanted, &mut small) {
            Some(length) => Some(Ok(Bytes::copy_from_slice(&small[..length]))),
            None => self.take_cold(now),
        })
    }

    /// Registers a waker. If the answer is there already, returns the state as an error.
    fn register(&self, now: u64, waker: &Waker) -> Result<(), u64> {
        let mut cold = self.cold_state();
        if !matches!(&*cold, ColdState::Waker(old) if old.will_wake(waker)) {
            // Keep an answer that is in the cold part already.
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

    /// Abandons the ask.
    pub(crate) fn abandon(&self, wanted: u32) -> Abandoned {
        let now = self.hot.state.load(Ordering::Acquire);
        if generation(now) != wanted {
            return Abandoned::Open;
        }
        let mut cold = self.cold_state();
        let left = std::mem::replace(&mut *cold, ColdState::Nothing);
        let done = match self.leave_waiting(now, state(ABANDONED, 0, wanted)) {
            Ok(_) => return Abandoned::Open,
            Err(now) => now,
        };
        drop(cold);
        if phase(done) != DONE {
            return Abandoned::Open;
        }
        let mut small = [0; INLINE_BYTES];
        if let Some(length) = self.take_small(wanted, &mut small) {
            return Abandoned::Free(Bytes::copy_from_slice(&small[..length]));
        }
        self.hot.set_free(done);
        match left {
            ColdState::Large(value) => Abandoned::Free(value),
            _ => Abandoned::Free(Bytes::new()),
        }
    }

    fn cold_state(&self) -> MutexGuard<'a, ColdState> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.cold.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A value of at most [`FIRST_BYTES`] as words, zero-filled. For nearly every length these are two
/// overlapping loads instead of a loop.
#[inline(always)]
fn first_words(value: &[u8]) -> [u64; FIRST_WORDS] {
    if let (Some(first), Some(last)) = (value.first_chunk::<8>(), value.last_chunk::<8>())
        && value.len() <= 16
    {
        // The last eight bytes without those that are in the first word.
        let again = 8 * (16 - value.len() as u32);
        let second = u64::from_le_bytes(*last).checked_shr(again).unwrap_or(0);
        return [u64::from_le_bytes(*first), second, 0];
    }
    [0, 8, 16].map(|at| value.get(at..).map_or(0, |rest| padded(&rest[..rest.len().min(8)])))
}

/// Fills `into` from words.
#[inline(always)]
fn load_words(words: &[AtomicU64], into: &mut [u8]) {
    for (place, word) in into.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
    }
}

/// At most eight bytes as a word.
#[inline(always)]
fn padded(bytes: &[u8]) -> u64 {
    if let Some(whole) = bytes.first_chunk() {
        return u64::from_le_bytes(*whole);
    }
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[cfg(all(test, not(wigwag_loom)))]
#[path = "slot_tests.rs"]
mod tests;
#[cfg(all(test, wigwag_loom))]
#[path = "slot_loom.rs"]
mod models;
