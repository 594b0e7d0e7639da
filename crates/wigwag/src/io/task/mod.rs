//! The tasks behind what an actor owns: one reads, one writes, one ends both with the actor.

pub(super) mod credit;
pub(super) mod cutter;
pub(super) mod delivery;
pub(super) mod keeper;
pub(super) mod reader;
pub(super) mod writer;
pub(super) mod watch;
