//! Clients that come and go by the thousand: none is unanswered, and nothing of them stays.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

#[path = "support/child.rs"]
mod child;
#[path = "support/memory.rs"]
mod memory;
#[path = "support/raw.rs"]
mod raw;
