//! The bytes of an open session (section 3): batches, and the frames in them.

pub mod batch;
pub mod frame;
pub mod write;
