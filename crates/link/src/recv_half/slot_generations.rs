//! The next valid generation of each slot in the peer's table of asks (section 6).
//!
//! A slot and generation name one ask. If a peer could reuse them, two answers would be retained
//! for one ask, and any number for more.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// Slots whose generations are stored together: most peers use few.
const CHUNK: usize = 1024;

/// The next generation of each slot. The memory grows with the slots in use, 4 bytes each.
#[derive(Debug, Default)]
pub(crate) struct SlotGenerations {
    chunks: Vec<Option<Box<[u32; CHUNK]>>>,
}

impl SlotGenerations {
    /// Marks the generation of a slot as used; returns false if it was used before. The caller has
    /// checked that the slot is below the announced limit.
    #[inline]
    pub(crate) fn take(&mut self, slot: u32, generation: u32) -> bool {
        let at = slot as usize;
        let chunk = match self.chunks.get_mut(at / CHUNK) {
            Some(Some(chunk)) => chunk,
            _ => self.add(at / CHUNK),
        };
        let next = &mut chunk[at % CHUNK];
        let is_new = is_at_or_after(generation, *next);
        if is_new {
            *next = generation.wrapping_add(1);
        }
        is_new
    }

    /// Marks the generation of `count` slots from `slot` on as used; returns false if it was used
    /// before for one of them.
    pub(crate) fn take_all(&mut self, slot: u32, count: u32, generation: u32) -> bool {
        let (mut at, end) = (slot as usize, slot as usize + count as usize);
        while at < end {
            let chunk = match self.chunks.get_mut(at / CHUNK) {
                Some(Some(chunk)) => chunk,
                _ => self.add(at / CHUNK),
            };
            let from = at % CHUNK;
            let to = CHUNK.min(from + end - at);
            let slots = &mut chunk[from..to];
            if !slots.iter().all(|next| is_at_or_after(generation, *next)) {
                return false;
            }
            slots.fill(generation.wrapping_add(1));
            at += to - from;
        }
        true
    }

    /// True if an ask with this generation of the slot is still accepted.
    pub(crate) fn is_unused(&self, slot: u32, generation: u32) -> bool {
        let at = slot as usize;
        let chunk = self.chunks.get(at / CHUNK).and_then(Option::as_ref);
        is_at_or_after(generation, chunk.map_or(0, |chunk| chunk[at % CHUNK]))
    }

    /// True if this is the generation with which the slot was used last.
    pub(crate) fn is_latest(&self, slot: u64, generation: u64) -> bool {
        let Ok(at) = usize::try_from(slot) else { return false };
        let chunk = self.chunks.get(at / CHUNK).and_then(Option::as_ref);
        let latest = chunk.map(|chunk| chunk[at % CHUNK].wrapping_sub(1));
        latest.is_some_and(|latest| u64::from(latest) == generation)
    }

    #[cold]
    fn add(&mut self, at: usize) -> &mut [u32; CHUNK] {
        if self.chunks.len() <= at {
            self.chunks.resize_with(at + 1, || None);
        }
        self.chunks[at].get_or_insert_with(|| Box::new([0; CHUNK]))
    }
}

/// Compares generations as serial numbers (RFC 1982), because they wrap.
#[inline]
fn is_at_or_after(generation: u32, next: u32) -> bool {
    generation.wrapping_sub(next) < 1 << 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_and_generation_are_accepted_once() {
        let mut generations = SlotGenerations::default();
        assert!(generations.take(5, 0) && !generations.take(5, 0));
        assert!(generations.take(5, 1) && generations.take(6, 0));
        assert!(generations.take(5, 7), "an ask that was never sent leaves a gap");
        assert!(!generations.take(5, 6));
    }

    #[test]
    fn only_the_latest_ask_of_a_slot_may_be_open() {
        let mut generations = SlotGenerations::default();
        assert!(!generations.is_latest(5, 0), "it was never asked from");
        assert!(generations.take(5, 0) && generations.is_latest(5, 0));
        assert!(generations.take(5, 3) && generations.is_latest(5, 3));
        assert!(!generations.is_latest(5, 0) && !generations.is_latest(5, 4));
        for beyond in [(5, 1 << 32), (5 + (1 << 32), 3), (u64::MAX, 3), (CHUNK as u64, 0)] {
            assert!(!generations.is_latest(beyond.0, beyond.1));
        }
    }

    #[test]
    fn an_ask_that_may_come_is_known_without_taking_its_place() {
        let mut generations = SlotGenerations::default();
        assert!(generations.is_unused(5, 0) && generations.is_unused(70_000, 9));
        assert!(generations.take(5, 3));
        assert!(!generations.is_unused(5, 0) && !generations.is_unused(5, 3));
        assert!(generations.is_unused(5, 4) && generations.is_unused(6, 0));
        assert!(generations.take(5, 4), "to look at it has changed nothing");
    }

    #[test]
    fn generations_wrap() {
        let mut generations = SlotGenerations::default();
        for generation in [1 << 30, 1 << 31, 3 << 30, u32::MAX] {
            assert!(generations.take(0, generation));
        }
        assert!(generations.take(0, 0) && !generations.take(0, u32::MAX));
    }

    #[test]
    fn the_slots_of_a_run_are_accepted_once_across_chunks() {
        let mut generations = SlotGenerations::default();
        assert!(generations.take_all(CHUNK as u32 - 2, 4, 0));
        assert!(!generations.take_all(CHUNK as u32 - 2, 1, 0));
        assert!(!generations.take_all(CHUNK as u32 + 1, 4, 0), "its first slot was used before");
        assert!(
            generations.take(CHUNK as u32 + 2, 0) && generations.take_all(CHUNK as u32 - 2, 4, 1)
        );
    }
}
