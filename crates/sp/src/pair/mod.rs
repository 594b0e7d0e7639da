//! pair: one peer, or in its version 1 several, in both directions.

mod one_peer;
pub mod pair0;
pub mod pair1;
pub mod pair1_many;
