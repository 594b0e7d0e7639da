//! pub and sub: messages to every peer that subscribes to their topic.

mod topics;
pub mod publish;
pub mod subscribe;
