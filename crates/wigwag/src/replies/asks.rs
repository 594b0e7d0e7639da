//! The outstanding asks of a session: its table of slots, and which of them are free.
//!
//! A slot never moves, so it is reached without a lock. The numbers of the free slots are behind
//! one; a sender's turn takes several at a time and returns those that it did not use.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};

use wigwag_wire::Time;

use crate::limits::{ASKS_MAX, PIPELINE_ASKS_MAX, SINGLE_ASKS_MAX, SINGLE_ASKS_MIN};
use crate::replies::ask_origin::AskOrigin;
use crate::replies::ring::Ring;
use crate::replies::rings::{RING_MIN, Rings};
use crate::replies::slot::{ColdSlot, Completion, FetchedReply, HotSlot, ReplyFailure, Slot};
use crate::sync::{AtomicU64, Ordering};

/// Slots in the first chunk; each further chunk is twice as large. Most sessions ask little.
const FIRST_CHUNK_SLOTS: usize = 64;
const CHUNKS: usize = (SINGLE_ASKS_MAX / FIRST_CHUNK_SLOTS).ilog2() as usize + 1;

/// The chunk that holds a slot, and the slot's index in it.
#[inline(always)]
fn locate(number: u32) -> (usize, usize) {
    let from_first = number as usize + FIRST_CHUNK_SLOTS;
    let chunk = (from_first / FIRST_CHUNK_SLOTS).ilog2();
    (chunk as usize, from_first - (FIRST_CHUNK_SLOTS << chunk))
}

/// The slots of a session.
pub(crate) struct AskTable {
    chunks: [OnceLock<SlotChunk>; CHUNKS],
    free: Mutex<FreeSlots>,
    /// How many slots are not free, to be read without the lock.
    taken: AtomicU64,
    /// The slots of pipelines, at the end of the table.
    pub(crate) rings: Rings,
}

struct SlotChunk {
    hot: Box<[HotSlot]>,
    cold: Box<[ColdSlot]>,
    notes: Box<[AskNote]>,
}

/// The notes of a session about an ask, besides its answer.
struct AskNote {
    /// Its channel.
    origin: AtomicU64,
    /// When its caller has waited long enough, in nanoseconds of the clock; what the last ask of the
    /// slot has left, if this one has not begun to wait.
    waits_until: AtomicU64,
}

impl SlotChunk {
    fn new(slots: usize) -> SlotChunk {
        SlotChunk {
            hot: (0..slots).map(|_| HotSlot::new()).collect(),
            cold: (0..slots).map(|_| ColdSlot::new()).collect(),
            notes: (0..slots).map(|_| AskNote::new()).collect(),
        }
    }

    fn slot(&self, at: usize) -> Option<Slot<'_>> {
        Some(Slot { hot: self.hot.get(at)?, cold: self.cold.get(at)? })
    }
}

impl AskNote {
    fn new() -> AskNote {
        let origin = AtomicU64::new(AskOrigin::NONE.to_bits());
        AskNote { origin, waits_until: AtomicU64::new(0) }
    }

    fn origin(&self) -> AskOrigin {
        AskOrigin::from_bits(self.origin.load(Ordering::Relaxed))
    }
}

struct FreeSlots {
    numbers: Vec<u32>,
    /// Slots that were in use at least once.
    created: usize,
    /// Slots that rings leave to single asks.
    capacity: usize,
    /// Slots that rings must leave to single asks.
    single_asks_min: usize,
    /// A sender found no free slot and must be woken when one is released.
    has_waiter: bool,
}

impl FreeSlots {
    /// The most slots that single asks may use.
    fn single_asks_max(&self) -> usize {
        self.capacity.min(SINGLE_ASKS_MAX)
    }
}

impl AskTable {
    /// A table for a peer that accepts `most` outstanding asks.
    pub(crate) fn new(most: u64) -> AskTable {
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(ASKS_MAX);
        AskTable {
            chunks: [const { OnceLock::new() }; CHUNKS],
            free: Mutex::new(FreeSlots {
                numbers: Vec::new(),
                created: 0,
                capacity: most,
                single_asks_min: SINGLE_ASKS_MIN.min(most / 4),
                has_waiter: false,
            }),
            taken: AtomicU64::new(0),
            rings: Rings::new(most),
        }
    }

    /// Opens a ring of at least `most` slots, or of the largest free number below that. `None` if
    /// not even the smallest ring fits.
    pub(crate) fn open_ring(&self, most: usize) -> Option<Arc<Ring>> {
        let most = most.clamp(RING_MIN as usize, PIPELINE_ASKS_MAX).next_power_of_two();
        let mut free = self.free();
        for bits in (RING_MIN.ilog2()..=most.ilog2()).rev() {
            if let Some(ring) = self.rings.reuse(bits) {
                return Some(ring);
            }
            let slots = 1 << bits;
            let left = free.capacity.saturating_sub(slots);
            if left >= free.created.max(free.single_asks_min) {
                free.capacity = left;
                return Some(self.rings.add_below(bits));
            }
        }
        None
    }

    /// Frees the slots of a ring. True if a sender had found no slot and must be woken.
    pub(crate) fn close_ring(&self, ring: &Arc<Ring>) -> bool {
        let mut free = self.free();
        free.capacity += self.rings.remove(ring);
        std::mem::take(&mut free.has_waiter)
    }

    /// The hot part of a slot; `None` if the slot was never in use.
    #[inline(always)]
    pub(crate) fn hot(&self, number: u32) -> Option<&HotSlot> {
        let (chunk, at) = locate(number);
        self.chunks.get(chunk)?.get()?.hot.get(at)
    }

    /// The slot with this number; `None` if it was never in use.
    pub(crate) fn slot(&self, number: u32) -> Option<Slot<'_>> {
        let (chunk, at) = locate(number);
        self.chunks.get(chunk)?.get()?.slot(at)
    }

    /// Notes the channel of the ask in this slot.
    #[inline]
    pub(crate) fn set_origin(&self, number: u32, origin: AskOrigin) {
        if let Some(note) = self.note(number) {
            // Read after the ask was published, or after the session's end, under a lock.
            note.origin.store(origin.to_bits(), Ordering::Relaxed);
        }
    }

    /// The channel of the ask in this slot.
    pub(crate) fn origin(&self, number: u32) -> AskOrigin {
        self.note(number).map_or(AskOrigin::NONE, AskNote::origin)
    }

    #[inline]
    fn note(&self, number: u32) -> Option<&AskNote> {
        let (chunk, at) = locate(number);
        self.chunks.get(chunk)?.get()?.notes.get(at)
    }

    /// Notes when the caller of the ask in this slot, which has polled for its answer, has waited long
    /// enough.
    pub(crate) fn set_waits_until(&self, number: u32, end: Time) {
        if let Some(note) = self.note(number) {
            note.waits_until.store(end.as_nanos(), Ordering::Release);
        }
    }

    /// True if the caller of the ask in this slot has waited long enough.
    pub(crate) fn has_waited(&self, number: u32, now: Time) -> bool {
        self.note(number)
            .is_some_and(|note| note.waits_until.load(Ordering::Relaxed) <= now.as_nanos())
    }

    /// The wakers of the callers that have waited long enough, and when the next one of the others
    /// will have.
    pub(crate) fn waited(&self, now: Time) -> (Vec<Waker>, Option<Time>) {
        let (mut wakers, mut next) = (Vec::new(), None);
        for (slot, note) in self.slots() {
            let end = Time::from_nanos(note.waits_until.load(Ordering::Acquire));
            if !slot.is_waiting() {
                continue;
            }
            match end > now {
                true => next = Some(next.map_or(end, |next: Time| next.min(end))),
                false => wakers.extend(slot.waker()),
            }
        }
        (wakers, next)
    }

    /// Takes the numbers of up to `most` free slots. If there is none, the next release reports
    /// that a sender waits.
    pub(crate) fn take(&self, most: usize, into: &mut Vec<u32>) {
        let mut free = self.free();
        let used = free.numbers.len().min(most);
        let from = free.numbers.len() - used;
        into.extend(free.numbers.drain(from..));
        let fresh = self.create(&mut free, most - used);
        free.has_waiter |= used == 0 && fresh.is_empty();
        into.extend(fresh);
        self.note_taken(&free);
    }

    /// Creates up to `most` slots that were never in use; returns their numbers.
    fn create(&self, free: &mut FreeSlots, most: usize) -> Range<u32> {
        let fresh = most.min(free.single_asks_max() - free.created);
        let numbers = free.created as u32..(free.created + fresh) as u32;
        let generation = if fresh > 0 { self.rings.generation() } else { 0 };
        for number in numbers.clone() {
            let (chunk, at) = locate(number);
            let chunk =
                self.chunks[chunk].get_or_init(|| SlotChunk::new(FIRST_CHUNK_SLOTS << chunk));
            chunk.hot[at].begin(generation);
        }
        free.created += fresh;
        numbers
    }

    /// Takes one slot and opens it; returns its number and generation. If there is none, the next
    /// release reports that a sender waits.
    pub(crate) fn open(&self) -> Option<(u32, u32)> {
        let mut free = self.free();
        let taken = free.numbers.pop().or_else(|| self.create(&mut free, 1).next());
        free.has_waiter |= taken.is_none();
        self.note_taken(&free);
        drop(free);
        self.open_taken(taken?)
    }

    /// Opens a slot that was taken; returns its number and generation. Its ask counts as the node's own
    /// until it is counted for its channel: the end of the session may fail it before it is sent.
    #[inline(always)]
    pub(crate) fn open_taken(&self, number: u32) -> Option<(u32, u32)> {
        self.set_origin(number, AskOrigin::NONE);
        Some((number, self.hot(number)?.open()))
    }

    /// Releases slots. True if a sender had found none and must be woken.
    pub(crate) fn release(&self, numbers: impl IntoIterator<Item = u32>) -> bool {
        let mut free = self.free();
        free.numbers.extend(numbers);
        self.note_taken(&free);
        std::mem::take(&mut free.has_waiter)
    }

    /// True if no single ask holds a slot, for itself or for an answer that nobody has taken.
    pub(crate) fn are_all_free(&self) -> bool {
        let free = self.free();
        free.numbers.len() == free.created
    }

    /// A hint, without the lock: true if more than one single ask holds a slot.
    pub(crate) fn are_several_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed) > 1
    }

    fn note_taken(&self, free: &FreeSlots) {
        self.taken.store((free.created - free.numbers.len()) as u64, Ordering::Relaxed);
    }

    /// True if [`take`](Self::take) would find a slot.
    pub(crate) fn any_free(&self) -> bool {
        let free = self.free();
        !free.numbers.is_empty() || free.created < free.single_asks_max()
    }

    /// Stores the answer to an ask.
    #[inline]
    pub(crate) fn complete(&self, (number, generation): (u32, u32), value: &[u8]) -> Completion {
        if self.hot(number).is_some_and(|slot| slot.complete(generation, value)) {
            return Completion::Stored(None);
        }
        let slot = self.slot(number);
        slot.map_or(Completion::NotOpen, |slot| slot.complete_slow(generation, value))
    }

    /// Fails an ask.
    pub(crate) fn fail(
        &self,
        (number, generation): (u32, u32),
        failure: impl FnOnce() -> ReplyFailure,
    ) -> Completion {
        match self.slot(number) {
            Some(slot) => slot.fail(generation, failure()),
            None => Completion::NotOpen,
        }
    }

    /// Takes an answer. That frees the slot, and the caller releases its number.
    pub(crate) fn poll(&self, number: u32, generation: u32, waker: &Waker) -> Poll<FetchedReply> {
        match self.slot(number) {
            Some(slot) => slot.poll(generation, waker),
            None => Poll::Ready(None),
        }
    }

    /// Records that an ask, and those of its pipeline behind it, never left this node.
    pub(crate) fn mark_unsent_from(&self, asker: (u32, u32)) {
        if asker.0 >= self.rings.floor()
            && let Some(ring) = self.rings.find(asker.0)
        {
            ring.mark_unsent_from(asker);
        }
    }

    /// Fails every outstanding ask; returns the wakers of those that wait, and the channel of each
    /// single ask that has failed. That includes asks whose callers have gone away.
    pub(crate) fn fail_all(
        &self,
        failure: impl Fn() -> ReplyFailure,
    ) -> (Vec<Waker>, Vec<AskOrigin>) {
        let (kind, why) = *failure();
        let (mut wakers, mut failed) = (self.rings.end(&(kind, why.into())), Vec::new());
        for (slot, note) in self.slots() {
            let Some(waker) = slot.fail_if_open(&failure) else { continue };
            wakers.extend(waker);
            failed.push(note.origin());
        }
        (wakers, failed)
    }

    /// Asks that wait for their answer. An answered ask whose answer nobody took does not count.
    pub(crate) fn waiting(&self) -> usize {
        self.rings.waiting() + self.slots().filter(|(slot, _)| slot.is_waiting()).count()
    }

    fn slots(&self) -> impl Iterator<Item = (Slot<'_>, &AskNote)> {
        let chunks = self.chunks.iter().filter_map(OnceLock::get);
        chunks.flat_map(|chunk| {
            let slots = chunk.hot.iter().zip(&chunk.cold).map(|(hot, cold)| Slot { hot, cold });
            slots.zip(&chunk.notes)
        })
    }

    fn free(&self) -> MutexGuard<'_, FreeSlots> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests;
