//! A seeded world for the pure crates: made-up clock, network with delays and cuts.
