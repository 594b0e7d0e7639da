//! The connections of a socket: made, and printed as they come and go.

pub(crate) mod event_log;
pub(crate) mod connect;
