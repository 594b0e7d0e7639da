//! A seeded world for the pure crates: two nodes, a network between them, and a model that checks
//! them.
//!
//! All events follow from one number, the seed: every message, the delay of each chunk of bytes,
//! the place where a connection is cut. So a failure is identified by its seed, which repeats it
//! with all its events. The crate uses no threads, sockets or wall time.
//!
//! Read in this order: [`network`] (the transport of bytes), [`peer`] (the state machine of a node
//! on a connection), [`application`] (a simple caller, and what it calls), [`check`] (the promises),
//! [`world`] (the event loop).
#![forbid(unsafe_code)]

pub mod clock;
pub mod random;
pub mod proof;
pub mod trace;
pub mod network;
pub mod peer;
pub mod setup;
pub mod check;
pub mod content;
pub mod shared;
pub mod application;
pub mod world;

pub use check::Violation;
pub use setup::{Mutant, Side};
pub use world::{Options, Report, Run, run};
