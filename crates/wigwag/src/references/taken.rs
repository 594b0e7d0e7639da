//! The references that this node has received over a session: read, held, and released.

use std::sync::{Arc, Mutex};

use wigwag_actor::reference::value::RemoteActor;
use wigwag_actor::{Interface, Ref};
use wigwag_link::frame::Frame;
use wigwag_link::write;
use wigwag_wire::DecodeError;

use crate::limits::REFERENCES_MAX;
use crate::lock::lock;
use crate::references::arriving::Arriving;
use crate::references::value::SentReference;
use crate::send::remote::Remote;
use crate::session::Session;
use crate::session::attach::routes::{ActorIdentity, RouteKey};
use crate::sync::Ordering;

/// A reference that has come over a session, so many times. When it is dropped, the peer is told,
/// and lets the actor go.
pub(crate) struct TakenReference {
    session: Arc<Session>,
    number: u128,
    times: u64,
}

impl TakenReference {
    pub(super) fn new(session: &Arc<Session>, number: u128) -> Result<TakenReference, DecodeError> {
        let why = "this node holds as many references as it may";
        let beyond = DecodeError::BadReference { why };
        if !session.exports.references.taken.take_one() {
            session.release_references(&[number]);
            return Err(beyond);
        }
        // It is released if it is beyond the limit.
        let taken = TakenReference { session: session.clone(), number, times: 1 };
        let before = session.taken.fetch_add(1, Ordering::Relaxed);
        if before < REFERENCES_MAX { Ok(taken) } else { Err(beyond) }
    }
}

impl Drop for TakenReference {
    fn drop(&mut self) {
        if self.times > 0 {
            self.session.send_release(self.number, self.times);
        }
        self.session.taken.fetch_sub(1, Ordering::Relaxed);
        self.session.exports.references.taken.give_back(1);
    }
}

/// The references that a route was received as: one for each session that has brought it.
#[derive(Default)]
pub(crate) struct HeldReferences(Mutex<Vec<TakenReference>>);

impl HeldReferences {
    /// Holds a reference for as long as the route is used.
    pub(crate) fn hold(&self, mut taken: TakenReference) {
        let mut held = lock(&self.0);
        match held.iter_mut().find(|held| Arc::ptr_eq(&held.session, &taken.session)) {
            Some(held) => held.times += std::mem::take(&mut taken.times),
            None => held.push(taken),
        }
    }

    /// Lets go what others than the peer of `session` have given: the channel to that peer keeps the
    /// actor alive.
    pub(crate) fn keep_only(&self, session: &Arc<Session>) {
        let mut held = lock(&self.0);
        let others: Vec<_> =
            held.extract_if(.., |held| !Arc::ptr_eq(&held.session, session)).collect();
        drop(held);
        drop(others);
    }
}

/// Makes a reference of what has come over `session`.
pub(super) fn take<I: Interface>(
    session: &Arc<Session>,
    value: SentReference,
) -> Result<Ref<I>, DecodeError> {
    let taken = TakenReference::new(session, value.reference)?;
    if value.incarnation == session.ours.incarnation {
        let actor = session.exports.references.find(value.reference);
        let actor = actor.ok_or(DecodeError::BadReference { why: "it has ended" })?;
        let why = "it has another interface";
        return actor.reference_as::<I>().ok_or(DecodeError::BadReference { why });
    }
    let node = session.owner.upgrade();
    let node = node.ok_or(DecodeError::BadReference { why: "this node is closed" })?;
    let near = match value.incarnation == session.identity.incarnation {
        true => Some(session.clone()),
        false => node.living_session(value.incarnation),
    };
    let watch = node.answer_spin();
    if let Some(near) = &near {
        let actor = ActorIdentity::of_reference(value.reference);
        if let Some(route) = near.shared_route(&RouteKey::new::<Remote<I>>(actor, "", watch)) {
            let route: Arc<Remote<I>> = route;
            route.hold(taken);
            return Ok(Ref::remote(route));
        }
        if let Some(route) = near.shared_route(&RouteKey::new::<Arriving<I>>(actor, "", watch)) {
            let route: Arc<Arriving<I>> = route;
            route.hold(taken);
            return Ok(Ref::remote(route));
        }
        if let Some(route) = Remote::<I>::attach_at_once(near.clone(), &value, watch) {
            let route = route.shared(watch);
            route.hold(taken);
            return Ok(Ref::remote(route));
        }
    }
    let SentReference { node: id, incarnation, reference, schema_hash, addresses } = value;
    let actor = RemoteActor { node: id, incarnation, reference, schema_hash, addresses };
    Ok(Ref::remote(Arriving::begin(node, near, session, actor, taken, watch)))
}

impl Session {
    /// Tells the peer that references are let go which were never read.
    pub(crate) fn release_references(&self, numbers: &[u128]) {
        for number in numbers {
            self.send_release(*number, 1);
        }
    }

    fn send_release(&self, number: u128, times: u64) {
        let mut sending = self.sending();
        if sending.ended.is_some() {
            return;
        }
        let reference = &number.to_le_bytes();
        let release = Frame::Release { reference, times };
        sending.sender.outbox.append(|out| write::any(out, &release));
        drop(sending);
        self.wake_driver();
    }
}
