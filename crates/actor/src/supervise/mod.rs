//! Supervision: actors that start others and start them again, and plans for stopping many.

pub mod stop_plan;
pub mod supervisor;
