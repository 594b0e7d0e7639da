//! References that have come over a session.

use std::sync::Arc;

use wigwag_actor::reference::value::RemoteActor;
use wigwag_actor::{Interface, Ref};
use wigwag_wire::DecodeError;

use crate::references::arriving::Arriving;
use crate::send::remote::Remote;
use crate::session::Session;
use crate::session::attach::routes::{ActorIdentity, Received, RouteKey};
use crate::session::references::taken::TakenReference;
use crate::session::references::value::SentReference;

/// Makes a reference of what has come over `session`.
pub(super) fn take<I: Interface>(
    session: &Arc<Session>,
    value: SentReference,
) -> Result<Ref<I>, DecodeError> {
    let taken = TakenReference::new(session, value.reference)?;
    take_held(session, value, taken)
}

/// As [`take`], of a reference that is counted as held already.
pub(crate) fn take_held<I: Interface>(
    session: &Arc<Session>,
    value: SentReference,
    taken: TakenReference,
) -> Result<Ref<I>, DecodeError> {
    if value.incarnation == session.ours.incarnation {
        let actor = session.references.table().find(value.reference);
        let actor = actor.ok_or(DecodeError::BadReference { why: "it has ended" })?;
        let why = "it has another interface";
        return actor.reference_as::<I>().ok_or(DecodeError::BadReference { why });
    }
    let node = session.owner.upgrade();
    let node = node.ok_or(DecodeError::BadReference { why: "this node is closed" })?;
    let near = match value.incarnation == session.identity.incarnation {
        true => Some(session.clone()),
        false => node.living_session(value.incarnation, &value.addresses),
    };
    let watch = node.answer_spin();
    if let Some(near) = &near {
        let actor = ActorIdentity::of_reference(value.reference);
        let key = RouteKey::new::<Remote<I>>(actor, "", watch);
        let received = near.received_route::<Remote<I>>(&key);
        if let Received::Known(route) = received {
            route.hold(taken, node.runtime());
            return Ok(Ref::remote(route));
        }
        let arriving = RouteKey::new::<Arriving<I>>(actor, "", watch);
        if let Received::Known(route) = near.received_route::<Arriving<I>>(&arriving) {
            route.hold(taken);
            return Ok(Ref::remote(route));
        }
        if let Some(route) = Remote::<I>::attach_at_once(near.clone(), &value, watch) {
            let route = route.shared(watch);
            route.hold(taken, node.runtime());
            if let Received::Again = received {
                near.keep_route(key, route.clone());
            }
            return Ok(Ref::remote(route));
        }
    }
    let SentReference { node: id, incarnation, reference, schema_hash, addresses } = value;
    let actor = RemoteActor { node: id, incarnation, reference, schema_hash, addresses };
    Ok(Ref::remote(Arriving::begin(node, near, session, actor, taken, watch)))
}
