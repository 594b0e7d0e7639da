//! References that are sent over a session.

use wigwag_actor::{Interface, Ref};

use crate::references::relay::Relay;
use crate::session::Session;
use crate::session::references::lent::LentActor;
use crate::session::references::value::SentReference;

/// Notes that a reference is sent over `session`, and returns what is sent.
///
/// # Errors
/// Why it cannot be sent, in words.
pub(super) fn lend<I: Interface>(
    session: &Session,
    reference: &Ref<I>,
) -> Result<SentReference, &'static str> {
    if !session.references.are_known() {
        return Err("the peer runs a release that knows no references to actors");
    }
    if let Some(exported) = reference.exported() {
        let schema_hash = exported.schema().hash;
        let actor = session.references.table().refer(exported);
        actor.note(reference);
        let number = actor.reference;
        session.lend(number, LentActor::Own(actor))?;
        let (node, incarnation) = (session.ours.node, session.ours.incarnation);
        let owner = session.owner.upgrade();
        let addresses = owner.map_or_else(Vec::new, |owner| owner.own_addresses());
        return Ok(SentReference { node, incarnation, reference: number, schema_hash, addresses });
    }
    let Some(actor) = reference.remote_actor() else {
        return Err("the actor's node runs a release that knows no references to actors");
    };
    let Some(relay) = Relay::to(reference) else { return Err("the actor cannot be reached") };
    let leads_back = reference.route().is_some_and(|route| route.is_over(session.number()));
    session.lend(actor.reference, LentActor::Other { relay, leads_back })?;
    Ok(SentReference {
        node: actor.node,
        incarnation: actor.incarnation,
        reference: actor.reference,
        schema_hash: actor.schema_hash,
        addresses: actor.addresses,
    })
}
