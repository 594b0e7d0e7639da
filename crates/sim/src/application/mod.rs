//! A simple application on the session: one half calls, the other is called.

pub mod slots;
pub mod client;
pub mod server;
