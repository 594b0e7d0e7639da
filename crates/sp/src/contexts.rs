//! Several exchanges on one socket: each context asks, or answers, independently of the others.
//!
//! The socket itself is the first context, and the only one that cannot be closed.

use alloc::collections::BTreeMap;

use wigwag_wire::ProtocolNumber;

use crate::limits::CONTEXTS_MAX;

/// The number of a context on its socket; not reused while the context is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(pub u32);

impl ContextId {
    /// The socket itself.
    pub const SOCKET: ContextId = ContextId(0);
}

/// Why a context could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// Only req, rep, sub, surveyor and respondent have contexts.
    #[error("a {0} socket has no contexts")]
    NotOf(ProtocolNumber),
    /// The limit of open contexts is reached.
    #[error("there are {CONTEXTS_MAX} contexts already, which is the limit")]
    TooMany,
}

/// State of the socket itself and of each open context.
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

    /// Opens a context whose state `make` creates.
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

    /// Closes a context and returns its state; `None` if it is not open, or is the socket itself.
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

    /// True if the socket has no other context than itself.
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
    fn contexts_are_bounded_and_the_socket_itself_cannot_be_closed() {
        let mut contexts = Contexts::new('s');
        let first = contexts.open(|_| 'a').unwrap();
        for _ in 1..CONTEXTS_MAX {
            contexts.open(|_| 'b').unwrap();
        }
        assert_eq!(contexts.open(|_| 'c'), Err(ContextError::TooMany));
        assert_eq!(contexts.close(ContextId::SOCKET), None);
        assert_eq!(contexts.close(first), Some('a'));
        let next = contexts.open(|_| 'c').unwrap();
        assert_ne!(next, first, "a number is not reused at once");
        assert_eq!(contexts.get(first), None);
        assert_eq!((contexts.get(next), contexts.own()), (Some(&'c'), &'s'));
        assert_eq!(contexts.all_mut().count(), CONTEXTS_MAX + 1);
    }
}
