//! The limit of received messages of a socket, which its connections share.

use std::sync::Arc;

use crate::sync::{AtomicUsize, Ordering};

/// A limit of received messages that may change while connections use it.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveLimit(Arc<AtomicUsize>);

impl ReceiveLimit {
    pub(crate) fn new(bytes: usize) -> ReceiveLimit {
        ReceiveLimit(Arc::new(AtomicUsize::new(bytes)))
    }

    /// The limit that applies to a connection with an option and a socket of its own.
    #[cfg(feature = "ws")]
    pub(crate) fn of(option: Option<usize>, socket: Option<&ReceiveLimit>) -> ReceiveLimit {
        let default = || ReceiveLimit::new(wigwag_sp::limits::RECEIVE_BYTES_MAX);
        option.map_or_else(|| socket.cloned().unwrap_or_else(default), ReceiveLimit::new)
    }

    pub(crate) fn bytes(&self) -> usize {
        // Pairs with the store in `set`; no other data depends on it.
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, bytes: usize) {
        // Pairs with the load in `bytes`.
        self.0.store(bytes, Ordering::Relaxed);
    }
}

/// Equal if a change of one changes the other.
impl PartialEq for ReceiveLimit {
    fn eq(&self, other: &ReceiveLimit) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ReceiveLimit {}
