//! A seeded world for the pure crates: two nodes, a network between them, and somebody who watches.
//!
//! Everything that happens follows from one number, the seed: every message, the delay of each
//! chunk of bytes, the place where a connection is cut. So a failure is a number, and the same
//! number repeats it with all its events. There is no thread, no socket and no wall time in here.
//!
//! Read in this order: [`network`] (what happens to bytes), [`peer`] (the machine that a node is
//! on a connection), [`client`] and [`server`] (a made-up application), [`check`] (what must hold),
//! [`world`] (turns the wheel).
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
pub mod slots;
pub mod client;
pub mod server;
pub mod world;

pub use check::Violation;
pub use setup::{Mutant, Side};
pub use world::{Options, Report, Run, run};
