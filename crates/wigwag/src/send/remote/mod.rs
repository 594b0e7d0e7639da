//! Typed references to actors of other nodes.

mod pipeline;
mod route;

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use wigwag_actor::reference::run_writer::RunOwner;
use wigwag_actor::reference::value::RemoteActor;
use wigwag_actor::schema::FIRST_METHOD;
use wigwag_actor::{CallError, CallErrorKind, Interface, Message};
use wigwag_spin::SpinPolicy;

use crate::send::channel::Channel;
use crate::send::described::Described;
use crate::send::dynamic::describe;
use crate::send::matching::{MethodMatch, match_methods, reordered};
use crate::session::Session;
use crate::session::attach::routes::{ActorIdentity, RouteKey};
use crate::session::attach::{AttachTo, target_of};
use crate::session::buffers::encoded::EncodedValue;
use crate::session::buffers::encoding::Arguments;
use crate::session::references::taken::{HeldReferences, Opening, TakenReference};
use crate::session::references::value::SentReference;
use crate::session::rejected::MethodNames;

pub(crate) use self::pipeline::RingPipeline;

/// A route to a remote actor whose interface both sides know.
pub(crate) struct Remote<I> {
    channel: Channel,
    actor: Option<ActorIdentity>,
    /// The actor as a reference to it is sent on, if the peer knows references.
    referred: Option<RemoteActor>,
    /// The references that this route was received as.
    held: HeldReferences,
    /// How the receiver understands each of our methods, if the schemas differ.
    matches: Option<Vec<MethodMatch>>,
    run_owner: RunOwner,
    /// No other route has the same run owner.
    is_alone: bool,
    watch: SpinPolicy,
    /// The answer that leads to the actor, if the channel was opened before it has come.
    answer: Option<Box<dyn Any + Send + Sync>>,
    interface: PhantomData<fn() -> I>,
}

/// The receiver's number of a call's method, and the arguments if they had to be encoded before.
///
/// The value is boxed, and so is the error of a call that cannot be sent: few calls have either, and
/// otherwise all calls would copy the room for both. A call with such a value pays for that with an
/// allocation.
type Prepared = (u32, Option<Box<EncodedValue>>);

impl<I: Interface> Remote<I> {
    /// Opens a channel to an actor of the peer of `session`. `watch` is how long an ask spins for its
    /// answer before its thread parks.
    pub(crate) async fn attach(
        session: Arc<Session>,
        to: AttachTo<'_>,
        target: &Arc<str>,
        watch: Duration,
    ) -> Result<Remote<I>, CallError> {
        let (channel, attached) = Channel::attach(session, to, I::SCHEMA.hash, target).await?;
        let differs = attached.schema_hash != I::SCHEMA.hash;
        let described = if differs { Some(describe(&channel, false).await?) } else { None };
        let session = &channel.session;
        let referred = attached.reference.map(|reference| RemoteActor {
            node: session.identity.node,
            incarnation: session.identity.incarnation,
            reference,
            schema_hash: attached.schema_hash,
            addresses: session.dialed.then(|| session.peer.clone()).into_iter().collect(),
        });
        let remote = Remote::new(channel, described.as_ref(), watch);
        Ok(Remote { actor: attached.actor, referred, ..remote })
    }

    /// Opens a channel to the actor of a reference, without a round trip. `None` if the schema of the
    /// actor is another one, or the peer accepts no further unanswered ATTACH now.
    pub(crate) fn attach_at_once(
        session: Arc<Session>,
        reference: &SentReference,
        watch: Duration,
    ) -> Option<Remote<I>> {
        if reference.schema_hash != I::SCHEMA.hash {
            return None;
        }
        let number = reference.reference;
        let target = target_of(&session.peer, number);
        let to = AttachTo::Reference(number);
        let (channel, answer) = Channel::attach_at_once(session, to, I::SCHEMA.hash, &target)?;
        let referred = RemoteActor {
            node: reference.node,
            incarnation: reference.incarnation,
            reference: number,
            schema_hash: reference.schema_hash,
            addresses: reference.addresses.clone(),
        };
        let remote = Remote::new(channel, None, watch);
        let actor = Some(ActorIdentity::of_reference(number));
        let held = HeldReferences::while_opening(answer);
        Some(Remote { actor, referred: Some(referred), held, ..remote })
    }

    /// The route over a channel that was opened to the actor which an answer leads to.
    pub(crate) fn piped(channel: Channel, answer: Box<dyn Any + Send + Sync>) -> Remote<I> {
        let owner = channel.session.owner.upgrade();
        let watch = owner.map_or(Duration::ZERO, |owner| owner.answer_spin());
        Remote { answer: Some(answer), ..Remote::new(channel, None, watch) }
    }

    /// This route, with the addresses at which a reference says that the node of its actor may be
    /// reached.
    pub(crate) fn with_addresses(mut self, addresses: &[Arc<str>]) -> Remote<I> {
        if let Some(referred) = &mut self.referred {
            referred.addresses = addresses.to_vec();
        }
        self
    }

    /// Holds a reference: one that another session has brought until the channel is open, because
    /// only then does the channel keep the actor alive.
    pub(crate) fn hold(self: &Arc<Self>, taken: TakenReference, runtime: &Handle) {
        let is_others = !taken.is_of(self.session());
        self.held.hold(taken);
        if !is_others {
            return;
        }
        match self.held.take_opening() {
            Opening::Open => self.held.keep_only(self.session()),
            Opening::Awaited => {}
            Opening::Unanswered(answer) => {
                let route = Arc::downgrade(self);
                runtime.spawn(async move {
                    // A route that was refused, or whose session has ended, needs no reference.
                    let _ = answer.await;
                    if let Some(route) = route.upgrade() {
                        route.held.opened();
                        route.held.keep_only(route.session());
                    }
                });
            }
        }
    }

    /// The route that a reference to the same actor has already; otherwise this one, which is shared
    /// from now on.
    pub(crate) fn shared(self, watch: Duration) -> Arc<Remote<I>> {
        let remote = Arc::new(self);
        let Some(actor) = remote.actor else { return remote };
        let key = RouteKey::new::<Remote<I>>(actor, "", watch);
        remote.session().share_route(key, &remote)
    }

    /// The actor, if the peer says which it is.
    pub(crate) fn actor(&self) -> Option<ActorIdentity> {
        self.actor
    }

    /// Creates a route. `described` is given if the peer's schema differs from ours.
    fn new(channel: Channel, described: Option<&Described>, watch: Duration) -> Remote<I> {
        let matches = described.map(|theirs| match_methods(I::SCHEMA, &theirs.details));
        if matches.is_none() {
            channel.name_methods(MethodNames::Same(I::SCHEMA));
        }
        Remote {
            run_owner: RunOwner::new(channel.is_fixed),
            is_alone: true,
            channel,
            actor: None,
            referred: None,
            held: HeldReferences::default(),
            matches,
            watch: SpinPolicy::new(watch),
            answer: None,
            interface: PhantomData,
        }
    }

    /// This route, as one of the routes of a reference that moves from route to route: its runs belong
    /// to `run_owner` if the codec permits, and the tickets of its waiting senders carry `tag`.
    /// Called before the first call.
    pub(crate) fn into_one_of(mut self, run_owner: RunOwner, tag: u16) -> Remote<I> {
        self.run_owner = run_owner.or_new(self.channel.is_fixed);
        self.is_alone = false;
        self.channel.tag_parked(tag);
        self
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.channel.session
    }

    /// Why no later call can reach the actor, if none can.
    pub(crate) fn ended(&self) -> Option<Arc<str>> {
        self.channel.ended()
    }

    /// True if arguments that have a fixed-width form are sent in that form.
    pub(crate) fn is_fixed(&self) -> bool {
        self.channel.is_fixed
    }

    /// The receiver's number of the call's method, or an error if the call cannot be sent there. Also
    /// the arguments, encoded, if they cannot be encoded where they are sent: an encoder of the
    /// program must run before anything is locked or claimed for the call, or the receiver has them
    /// in another order. Every way of sending calls this first.
    #[inline(always)]
    fn prepare(&self, message: &I::Message) -> Result<Prepared, Box<CallError>> {
        let ours = message.method();
        // A compile-time constant if all calls of the interface can be serialized.
        if !message.travels() {
            return Err(self.not_serializable(ours));
        }
        match &self.matches {
            // A compile-time constant too, if it is the same for all calls of the interface.
            None if message.is_plain() => Ok((ours, None)),
            None => Ok((ours, Some(self.encoded(message)?))),
            Some(matches) => self.matched(matches, message),
        }
    }

    #[inline(never)]
    fn encoded(&self, message: &I::Message) -> Result<Box<EncodedValue>, Box<CallError>> {
        let is_fixed = self.channel.is_fixed;
        EncodedValue::new(self.session(), |out| Arguments::encode(message, is_fixed, out))
            .map(Box::new)
            .map_err(|why| self.not_sendable(why))
    }

    /// The error of a call with a reference that cannot be sent.
    #[cold]
    fn not_sendable(&self, why: &str) -> Box<CallError> {
        let kind = CallErrorKind::NotSerializable;
        Box::new(CallError::new(kind, &self.channel.target).with_detail(why))
    }

    #[inline(never)]
    fn matched(
        &self,
        matches: &[MethodMatch],
        message: &I::Message,
    ) -> Result<Prepared, Box<CallError>> {
        let ours = message.method();
        let (kind, detail) = match matches.get((ours - FIRST_METHOD) as usize) {
            Some(MethodMatch::Same(number)) => {
                let encoded = (!message.is_plain()).then(|| self.encoded(message)).transpose()?;
                return Ok((*number, encoded));
            }
            Some(MethodMatch::Reordered(number, order)) => {
                let encoded = reordered(self.session(), message, order).map(Box::new);
                return Ok((*number, Some(encoded.map_err(|why| self.not_sendable(why))?)));
            }
            Some(MethodMatch::Refused(why)) => (CallErrorKind::BadArguments, &**why),
            _ => (CallErrorKind::NoSuchMethod, I::SCHEMA.method_name(ours)),
        };
        Err(Box::new(CallError::new(kind, &self.channel.target).with_detail(detail)))
    }

    #[cold]
    fn not_serializable(&self, method: u32) -> Box<CallError> {
        let method = I::SCHEMA.method_name(method);
        self.not_sendable(&format!("an argument or an item of `{method}` does not travel"))
    }
}
