//! References to actors as values of one session: their form, what the peer was lent, and what it has
//! sent. The room `references` makes references of them.

use std::sync::{Arc, Mutex};

use wigwag_actor::CallErrorKind;
use wigwag_link::features;

use crate::exports::references::ReferenceTable;
use crate::session::Session;
use crate::session::attach::kept::KeptRoutes;
use crate::sync::AtomicU64;

pub(crate) mod value;
pub(crate) mod scope;
pub(crate) mod lent;
pub(crate) mod held;
pub(crate) mod taken;

use lent::LentReferences;
use value::SentReference;

/// The references of one session.
pub(crate) struct SessionReferences {
    /// The peer knows references to actors.
    are_known: bool,
    /// Calls of the peer to actors of third nodes are passed on, if this node has sent it references
    /// to them.
    relays: bool,
    /// The references that the peer was sent.
    lent: Mutex<LentReferences>,
    /// References that the peer has sent and that are held here.
    taken: AtomicU64,
    /// Routes of references that come again and again.
    pub(super) kept_routes: Mutex<KeptRoutes>,
    /// The references of all sessions of the node.
    table: Arc<ReferenceTable>,
}

impl SessionReferences {
    pub(crate) fn new(
        features: u64,
        relays: bool,
        table: Arc<ReferenceTable>,
    ) -> SessionReferences {
        let are_known = features & features::REFERENCES != 0;
        let (lent, taken, kept_routes) = (Mutex::default(), AtomicU64::new(0), Mutex::default());
        SessionReferences { are_known, relays, lent, taken, kept_routes, table }
    }

    /// True if the peer knows references to actors.
    pub(crate) fn are_known(&self) -> bool {
        self.are_known
    }

    /// The actors of the node that references lead to.
    pub(crate) fn table(&self) -> &Arc<ReferenceTable> {
        &self.table
    }
}

impl Session {
    /// Lets go the references and the streams in a reply or an item of the peer that is never read.
    pub(crate) fn discard_value(&self, value: &[u8]) {
        self.discard_value_because(value, CallErrorKind::Cancelled);
    }

    /// Lets go the references in a value of the peer that is never read.
    pub(crate) fn release_references_in(&self, value: &[u8]) {
        if self.references.are_known {
            self.release_references(&SentReference::numbers_in(value));
        }
    }
}

#[cfg(test)]
mod tests;
