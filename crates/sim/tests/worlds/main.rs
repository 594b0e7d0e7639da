//! Worlds of the simulator: many of them hold, and in none of them does a planted error go unnoticed.
//! One binary: a world shares nothing with another.

mod seeds;
mod mutants;
