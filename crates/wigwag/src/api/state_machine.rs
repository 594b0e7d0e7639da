//! Actors that are state machines, and calls that they postpone.
//!
//! [`StateMachine`] holds the present state of an actor with what ends with it: a time limit, and the
//! calls that were put aside until the state changes. [`This::stash`](crate::This::stash) puts a single
//! call aside.

pub use wigwag_actor::{NotStashed, StateMachine};
