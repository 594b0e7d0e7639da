//! Routes that several references share.
//!
//! There is an order between the calls on one channel, and none between two channels. References to
//! one actor that are fetched one by one would each have a channel, so the one that is fetched later
//! gets the route of the earlier one, like a clone of it, if the peer says that both lead to the
//! same actor.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use wigwag_link::dispatch::application::ReadReference;

use crate::lock::lock;
use crate::session::Session;

/// An actor, as its node identifies it for the time of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ActorIdentity(u128);

impl ActorIdentity {
    /// The identity of the actor that references with this number lead to.
    pub(crate) fn of_reference(number: u128) -> ActorIdentity {
        ActorIdentity(number)
    }

    /// Reads what ATTACHED says of an actor: its identity, and besides. `None` from a peer that says
    /// nothing, or another thing.
    pub(crate) fn read(reference: &[u8]) -> Option<(ActorIdentity, ReadReference)> {
        let read = ReadReference::read(reference)?;
        Some((ActorIdentity(read.reference.unwrap_or(read.number.into())), read))
    }
}

/// The key of a shared route: references with equal keys share it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct RouteKey {
    /// The type of the route.
    route: TypeId,
    actor: ActorIdentity,
    /// The name that a route follows to the next incarnation of its actor; otherwise empty.
    follows: Box<str>,
    /// How long asks spin for their answers.
    answer_spin: Duration,
}

impl RouteKey {
    /// The key of a route of type `R`.
    pub(crate) fn new<R: Any>(
        actor: ActorIdentity,
        follows: &str,
        answer_spin: Duration,
    ) -> RouteKey {
        RouteKey { route: TypeId::of::<R>(), actor, follows: follows.into(), answer_spin }
    }
}

/// A reference that has come over a session.
pub(crate) enum Received<R> {
    /// It leads over a route that there is.
    Known(Arc<R>),
    /// It has come before, and the route that it has had is gone.
    Again,
    /// It has not come before, or long ago.
    New,
}

/// The routes of a session that a reference leads over. A route has a channel, so there are never
/// more of them than channels; as many again may have ended and not been removed.
#[derive(Default)]
pub(crate) struct SharedRoutes {
    routes: HashMap<RouteKey, Weak<dyn Any + Send + Sync>>,
    /// Routes from which on those that have ended are removed.
    crowded: usize,
}

impl SharedRoutes {
    /// The route with this key that is in use.
    fn in_use<R: Any + Send + Sync>(&self, key: &RouteKey) -> Option<Arc<R>> {
        self.routes.get(key).and_then(Weak::upgrade)?.downcast::<R>().ok()
    }

    /// The route with this key that is in use; otherwise `candidate`, which is shared from now on.
    fn share<R: Any + Send + Sync>(&mut self, key: RouteKey, candidate: &Arc<R>) -> Arc<R> {
        if let Some(route) = self.in_use(&key) {
            return route;
        }
        if self.routes.len() >= self.crowded {
            self.routes.retain(|_, route| route.strong_count() > 0);
            self.crowded = 2 * self.routes.len() + 16;
        }
        let route: Arc<dyn Any + Send + Sync> = candidate.clone();
        self.routes.insert(key, Arc::downgrade(&route));
        candidate.clone()
    }
}

impl Session {
    /// The route with this key that is in use or kept, for a reference that has come.
    pub(crate) fn received_route<R: Any + Send + Sync>(&self, key: &RouteKey) -> Received<R> {
        if let Some(route) = lock(&self.references.kept_routes).find(key) {
            return Received::Known(route);
        }
        let routes = lock(&self.shared_routes);
        match routes.in_use(key) {
            Some(route) => Received::Known(route),
            None if routes.routes.contains_key(key) => Received::Again,
            None => Received::New,
        }
    }

    /// The route with this key that is in use; otherwise `candidate`, which is shared from now on.
    pub(crate) fn share_route<R: Any + Send + Sync>(
        &self,
        key: RouteKey,
        candidate: &Arc<R>,
    ) -> Arc<R> {
        lock(&self.shared_routes).share(key, candidate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(actor: u128) -> RouteKey {
        RouteKey::new::<u8>(ActorIdentity(actor), "", Duration::ZERO)
    }

    #[test]
    fn a_route_in_use_is_shared_and_one_that_has_ended_is_not() {
        let mut routes = SharedRoutes::default();
        let first = routes.share(key(1), &Arc::new(1_u8));
        assert_eq!(*routes.share(key(1), &Arc::new(2_u8)), 1);
        assert_eq!(*routes.share(key(2), &Arc::new(3_u8)), 3, "another actor");
        drop(first);
        assert_eq!(*routes.share(key(1), &Arc::new(4_u8)), 4);
    }

    #[test]
    fn routes_that_have_ended_are_removed() {
        let mut routes = SharedRoutes::default();
        let kept: Vec<Arc<u8>> = (0..10).map(|at| routes.share(key(at), &Arc::new(0))).collect();
        for at in 10..1000 {
            routes.share(key(at), &Arc::new(0));
            assert!(routes.routes.len() <= 2 * kept.len() + 16);
        }
        let same = |(at, route)| Arc::ptr_eq(&routes.share(key(at), &Arc::new(9)), route);
        assert!((0..).zip(&kept).all(same));
    }

    #[test]
    fn an_identity_has_eight_bytes_or_also_the_number_of_a_reference() {
        let read = |bytes: &[u8]| {
            let (identity, read) = ActorIdentity::read(bytes)?;
            Some((identity.0, read.reference, read.may_link))
        };
        assert_eq!(read(&1_u64.to_le_bytes()), Some((1, None, false)));
        let both = [&1_u64.to_le_bytes()[..], &(7_u128 << 100).to_le_bytes()].concat();
        let number = 7 << 100;
        assert_eq!(read(&both), Some((number, Some(number), false)));
        for (flags, may_link) in [(0, false), (1, true), (3, true)] {
            let all = [&both[..], &[flags]].concat();
            assert_eq!(read(&all), Some((number, Some(number), may_link)));
        }
        assert_eq!(ActorIdentity::read(&[]), None);
        assert_eq!(ActorIdentity::read(&[0; 9]), None);
    }
}
