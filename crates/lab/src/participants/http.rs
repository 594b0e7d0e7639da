//! Servers and clients of HTTP: wigwag's, the limit's, the lab's own, and those that must be found out.

pub(super) mod date;
pub(super) mod raw;
pub(super) mod broken;
pub(super) mod server;
pub(super) mod wigwag;
pub(super) mod client;
