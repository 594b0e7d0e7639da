//! push and pull: each message goes to one of several peers.

pub mod push;
pub mod pull;
