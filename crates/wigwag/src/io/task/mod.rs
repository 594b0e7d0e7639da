//! The tasks behind what an actor owns: one reads, one writes, one ends both with the actor.

pub(super) mod credit;
pub(super) mod splitter;
pub(super) mod recipient;
pub(super) mod owned;
pub(super) mod reader;
mod pending;
pub(super) mod writer;
pub(super) mod watch;
