//! The replies to a session's asks: a table of slots, and a ring for each pipeline.

pub(crate) mod ask_origin;
pub(crate) mod asks;
pub(crate) mod ring;
pub(crate) mod rings;
pub(crate) mod slot;
