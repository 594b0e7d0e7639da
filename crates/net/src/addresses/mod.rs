//! From what people write to the addresses that are dialed and listened at.

pub mod address;
pub(crate) mod interface;
pub(crate) mod resolve;
pub(crate) mod happy_eyeballs;
