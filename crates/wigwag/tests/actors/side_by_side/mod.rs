//! Handlers that wait side by side: their limit, their order, and their end with the actor.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cancellable;
mod circles;
mod desk;
mod ends;
mod keys;
mod limits;
