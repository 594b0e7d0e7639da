//! Actors within one process, as their users see them: calls and their order, lives, supervisors,
//! names and groups, and whole programs made of actors. A few of them are asked over a node as well,
//! where the answer must be the same.
//!
//! One binary, since its tests share no state: names are unique, and nothing that is counted for the
//! whole process is asserted here. Tests of lost tells, which are counted so, are in `dead_letters`.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod order;
mod calls;
mod pipeline;
mod receipts;
mod streams;
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
