//! Servers and clients of HTTP, the limit's, the lab's own, and those that must be found out.

pub(super) mod date;
pub(super) mod raw;
pub(super) mod broken;
pub(super) mod server;
pub(super) mod client;
