//! A reference whose channel is not open yet: it was received, and its actor is being attached to.
//!
//! Callers wait meanwhile, as they wait for room. Once it is attached, calls go to the route of the
//! actor. This happens where the schemas differ, where the peer has as many unanswered ATTACHes as it
//! accepts, and for an actor of a third node, which has to be dialed first.

mod route;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::task::Waker;
use std::time::Duration;

use wigwag_actor::lifecycle::end_watchers::{EndWatchers, NotLinked};
use wigwag_actor::lifecycle::handle::fresh_number;
use wigwag_actor::reference::route::RemoteLink;
use wigwag_actor::reference::run_writer::RunOwner;
use wigwag_actor::reference::value::RemoteActor;
use wigwag_actor::{Attempt, CallError, CallErrorKind, Interface, Parked, Reason, Route, Ticket};
use wigwag_spin::SpinPolicy;

use crate::error::NodeError;
use crate::limits::CODEC_FIXED;
use crate::lock::lock;
use crate::send::remote::Remote;
use crate::session::attach::routes::{ActorIdentity, RouteKey};
use crate::session::attach::{AttachTo, target_of};
use crate::session::references::taken::{HeldReferences, TakenReference};
use crate::session::{Session, SessionOwner};
use crate::sync::{AtomicBool, Ordering};

/// The tag of the tickets of senders that wait here; those that wait at the actor's channel have 0.
const TAG: u16 = 1;
/// The tag of the tickets of a channel.
const CHANNEL_TAG: u16 = 0;

const TOO_MANY_LINKS: &str = "the session has as many links as it may";

/// A route to an actor that is being attached to.
pub(crate) struct Arriving<I: Interface> {
    target: Arc<str>,
    actor: RemoteActor,
    /// The number of the session that has brought the reference.
    giver: u64,
    state: RwLock<Arrival<I>>,
    /// Told when no later call can reach the actor.
    end_watchers: RwLock<EndWatchers>,
    /// Actors of this process that are to be linked to the actor, by their numbers. Taken before the
    /// state, which changes from pending only before they are taken out.
    links: Mutex<BTreeMap<u64, WaitingLink>>,
    held: HeldReferences,
    /// The task that attaches was started.
    is_begun: AtomicBool,
    run_owner: RunOwner,
    spin: SpinPolicy,
}

/// A link that waits for the channel, and why its actor has ended meanwhile, if it has.
type WaitingLink = (RemoteLink, Option<Reason>);

enum Arrival<I: Interface> {
    Pending(Parked),
    Attached(Arc<Remote<I>>),
    Failed(CallErrorKind, Arc<str>),
}

impl<I: Interface> Arriving<I> {
    /// Begins to attach: over `near`, or over a session with the actor's node, which is dialed.
    /// `giver` is the session that has brought the reference.
    pub(super) fn begin(
        node: Arc<dyn SessionOwner>,
        near: Option<Arc<Session>>,
        giver: &Arc<Session>,
        actor: RemoteActor,
        taken: TakenReference,
        watch: Duration,
    ) -> Arc<Arriving<I>> {
        let peer = match (&near, actor.addresses.first()) {
            (Some(near), _) => near.peer.clone(),
            (None, Some(address)) => address.clone(),
            (None, None) => giver.peer.clone(),
        };
        let is_fixed = near.as_ref().unwrap_or(giver).codec == CODEC_FIXED
            && actor.schema_hash == I::SCHEMA.hash;
        let route = Arc::new(Arriving {
            target: target_of(&peer, actor.reference),
            actor,
            giver: giver.number(),
            state: RwLock::new(Arrival::Pending(Parked::tagged(TAG))),
            end_watchers: RwLock::default(),
            links: Mutex::default(),
            held: HeldReferences::default(),
            is_begun: AtomicBool::new(false),
            run_owner: RunOwner::new(is_fixed),
            spin: SpinPolicy::new(watch),
        });
        let route = match &near {
            Some(near) => {
                let identity = ActorIdentity::of_reference(route.actor.reference);
                near.share_route(RouteKey::new::<Arriving<I>>(identity, "", watch), &route)
            }
            None => route,
        };
        route.held.hold(taken);
        if route.is_begun.swap(true, Ordering::AcqRel) {
            // Another thread has received it at the same time.
            return route;
        }
        let (arriving, runtime) = (route.clone(), node.runtime().clone());
        let giver = giver.clone();
        runtime.spawn(async move {
            let attached = match near {
                Some(near) => arriving.attach(near, watch).await,
                None => arriving.attach_far(node, giver, watch).await,
            };
            arriving.arrived(attached);
        });
        route
    }

    /// Attaches over a session with the actor's node.
    async fn attach(
        &self,
        session: Arc<Session>,
        watch: Duration,
    ) -> Result<Arc<Remote<I>>, NodeError> {
        let to = AttachTo::Reference(self.actor.reference);
        let remote = Remote::attach(session, to, &self.target, watch).await?;
        let remote = remote.into_one_of(self.run_owner, CHANNEL_TAG);
        Ok(remote.with_addresses(&self.actor.addresses).shared(watch))
    }

    /// Attaches to an actor of a third node, or, where that cannot be reached, to the relay of the
    /// node that has given the reference.
    async fn attach_far(
        &self,
        node: Arc<dyn SessionOwner>,
        giver: Arc<Session>,
        watch: Duration,
    ) -> Result<Arc<Remote<I>>, NodeError> {
        let (incarnation, addresses) = (self.actor.incarnation, self.actor.addresses.clone());
        let direct = match node.reach(incarnation, addresses).await {
            Ok(session) => self.attach(session, watch).await,
            Err(error) => Err(error),
        };
        let error = match direct {
            Err(error @ (NodeError::Net(_) | NodeError::Session { .. })) => error,
            Err(NodeError::Call(error)) if error.kind == CallErrorKind::NotDelivered => {
                error.into()
            }
            outcome => return outcome,
        };
        tracing::debug!(target = %self.target, %error, "a reference is relayed");
        let to = AttachTo::Relayed(self.actor.reference);
        match Remote::attach(giver, to, &self.target, watch).await {
            Ok(remote) => Ok(remote.into_one_of(self.run_owner, CHANNEL_TAG).shared(watch)),
            // It does not relay, so the other error says more.
            Err(refused) if refused.kind == CallErrorKind::NoSuchActor => Err(error),
            Err(refused) => Err(refused.into()),
        }
    }

    fn arrived(self: &Arc<Self>, attached: Result<Arc<Remote<I>>, NodeError>) {
        let arrival = match attached {
            Ok(remote) => {
                self.held.keep_only(remote.session());
                Arrival::Attached(remote)
            }
            Err(NodeError::Call(error)) => {
                Arrival::Failed(error.kind, error.detail.as_deref().unwrap_or_default().into())
            }
            Err(error) => Arrival::Failed(CallErrorKind::NotDelivered, error.reason().into()),
        };
        let remote = match &arrival {
            Arrival::Attached(remote) => Some(remote.clone()),
            _ => None,
        };
        let before = std::mem::replace(&mut *self.write(), arrival);
        if let Arrival::Pending(mut parked) = before {
            parked.drain().into_iter().for_each(Waker::wake);
        }
        self.link_waiting(remote.as_deref());
        let ended = remote.is_none_or(|remote| {
            let route = Arc::downgrade(self);
            let tell = move |reason: &Reason| {
                if let Some(route) = route.upgrade() {
                    route.tell_watchers(reason);
                }
            };
            remote.watch_end(fresh_number(), Box::new(tell)).is_err()
        });
        if ended {
            self.tell_watchers(&self.end_reason());
        }
    }

    /// Links the actors that have waited for the channel.
    fn link_waiting(&self, remote: Option<&Remote<I>>) {
        let links = std::mem::take(&mut *lock(&self.links));
        for (link, own_end) in links.into_values() {
            let (number, ended) = (link.number, link.ended.clone());
            match remote.map_or(Err(NotLinked::Ended), |remote| remote.link(link)) {
                Ok(()) => {
                    if let (Some(remote), Some(reason)) = (remote, own_end) {
                        remote.unlink(number, Some(&reason));
                    }
                }
                Err(NotLinked::Ended) => ended(&self.end_reason()),
                Err(NotLinked::Refused(why)) => ended(&Reason::LinkRefused(why)),
                Err(NotLinked::TooMany) => ended(&Reason::LinkRefused(TOO_MANY_LINKS.into())),
            }
        }
    }

    fn tell_watchers(&self, reason: &Reason) {
        let mut watchers = self.end_watchers.write().unwrap_or_else(PoisonError::into_inner);
        let told = std::mem::take(&mut *watchers);
        drop(watchers);
        told.tell(reason);
    }

    /// Holds the reference, which was received again.
    pub(super) fn hold(&self, taken: TakenReference) {
        self.held.hold(taken);
        if let Some(remote) = self.remote() {
            self.held.keep_only(remote.session());
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Arrival<I>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Arrival<I>> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn remote(&self) -> Option<Arc<Remote<I>>> {
        match &*self.read() {
            Arrival::Attached(remote) => Some(remote.clone()),
            Arrival::Pending(_) | Arrival::Failed(..) => None,
        }
    }

    /// The route of the actor. Until there is one, a sender with a waker is parked.
    fn present<T>(
        &self,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Result<Arc<Remote<I>>, Attempt<T>> {
        if let Some(remote) = self.remote() {
            ticket.renew(CHANNEL_TAG);
            return Ok(remote);
        }
        match &mut *self.write() {
            Arrival::Attached(remote) => {
                ticket.renew(CHANNEL_TAG);
                Ok(remote.clone())
            }
            Arrival::Pending(parked) => {
                if let Some(waker) = waker {
                    parked.park(ticket, waker);
                }
                Err(Attempt::Full)
            }
            Arrival::Failed(kind, why) => {
                let error = CallError::new(*kind, &self.target).with_detail(why);
                Err(Attempt::Failed(Box::new(error)))
            }
        }
    }

    /// The error of what needs the channel.
    fn not_attached(&self) -> CallError {
        let (kind, why) = match &*self.read() {
            Arrival::Failed(kind, why) => (*kind, why.clone()),
            _ => (CallErrorKind::NotDelivered, "the reference is not attached yet".into()),
        };
        CallError::new(kind, &self.target).with_detail(&why)
    }
}
