//! The rings of a session, and the slots that they have of its table.
//!
//! They lie at the table's end, from the floor on; what single asks take begins at its front.

use std::sync::{Arc, PoisonError};
use std::task::Waker;

use crate::replies::ring::{Ring, RingEnd};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Slots of the smallest ring: what is looked through for a ring stays short.
pub(crate) const RING_MIN: u32 = 64;

/// The rings of a session.
pub(crate) struct Rings {
    /// No slot below is one of a ring.
    floor: AtomicU64,
    table: Mutex<RingTable>,
}

#[derive(Default)]
struct RingTable {
    rings: Vec<Arc<Ring>>,
    /// No ring that is gone has asked with this generation or a later one: the next ring begins there,
    /// because a slot is asked from once with each.
    generation: u32,
    /// Slots above the floor that are no ring's: first, and how many.
    free: Vec<(u32, u32)>,
}

impl Rings {
    /// None yet, in a table of so many slots.
    pub(crate) fn new(slots: usize) -> Rings {
        Rings { floor: AtomicU64::new(slots as u64), table: Mutex::default() }
    }

    /// The lowest slot that may be a ring's.
    #[inline]
    pub(crate) fn floor(&self) -> u32 {
        self.floor.load(Ordering::Relaxed) as u32
    }

    /// A ring of slots that an older one has left.
    pub(crate) fn reuse(&self, bits: u32) -> Option<Arc<Ring>> {
        let mut table = self.table();
        let at = table.free.iter().position(|(_, slots)| *slots == 1 << bits)?;
        let (first, _) = table.free.swap_remove(at);
        Some(table.add(first, bits))
    }

    /// A ring of slots just below the floor, which its caller has set aside.
    pub(crate) fn add_below(&self, bits: u32) -> Arc<Ring> {
        let mut table = self.table();
        let first = self.floor() - (1 << bits);
        self.floor.store(first.into(), Ordering::Relaxed);
        table.add(first, bits)
    }

    /// With which generation a slot is asked from first that rings may have used before.
    pub(crate) fn generation(&self) -> u32 {
        self.table().generation
    }

    /// The living ring that a slot belongs to.
    pub(crate) fn find(&self, slot: u32) -> Option<Arc<Ring>> {
        self.table().rings.iter().find(|ring| ring.contains(slot)).cloned()
    }

    /// Nobody asks from that ring any more. Gives how many slots may be used otherwise again.
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

    /// None of those who wait will hear anything; gives whom to wake.
    pub(crate) fn end(&self, end: &RingEnd) -> Vec<Waker> {
        self.table().rings.iter().filter_map(|ring| ring.end(end)).collect()
    }

    /// Asks that somebody waits for.
    pub(crate) fn waiting(&self) -> usize {
        self.table().rings.iter().map(|ring| ring.waiting()).sum()
    }

    fn table(&self) -> MutexGuard<'_, RingTable> {
        // Whole between two statements, so a panic elsewhere has broken nothing.
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
