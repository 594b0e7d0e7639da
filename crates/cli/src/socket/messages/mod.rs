//! The messages of a socket: where those to send come from, and what becomes of those that arrive.

pub(crate) mod input;
pub(crate) mod format;
pub(crate) mod exec;
pub(crate) mod jobs;
