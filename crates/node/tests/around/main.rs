//! What stands around the actors of one process, as its users see it.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod groups;
mod letters;
mod names;
mod routers;
mod timers;
