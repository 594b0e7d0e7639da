//! Two rings of bytes, one for each direction, in memory that two processes share.
//!
//! One process [creates](Segment::create) a segment and passes its descriptor to the other over a
//! Unix socket, so the memory has no name that a third process could open, and is gone with the last
//! of the two. The other process's writes are input from a stranger: an index is read once,
//! checked, and used; a byte is copied out once, and looked at only there.
//!
//! | file | holds |
//! |---|---|
//! | `memory.rs` | the mapping, and every unsafe block of this crate |
//! | `ring.rs` | the rings: [`Producer`], [`Consumer`] |
//! | `memory_model.rs`, `ring_loom.rs` | a model of both ends of a ring, for every interleaving |
//! | `segment.rs` | the layout of both rings in a segment |
//! | `pass.rs` | a descriptor over a Unix socket |

#[cfg(not(wigwag_loom))]
mod memory;
#[cfg(wigwag_loom)]
#[path = "memory_model.rs"]
mod memory;
#[cfg(not(wigwag_loom))]
pub mod pass;
mod ring;
#[cfg(not(wigwag_loom))]
mod segment;

pub use ring::{Broken, Consumer, Direction, Producer, Progress};
#[cfg(not(wigwag_loom))]
pub use segment::{RING_BYTES, RING_BYTES_MAX, RING_BYTES_MIN, Segment, SegmentError, Side};
