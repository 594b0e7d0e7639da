//! The references that this node has sent over a session and that the peer has not released.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use wigwag_actor::Exported;

use crate::events::HeldActor;
use crate::exports::references::ReferredActor;
use crate::limits::REFERENCES_MAX;
use crate::lock::lock;
use crate::session::Session;
use crate::session::references::taken::TakenReference;

/// The references that the peer of a session was sent.
#[derive(Default)]
pub(crate) struct LentReferences(HashMap<u128, LentReference>);

struct LentReference {
    /// How often it was sent and not released.
    times: u64,
    actor: LentActor,
}

/// The target of a lent reference, which is kept alive with it.
#[derive(Clone)]
pub(crate) enum LentActor {
    /// An actor of this node.
    Own(Arc<ReferredActor>),
    /// An actor of another node, and the relay to it. `leads_back`: the relay calls it through the
    /// peer, which has given the reference.
    Other { relay: Arc<dyn Exported>, leads_back: bool },
    /// An actor of another node, of a reference in a relayed reply.
    Unread { _taken: Arc<TakenReference> },
}

impl Session {
    /// Keeps `actor` until the peer releases the reference with this number, or the session ends.
    pub(crate) fn lend(&self, number: u128, actor: LentActor) -> Result<(), &'static str> {
        let mut lent = lock(&self.references.lent);
        if self.has_ended() {
            // The call fails by itself.
            return Ok(());
        }
        if let Some(known) = lent.0.get_mut(&number) {
            known.times += 1;
            // Calls through it can be passed on from now on, which those of an unread one cannot. Not
            // through the peer: that may hold the unread one for the reference that it has given, and
            // then the two nodes would keep each other's for ever.
            let before = match (&known.actor, &actor) {
                (LentActor::Unread { .. }, LentActor::Other { leads_back: true, .. }) => actor,
                (LentActor::Unread { .. }, _) => std::mem::replace(&mut known.actor, actor),
                (LentActor::Own(_) | LentActor::Other { .. }, _) => actor,
            };
            drop(lent);
            drop(before);
            return Ok(());
        }
        let is_full = lent.0.len() as u64 >= REFERENCES_MAX;
        if is_full || !self.references.table.lent.take_one() {
            return Err("the peer holds as many references as this node lends");
        }
        lent.0.insert(number, LentReference { times: 1, actor });
        Ok(())
    }

    /// Adds the references that the peer holds to the rows of their actors, by the actors' numbers.
    pub(super) fn add_lent(&self, rows: &mut BTreeMap<u64, HeldActor>) {
        for lent in lock(&self.references.lent).0.values() {
            let exported = match &lent.actor {
                LentActor::Own(actor) => &actor.exported,
                LentActor::Other { relay, .. } => relay,
                LentActor::Unread { .. } => continue,
            };
            let kind = exported.schema().name;
            let row = HeldActor { name: None, kind, channels: 0, references: 0 };
            rows.entry(exported.number()).or_insert(row).references += lent.times;
        }
    }

    /// The relay to the actor of another node that the peer was sent a reference to, if this node
    /// relays.
    pub(crate) fn relay_of(&self, number: u128) -> Option<Arc<dyn Exported>> {
        match &lock(&self.references.lent).0.get(&number)?.actor {
            LentActor::Other { relay, .. } if self.references.relays => Some(relay.clone()),
            _ => None,
        }
    }

    /// The actor that a lent reference leads to, or the relay to it, if this node relays.
    pub(crate) fn lent_actor(&self, number: u128) -> Option<Arc<ReferredActor>> {
        let relay = match &lock(&self.references.lent).0.get(&number)?.actor {
            LentActor::Own(actor) => return Some(actor.clone()),
            LentActor::Other { relay, .. } if self.references.relays => relay.clone(),
            _ => return None,
        };
        Some(self.references.table.refer(relay))
    }

    /// Handles RELEASE, or takes back what was not sent after all. False if the reference was not
    /// sent that often.
    pub(crate) fn reference_released(&self, number: u128, times: u64) -> bool {
        let mut lent = lock(&self.references.lent);
        let Some(reference) = lent.0.get_mut(&number) else { return false };
        let Some(left) = reference.times.checked_sub(times) else { return false };
        reference.times = left;
        let released = (left == 0).then(|| lent.0.remove(&number));
        drop(lent);
        if released.is_some() {
            self.references.table.lent.give_back(1);
        }
        // The actor may end with it.
        drop(released);
        true
    }

    /// Lets go what the peer holds: the session is over.
    pub(crate) fn release_lent(&self) {
        let lent = std::mem::take(&mut *lock(&self.references.lent));
        self.references.table.lent.give_back(lent.0.len() as u64);
        drop(lent);
    }
}
