//! The mapping of a segment: the only unsafe code of this crate.
//!
//! No reference to the shared bytes ever exists, because the other process may change them at any
//! time: they are copied by raw pointers, and counters are atomic.

use std::fs::File;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64};

use bytes::BytesMut;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A count in shared memory.
pub(crate) type Counter = AtomicU64;

/// A flag in shared memory.
pub(crate) type Flag = AtomicU32;

/// Memory that is shared with another process, and has a fixed length.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and its methods only copy bytes or
// lend atomics.
unsafe impl Send for Memory {}
// SAFETY: as above; two threads may use one mapping like two processes may.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps the first `bytes` of `file`, which must be that long and sealed against becoming shorter:
    /// touching a page behind its end would end the process.
    pub(crate) fn map(file: &File, bytes: usize) -> io::Result<Memory> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the place, so no other mapping is replaced.
        let start = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Memory { start, bytes })
    }

    /// The counter at `at`, a multiple of eight.
    pub(crate) fn counter(&self, at: usize) -> &Counter {
        let place = self.place(at, 8).cast::<u64>();
        assert!(place.is_aligned(), "a counter has an aligned place");
        // SAFETY: the eight bytes are in the mapping, which lives as long as `self`, and aligned. Both
        // processes use them only as an atomic.
        unsafe { AtomicU64::from_ptr(place.as_ptr()) }
    }

    /// The flag at `at`, a multiple of four.
    pub(crate) fn flag(&self, at: usize) -> &Flag {
        let place = self.place(at, 4).cast::<u32>();
        assert!(place.is_aligned(), "a flag has an aligned place");
        // SAFETY: as in `counter`, for four bytes.
        unsafe { AtomicU32::from_ptr(place.as_ptr()) }
    }

    /// Copies `bytes` to `at`.
    #[inline]
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        let place = self.place(at, bytes.len());
        // SAFETY: the range is in the mapping, and `bytes` is memory of this process alone, so the two
        // do not overlap. If the other process writes there too, the bytes are mixed, which is its
        // own loss: nothing of this process reads them.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), place.as_ptr(), bytes.len()) }
    }

    /// Appends a copy of the `length` bytes at `at` to `out`.
    #[inline]
    pub(crate) fn append_to(&self, at: usize, length: usize, out: &mut BytesMut) {
        let place = self.place(at, length);
        out.reserve(length);
        let spare = out.spare_capacity_mut();
        // SAFETY: the range is in the mapping; `reserve` has made that much room behind the length of
        // `out`, which is memory of this process alone. If the other process writes there meanwhile,
        // the copy has old and new bytes, which are checked like any input.
        unsafe { ptr::copy_nonoverlapping(place.as_ptr(), spare.as_mut_ptr().cast(), length) }
        // SAFETY: the copy has initialised them.
        unsafe { out.set_len(out.len() + length) }
    }

    /// Fills `out` with a copy of the bytes at `at`.
    #[inline]
    pub(crate) fn copy_to(&self, at: usize, out: &mut [u8]) {
        let place = self.place(at, out.len());
        // SAFETY: as in `append_to`; `out` is memory of this process alone, and initialised.
        unsafe { ptr::copy_nonoverlapping(place.as_ptr(), out.as_mut_ptr(), out.len()) }
    }

    /// The place of `length` bytes at `at`.
    #[inline]
    fn place(&self, at: usize, length: usize) -> NonNull<u8> {
        assert!(at <= self.bytes && length <= self.bytes - at, "a place is in its segment");
        // SAFETY: `at` is within the mapping, or just behind it if `length` is 0.
        unsafe { self.start.add(at) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `map` made this mapping, and nothing borrows from it any more. A failure would leave
        // it mapped, which harms nobody.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
