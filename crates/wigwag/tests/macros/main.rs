//! What the macros write and what they refuse.
//!
//! A binary of its own: lints stricter than the workspace's hold for what the macros write here.
//! `actor` and `message` are public so that the lints on public items hold too.

pub mod actor;
pub mod message;
mod calls;
mod errors;
