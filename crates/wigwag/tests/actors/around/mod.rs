//! The services around the actors of one process, as users see them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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
