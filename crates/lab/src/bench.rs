//! The bench: participants side by side, each with a verdict before it has a number.

pub mod results;
