//! The bound of an actor on the calls of its remote callers.
//!
//! The mailbox only holds it: a call of another node waits in an inbound queue, which has room for
//! what the node has granted its sender. So the node counts the grants against the bound.

use std::sync::Arc;

use crate::sync::AtomicU64;

/// The number of calls of remote callers that may wait for an actor.
#[derive(Clone, Debug)]
pub struct RemoteBound {
    /// The number, as it was set.
    pub calls: u64,
    /// The part of it that no channel has taken; all sessions of the actor count here.
    pub free: Arc<AtomicU64>,
}

impl RemoteBound {
    pub(crate) fn new(calls: u64) -> RemoteBound {
        RemoteBound { calls, free: Arc::new(AtomicU64::new(calls)) }
    }
}
