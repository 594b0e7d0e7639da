//! The references that this node has sent over a session and that the peer has not released.

use std::collections::HashMap;
use std::sync::Arc;

use wigwag_actor::{Exported, Interface, Ref};

use crate::limits::REFERENCES_MAX;
use crate::lock::lock;
use crate::references::relay::Relay;
use crate::references::table::ReferredActor;
use crate::references::taken::TakenReference;
use crate::references::value::SentReference;
use crate::session::Session;

/// The references that the peer of a session was sent.
#[derive(Default)]
pub(crate) struct LentReferences(HashMap<u128, LentReference>);

struct LentReference {
    /// How often it was sent and not released.
    times: u64,
    actor: LentActor,
}

/// What a lent reference leads to, which is kept alive with it.
pub(super) enum LentActor {
    /// An actor of this node.
    Own { _actor: Arc<ReferredActor> },
    /// An actor of another node, and the relay to it, if there may be one.
    Other(Arc<dyn Exported>),
    /// An actor of another node, of a reference in a relayed reply.
    Unread { _taken: Arc<TakenReference> },
}

/// Notes that a reference is sent over `session`, and returns what is sent.
///
/// # Errors
/// Why it cannot be sent, in words.
pub(crate) fn lend<I: Interface>(
    session: &Session,
    reference: &Ref<I>,
) -> Result<SentReference, &'static str> {
    if !session.knows_references {
        return Err("the peer runs a release that knows no references to actors");
    }
    if let Some(exported) = reference.exported() {
        let schema_hash = exported.schema().hash;
        let actor = session.exports.references.refer(exported);
        actor.note(reference);
        let number = actor.reference;
        session.lend(number, LentActor::Own { _actor: actor })?;
        let (node, incarnation) = (session.ours.node, session.ours.incarnation);
        let addresses = session.own_addresses();
        return Ok(SentReference { node, incarnation, reference: number, schema_hash, addresses });
    }
    let Some(actor) = reference.remote_actor() else {
        return Err("the actor's node runs a release that knows no references to actors");
    };
    let Some(relay) = Relay::to(reference) else { return Err("the actor cannot be reached") };
    session.lend(actor.reference, LentActor::Other(relay))?;
    Ok(SentReference {
        node: actor.node,
        incarnation: actor.incarnation,
        reference: actor.reference,
        schema_hash: actor.schema_hash,
        addresses: actor.addresses,
    })
}

impl Session {
    /// Keeps `actor` until the peer releases the reference with this number, or the session ends.
    pub(super) fn lend(&self, number: u128, actor: LentActor) -> Result<(), &'static str> {
        let mut lent = lock(&self.lent);
        if self.has_ended() {
            // The call fails by itself.
            return Ok(());
        }
        if let Some(known) = lent.0.get_mut(&number) {
            known.times += 1;
            return Ok(());
        }
        let is_full = lent.0.len() as u64 >= REFERENCES_MAX;
        if is_full || !self.exports.references.lent.take_one() {
            return Err("the peer holds as many references as this node lends");
        }
        lent.0.insert(number, LentReference { times: 1, actor });
        Ok(())
    }

    /// The relay to the actor of another node that the peer was sent a reference to, if this node
    /// relays.
    pub(crate) fn relay_of(&self, number: u128) -> Option<Arc<dyn Exported>> {
        match &lock(&self.lent).0.get(&number)?.actor {
            LentActor::Other(relay) if self.relays => Some(relay.clone()),
            _ => None,
        }
    }

    /// Handles RELEASE, or takes back what was not sent after all. False if the reference was not
    /// sent that often.
    pub(crate) fn reference_released(&self, number: u128, times: u64) -> bool {
        let mut lent = lock(&self.lent);
        let Some(reference) = lent.0.get_mut(&number) else { return false };
        let Some(left) = reference.times.checked_sub(times) else { return false };
        reference.times = left;
        let released = (left == 0).then(|| lent.0.remove(&number));
        drop(lent);
        if released.is_some() {
            self.exports.references.lent.give_back(1);
        }
        // The actor may end with it.
        drop(released);
        true
    }

    /// Lets go what the peer holds: the session is over.
    pub(crate) fn release_lent(&self) {
        let lent = std::mem::take(&mut *lock(&self.lent));
        self.exports.references.lent.give_back(lent.0.len() as u64);
        drop(lent);
    }
}
