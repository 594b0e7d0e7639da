//! Figures: where they come from, and how they are written.

pub mod digest;
pub mod statistics;
pub mod curve;
pub mod times;
pub mod numbers;
