//! The rings of a session, and the part of its slot table that they use.
//!
//! Rings use the end of the table, from the floor on; single asks use its front.

use std::sync::{Arc, PoisonError};
use std::task::Waker;

use crate::replies::ask_origin::RingTally;
use crate::replies::ring::{Ring, RingEnd};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Slots of the smallest ring; it bounds how many rings a search looks through.
pub(crate) const RING_MIN: u32 = 64;

/// The rings of a session.
pub(crate) struct Rings {
    /// No slot below this number belongs to a ring.
    floor: AtomicU64,
    table: Mutex<RingTable>,
}

#[derive(Default)]
struct RingTable {
    rings: Vec<Arc<Ring>>,
    /// No closed ring has used this generation or a later one. The next ring begins with it,
    /// because each slot uses each generation once.
    generation: u32,
    /// Ranges of slots above the floor that belong to no ring: first slot and length.
    free: Vec<(u32, u32)>,
}

impl Rings {
    /// No rings yet, in a table of `slots` slots.
    pub(crate) fn new(slots: usize) -> Rings {
        Rings { floor: AtomicU64::new(slots as u64), table: Mutex::default() }
    }

    /// The lowest slot that may belong to a ring.
    #[inline]
    pub(crate) fn floor(&self) -> u32 {
        self.floor.load(Ordering::Relaxed) as u32
    }

    /// Opens a ring on slots that a closed one has left.
    pub(crate) fn reuse(&self, bits: u32) -> Option<Arc<Ring>> {
        let mut table = self.table();
        let at = table.free.iter().position(|(_, slots)| *slots == 1 << bits)?;
        let (first, _) = table.free.swap_remove(at);
        Some(table.add(first, bits))
    }

    /// Opens a ring on the slots just below the floor, which the caller has set aside.
    pub(crate) fn add_below(&self, bits: u32) -> Arc<Ring> {
        let mut table = self.table();
        let first = self.floor() - (1 << bits);
        self.floor.store(first.into(), Ordering::Relaxed);
        table.add(first, bits)
    }

    /// The first generation for a slot that rings may have used before.
    pub(crate) fn generation(&self) -> u32 {
        self.table().generation
    }

    /// The open ring that a slot belongs to.
    pub(crate) fn find(&self, slot: u32) -> Option<Arc<Ring>> {
        self.table().rings.iter().find(|ring| ring.contains(slot)).cloned()
    }

    /// Removes a ring. Returns how many slots go back to single asks.
    pub(crate) fn remove(&self, ring: &Arc<Ring>) -> usize {
        let mut table = self.table();
        ring.close();
        let behind = ring.next_generation();
        if behind.wrapping_sub(table.generation) < 1 << 31 {
            table.generation = behind;
        }
        table.rings.retain(|other| !Arc::ptr_eq(other, ring));
        table.free.push((ring.first(), ring.slots()));
        let before = self.floor();
        let mut floor = before;
        while let Some(at) = table.free.iter().position(|(first, _)| *first == floor) {
            floor += table.free.swap_remove(at).1;
        }
        self.floor.store(floor.into(), Ordering::Relaxed);
        (floor - before) as usize
    }

    /// Ends all rings; returns the wakers of their askers.
    pub(crate) fn end(&self, end: &RingEnd) -> Vec<Waker> {
        self.table().rings.iter().filter_map(|ring| ring.end(end)).collect()
    }

    /// The outcomes of the asks of all open rings when the session has ended.
    pub(crate) fn tallies(&self) -> Vec<RingTally> {
        self.table().rings.iter().map(|ring| ring.tally()).collect()
    }

    /// Asks that wait for their answer.
    pub(crate) fn waiting(&self) -> usize {
        self.table().rings.iter().map(|ring| ring.waiting()).sum()
    }

    fn table(&self) -> MutexGuard<'_, RingTable> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RingTable {
    fn add(&mut self, first: u32, bits: u32) -> Arc<Ring> {
        let ring = Arc::new(Ring::new(first, bits, self.generation));
        self.rings.push(ring.clone());
        ring
    }
}
