//! Actors within one process, as their users see them: calls and their order, lives, supervisors,
//! names and groups, and whole programs made of actors. Some tests call an actor through a node as
//! well, where the answer must be equal.
//!
//! One binary, since its tests share no state: names are unique, and no count of the whole process
//! is asserted here. Lost tells are counted for the whole process, so their tests are in
//! `dead_letters`.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod order;
mod goes_on;
mod calls;
mod owned;
mod interfaces;
mod generic;
mod pipeline;
mod pipes;
mod receipts;
mod streams;
mod local;
mod only_here;
mod side_by_side;
mod at_once;
mod life;
mod stop_plan;
mod supervisor;
mod faults;
mod around;
mod gen_server;
mod savina;
mod testing;
mod wakes;
