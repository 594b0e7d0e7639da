//! The queues of a socket's pipes: what waits for the user, what waits to be written, and the choice
//! of the pipe that is next.

pub(crate) mod inbox;
pub(crate) mod context_inbox;
pub(crate) mod pipe_set;
pub(crate) mod outbound_queues;
pub(crate) mod pool;
