//! req and rep: questions, each answered by one peer.

mod requests;
pub(crate) mod answerer;
pub mod req;
pub mod rep;
