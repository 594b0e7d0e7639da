//! Commands that measure: a peer, this machine, and message systems side by side. All of them verify
//! every message.

pub(crate) mod bench;
pub(crate) mod lab;
pub(crate) mod demo;
