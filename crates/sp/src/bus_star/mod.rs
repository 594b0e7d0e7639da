//! bus and star: messages from every socket to all others.

pub mod bus;
pub mod star;
