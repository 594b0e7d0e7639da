//! Handlers that wait side by side: how many, in which order, and what becomes of them at the end.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod circles;
mod desk;
mod ends;
mod keys;
mod limits;
