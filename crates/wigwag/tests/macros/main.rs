//! The macros' output, and the input that they refuse.
//!
//! A binary of its own: lints stricter than the workspace's hold for the macros' output here.
//! `actor`, `message` and `names` are public so that the lints on public items hold too.

pub mod actor;
pub mod message;
pub mod names;
mod calls;
mod codecs;
mod conditions;
