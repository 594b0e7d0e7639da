//! The memory of bytes on their way: what encoders write into, what one write takes, and what a
//! connection has received.

pub mod buffer;
pub mod gathered;
pub mod buffer_slice;
pub mod batch;
pub mod slab_copier;
pub mod read_buf;
