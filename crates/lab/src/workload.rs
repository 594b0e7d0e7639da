//! Workloads, cell by cell: the programs that are started, their orders, and how their accounts are
//! judged.
//!
//! A verdict depends on results, never on a name.

pub mod account;
pub mod cell;
pub mod entry;
pub mod counter;
pub mod remote;
mod paced;
pub(crate) mod relayed;
pub mod pingpong;
pub mod http;
pub mod sp;
mod round_trips;
pub mod outside_clock;

pub use cell::{Cell, Size, SpreadOver, WORKLOADS, Workload};
pub use entry::{Entry, Judgement, Order};
