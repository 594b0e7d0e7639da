//! Values as bytes: MessagePack, the forms for values that are short or whose type determines their
//! size, and the names of fields as data.

pub mod small;
pub mod msgpack;
mod bytes;
pub mod payload;
pub mod collections;
mod types;
pub mod fixed;
pub mod fields;
pub mod skip;
pub mod extension;
