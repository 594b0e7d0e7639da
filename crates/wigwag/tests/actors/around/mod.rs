//! What stands around the actors of one process, as its users see it.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod groups;
mod inspection;
mod names;
mod replacement;
mod routers;
mod spans;
mod stash;
mod state_machine;
mod timers;
mod urgent;
