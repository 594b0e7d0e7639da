//! Worlds of the simulator: the promises hold in many of them, and planted errors are detected.
//! They are one binary, because worlds share nothing.

mod seeds;
mod mutants;
