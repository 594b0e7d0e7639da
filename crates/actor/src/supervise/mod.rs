//! Supervision: actors that start other actors and restart them when they fail, and plans for an
//! orderly shutdown.

pub mod stop_plan;
pub mod supervisor;
