//! Commands for a first set-up: certificates, keys, and what a shell reads.

pub(crate) mod cert;
pub(crate) mod key;
pub(crate) mod complete;
pub(crate) mod shell;
