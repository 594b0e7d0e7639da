//! The memory of one ring in a model: the places that [`Memory`] of `memory.rs` has, as atomics of
//! loom.
//!
//! Each byte of the ring is an atomic without an order of its own, so a reader that is not ordered
//! behind the writer sees old bytes in some interleaving.

use std::collections::BTreeMap;

use bytes::BytesMut;
use loom::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

/// An atomic whose accesses are sequentially consistent where they say so. loom takes such an access
/// for one that acquires or releases, and knows the full order of fences alone: so one stands behind
/// each write, as on x86.
macro_rules! sequential {
    ($name:ident, $atomic:ident, $value:ident) => {
        #[derive(Debug, Default)]
        pub(crate) struct $name($atomic);

        impl $name {
            pub(crate) fn load(&self, order: Ordering) -> $value {
                self.0.load(order)
            }

            pub(crate) fn store(&self, value: $value, order: Ordering) {
                self.0.store(value, order);
                if order == Ordering::SeqCst {
                    fence(order);
                }
            }
        }
    };
}

sequential!(Counter, AtomicU64, u64);
sequential!(Flag, AtomicU32, u32);

impl Flag {
    pub(crate) fn swap(&self, value: u32, order: Ordering) -> u32 {
        let before = self.0.swap(value, order);
        if order == Ordering::SeqCst {
            fence(order);
        }
        before
    }
}

/// The memory of one ring.
#[derive(Debug)]
pub(crate) struct Memory {
    counters: BTreeMap<usize, Counter>,
    flags: BTreeMap<usize, Flag>,
    /// Where the bytes of the ring begin.
    data: usize,
    bytes: Vec<AtomicU8>,
}

impl Memory {
    /// Memory with these counters and flags, all zero, and `bytes` bytes from `data` on.
    pub(crate) fn model(counters: &[usize], flags: &[usize], data: usize, bytes: usize) -> Memory {
        Memory {
            counters: counters.iter().map(|at| (*at, Counter::default())).collect(),
            flags: flags.iter().map(|at| (*at, Flag::default())).collect(),
            data,
            bytes: (0..bytes).map(|_| AtomicU8::new(0)).collect(),
        }
    }

    pub(crate) fn counter(&self, at: usize) -> &Counter {
        &self.counters[&at]
    }

    pub(crate) fn flag(&self, at: usize) -> &Flag {
        &self.flags[&at]
    }

    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        let places = self.places(at, bytes.len());
        places.iter().zip(bytes).for_each(|(place, byte)| place.store(*byte, Ordering::Relaxed));
    }

    pub(crate) fn append_to(&self, at: usize, length: usize, out: &mut BytesMut) {
        out.extend(self.places(at, length).iter().map(|place| place.load(Ordering::Relaxed)));
    }

    pub(crate) fn copy_to(&self, at: usize, out: &mut [u8]) {
        let places = self.places(at, out.len());
        out.iter_mut().zip(places).for_each(|(byte, place)| *byte = place.load(Ordering::Relaxed));
    }

    fn places(&self, at: usize, length: usize) -> &[AtomicU8] {
        &self.bytes[at - self.data..][..length]
    }
}
