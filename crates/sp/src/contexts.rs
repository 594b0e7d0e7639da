//! Several exchanges on one socket: each context asks, or answers, without regard to the others.
//!
//! The socket itself is the first context, and the only one that cannot be closed.

use alloc::collections::BTreeMap;

use wigwag_wire::ProtocolNumber;

use crate::ProtocolEvent;
use crate::limits::CONTEXTS_MAX;

/// A context's number on its socket, not given again while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(pub u32);

impl ContextId {
    /// The socket itself.
    pub const SOCKET: ContextId = ContextId(0);

    /// Whom to wake when something has come for this context.
    pub(crate) fn receivers(self) -> ProtocolEvent {
        match self {
            ContextId::SOCKET => ProtocolEvent::RecvReady,
            other => ProtocolEvent::ContextRecvReady(other),
        }
    }
}

/// Why there is no further context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// Only req, rep, sub, surveyor and respondent have contexts.
    #[error("a {0} socket has no contexts")]
    NotOf(ProtocolNumber),
    /// There are as many as there may be.
    #[error("there are {CONTEXTS_MAX} contexts already, which is the limit")]
    TooMany,
}

/// What a socket keeps for itself and for each context.
#[derive(Debug)]
pub(crate) struct Contexts<T> {
    own: T,
    others: BTreeMap<ContextId, T>,
    last: u32,
}

impl<T> Contexts<T> {
    pub(crate) fn new(own: T) -> Contexts<T> {
        Contexts { own, others: BTreeMap::new(), last: 0 }
    }

    /// One context more, with what `make` gives for it.
    pub(crate) fn open(
        &mut self,
        make: impl FnOnce(ContextId) -> T,
    ) -> Result<ContextId, ContextError> {
        if self.others.len() >= CONTEXTS_MAX {
            return Err(ContextError::TooMany);
        }
        loop {
            self.last = self.last.wrapping_add(1);
            let id = ContextId(self.last);
            if id != ContextId::SOCKET && !self.others.contains_key(&id) {
                self.others.insert(id, make(id));
                return Ok(id);
            }
        }
    }

    /// Gives back what was kept for the context; `None` for one that is not open, and for the
    /// socket itself.
    pub(crate) fn close(&mut self, id: ContextId) -> Option<T> {
        self.others.remove(&id)
    }

    pub(crate) fn get(&self, id: ContextId) -> Option<&T> {
        if id == ContextId::SOCKET { Some(&self.own) } else { self.others.get(&id) }
    }

    pub(crate) fn get_mut(&mut self, id: ContextId) -> Option<&mut T> {
        if id == ContextId::SOCKET { Some(&mut self.own) } else { self.others.get_mut(&id) }
    }

    pub(crate) fn own(&self) -> &T {
        &self.own
    }

    pub(crate) fn own_mut(&mut self) -> &mut T {
        &mut self.own
    }

    /// True while the socket is its only context.
    pub(crate) fn is_alone(&self) -> bool {
        self.others.is_empty()
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        core::iter::once(&mut self.own).chain(self.others.values_mut())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_are_bounded_and_the_socket_stays() {
        let mut contexts = Contexts::new('s');
        let first = contexts.open(|_| 'a').unwrap();
        for _ in 1..CONTEXTS_MAX {
            contexts.open(|_| 'b').unwrap();
        }
        assert_eq!(contexts.open(|_| 'c'), Err(ContextError::TooMany));
        assert_eq!(contexts.close(ContextId::SOCKET), None);
        assert_eq!(contexts.close(first), Some('a'));
        let next = contexts.open(|_| 'c').unwrap();
        assert_ne!(next, first, "a number is not given again at once");
        assert_eq!(contexts.get(first), None);
        assert_eq!((contexts.get(next), contexts.own()), (Some(&'c'), &'s'));
        assert_eq!(contexts.all_mut().count(), CONTEXTS_MAX + 1);
    }
}
