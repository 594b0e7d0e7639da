//! A segment: the memory of both rings of a connection, as a file without a name.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstatfs, memfd_create};

use crate::memory::Memory;
use crate::ring::{Consumer, HEADER_BYTES, Place, Producer};

/// Bytes of a ring unless set: a read takes as much at most.
pub const RING_BYTES: usize = 256 * 1024;

/// Smallest ring: a page.
pub const RING_BYTES_MIN: usize = 4096;

/// Largest ring: the memory that a peer can make this process map is bounded.
pub const RING_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Place of the flag for an offer, behind those of the first ring.
const OFFER: usize = 640;

/// The creator waits for the other process to say that it uses the segment. Another layout would get
/// another number.
const OFFERED: u32 = 1;

/// The other process uses the segment.
const ACCEPTED: u32 = 2;

/// The kind of file system that a memory file without huge pages has (statfs(2)).
const TMPFS_MAGIC: i64 = 0x0102_1994;

/// Why a segment cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// A ring's length is no power of two, or outside of the bounds.
    #[error("a ring has a power of two from {RING_BYTES_MIN} to {RING_BYTES_MAX} bytes, not {0}")]
    RingBytes(u64),
    /// The file of the peer is shorter than its rings.
    #[error("the peer's segment has {given} bytes, its rings need {needed}")]
    Length {
        /// Bytes that the file has.
        given: u64,
        /// Bytes that the rings take.
        needed: u64,
    },
    /// The peer could make the file shorter, which would end a process that uses it.
    #[error("the peer's segment is not memory that is sealed against becoming shorter")]
    NotSealed,
    /// The segment is not marked as one that may be accepted.
    #[error("the peer's segment has the mark {0} where that of an offer is {OFFERED}")]
    NotOffered(u32),
    /// The operating system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl From<rustix::io::Errno> for SegmentError {
    fn from(error: rustix::io::Errno) -> SegmentError {
        SegmentError::Io(error.into())
    }
}

/// The side of a connection: each writes where the other reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The process that created the segment.
    Creator,
    /// The process that it was passed to.
    Opener,
}

/// Memory of two rings, not in use yet.
#[derive(Debug)]
pub struct Segment {
    file: File,
    memory: Arc<Memory>,
    ring_bytes: usize,
}

impl Segment {
    /// Creates a segment whose rings have `ring_bytes` each. Its memory is taken when it is used.
    pub fn create(ring_bytes: usize) -> Result<Segment, SegmentError> {
        let total = total(ring_bytes as u64)?;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = File::from(memfd_create("wigwag", flags)?);
        file.set_len(total)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Segment::map(file, ring_bytes, total)
    }

    /// Opens the segment that a peer has created with rings of `ring_bytes` each.
    pub fn open(descriptor: OwnedFd, ring_bytes: u64) -> Result<Segment, SegmentError> {
        let needed = total(ring_bytes)?;
        let file = File::from(descriptor);
        // Huge pages can be sealed too, but the system may have none left when one is touched.
        let is_memory = fstatfs(&file)?.f_type == TMPFS_MAGIC;
        // The seals of a file that can have none cannot be read.
        let seals = fcntl_get_seals(&file).unwrap_or(SealFlags::empty());
        if !is_memory || !seals.contains(SealFlags::SHRINK) {
            return Err(SegmentError::NotSealed);
        }
        let given = file.metadata()?.len();
        if given < needed {
            return Err(SegmentError::Length { given, needed });
        }
        Segment::map(file, ring_bytes as usize, needed)
    }

    /// Opens a segment that a peer has offered: its rings fill it.
    pub fn open_offered(descriptor: OwnedFd) -> Result<Segment, SegmentError> {
        let file = File::from(descriptor);
        let ring_bytes = (file.metadata()?.len() / 2).saturating_sub(HEADER_BYTES as u64);
        Segment::open(file.into(), ring_bytes)
    }

    /// Tells the peer that this end uses the segment that it has offered.
    pub fn accept(&self) -> Result<(), SegmentError> {
        let offer = self.memory.flag(OFFER);
        // Pairs with the load in `is_accepted`.
        let taken = offer.compare_exchange(OFFERED, ACCEPTED, Ordering::SeqCst, Ordering::SeqCst);
        taken.map(drop).map_err(SegmentError::NotOffered)
    }

    /// Marks a segment that was created here as one that the peer may [`accept`](Self::accept). The
    /// peer may leave it, so this end must be able to do without.
    pub fn offer(&self) {
        self.memory.flag(OFFER).store(OFFERED, Ordering::SeqCst);
    }

    /// Returns true if the peer has accepted the segment.
    pub fn is_accepted(&self) -> bool {
        // Pairs with the store in `accept`.
        self.memory.flag(OFFER).load(Ordering::SeqCst) == ACCEPTED
    }

    /// Bytes of both rings and their counters.
    pub fn bytes(&self) -> usize {
        2 * (HEADER_BYTES + self.ring_bytes)
    }

    fn map(file: File, ring_bytes: usize, total: u64) -> Result<Segment, SegmentError> {
        let memory = Arc::new(Memory::map(&file, total as usize)?);
        Ok(Segment { file, memory, ring_bytes })
    }

    /// The descriptor to pass to the peer.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The rings of this side. The descriptor is closed; the memory lives as long as they do.
    pub fn into_rings(self, side: Side) -> (Producer, Consumer) {
        let place = |ring: usize| Place {
            memory: self.memory.clone(),
            header: ring * HEADER_BYTES,
            data: 2 * HEADER_BYTES + ring * self.ring_bytes,
            capacity: self.ring_bytes,
        };
        let (ours, theirs) = match side {
            Side::Creator => (0, 1),
            Side::Opener => (1, 0),
        };
        (Producer::new(place(ours)), Consumer::new(place(theirs)))
    }
}

/// Bytes of a segment with such rings.
fn total(ring_bytes: u64) -> Result<u64, SegmentError> {
    let is_allowed = (RING_BYTES_MIN as u64..=RING_BYTES_MAX as u64).contains(&ring_bytes);
    match is_allowed && ring_bytes.is_power_of_two() {
        true => Ok(2 * (HEADER_BYTES as u64 + ring_bytes)),
        false => Err(SegmentError::RingBytes(ring_bytes)),
    }
}
