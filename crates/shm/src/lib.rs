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
//! | `segment.rs` | the layout of both rings in a segment |
//! | `pass.rs` | a descriptor over a Unix socket |

mod memory;
pub mod pass;
mod ring;
mod segment;

pub use ring::{Broken, Consumer, Direction, Producer, Progress};
pub use segment::{RING_BYTES, RING_BYTES_MAX, RING_BYTES_MIN, Segment, SegmentError, Side};
