//! Typed references to actors of other nodes.

use std::any::Any;
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use wigwag_actor::lifecycle::end_watchers::{EndWatcher, NotLinked, NotWatched};
use wigwag_actor::limits::CANCELLED_MAX;
use wigwag_actor::reference::answers::Answers;
use wigwag_actor::reference::route::{Acknowledgement, RemoteLink, RemotePipeline};
use wigwag_actor::reference::run_writer::RunOwner;
use wigwag_actor::reference::value::RemoteActor;
use wigwag_actor::schema::FIRST_METHOD;
use wigwag_actor::{
    AskTiming, Attempt, CallError, CallErrorKind, Caller, Disconnection, Interface, ItemSource,
    Message, PipedChannel, Reason, Route, Slot, SmallReply, Ticket, turn,
};
use wigwag_net::clock;
use wigwag_spin::SpinPolicy;

use crate::replies::ring::Ring;
use crate::send::cancel::send_cancels;
use crate::send::channel::{AfterSend, Channel};
use crate::send::described::Described;
use crate::send::dynamic::describe;
use crate::send::matching::{MethodMatch, match_methods, reordered};
use crate::session::Session;
use crate::session::attach::routes::{ActorIdentity, RouteKey};
use crate::session::attach::{AttachTo, target_of};
use crate::session::buffers::RunHandout;
use crate::session::buffers::encoded::EncodedValue;
use crate::session::buffers::encoding::Arguments;
use crate::session::references::scope;
use crate::session::references::taken::{HeldReferences, TakenReference};
use crate::session::references::value::SentReference;
use crate::session::rejected::MethodNames;

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
    _answer: Option<Box<dyn Any + Send + Sync>>,
    interface: PhantomData<fn() -> I>,
}

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
        let channel = Channel::attach_at_once(session, to, I::SCHEMA.hash, &target)?;
        let referred = RemoteActor {
            node: reference.node,
            incarnation: reference.incarnation,
            reference: number,
            schema_hash: reference.schema_hash,
            addresses: reference.addresses.clone(),
        };
        let remote = Remote::new(channel, None, watch);
        let actor = Some(ActorIdentity::of_reference(number));
        Some(Remote { actor, referred: Some(referred), ..remote })
    }

    /// The route over a channel that was opened to the actor which an answer leads to.
    pub(crate) fn piped(channel: Channel, answer: Box<dyn Any + Send + Sync>) -> Remote<I> {
        let owner = channel.session.owner.upgrade();
        let watch = owner.map_or(Duration::ZERO, |owner| owner.answer_spin());
        Remote { _answer: Some(answer), ..Remote::new(channel, None, watch) }
    }

    /// The same, where a reference to the actor says at which addresses its node may be reached.
    pub(crate) fn with_addresses(mut self, addresses: &[Arc<str>]) -> Remote<I> {
        if let Some(referred) = &mut self.referred {
            referred.addresses = addresses.to_vec();
        }
        self
    }

    /// Holds a reference that has come over the session of this route, or lets go one that another
    /// session has brought.
    pub(crate) fn hold(&self, taken: TakenReference) {
        self.held.hold(taken);
        self.held.keep_only(self.session());
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
            _answer: None,
            interface: PhantomData,
        }
    }

    /// The same, as one of the routes of a reference that moves from route to route: its runs belong
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

    /// Opens a pipeline of up to `most` asks at once, whose runs belong to `run_owner`; also returns
    /// the number that there is room for.
    pub(crate) fn open_ring(
        self: Arc<Remote<I>>,
        most: usize,
        run_owner: RunOwner,
    ) -> Result<(RingPipeline<I>, usize), CallError> {
        let session = &self.channel.session;
        let Some(ring) = session.asks.open_ring(most) else {
            let text = "all places for asks of this session are taken";
            let error = CallError::new(CallErrorKind::Overloaded, &self.channel.target);
            let error = error.with_detail(text);
            return Err(match session.disconnection() {
                Some(gone) => error.while_disconnected(gone),
                None => error,
            });
        };
        if let Some(ended) = &session.sending().ended {
            ring.end(&(CallErrorKind::NotDelivered, ended.why.clone()));
        }
        ring.set_origin(self.channel.origin);
        let most = most.min(ring.slots() as usize);
        let run_owner = run_owner.or_new(self.channel.is_fixed);
        Ok((RingPipeline { remote: self, ring, run_owner }, most))
    }

    /// The receiver's number of the call's method, or an error if the call cannot be sent there. Also
    /// the arguments, encoded, if they cannot be encoded where they are sent: an encoder of the
    /// program must run before anything is locked or claimed for the call, or the receiver has them
    /// in another order. Every way of sending calls this first.
    #[inline]
    fn prepare(&self, message: &I::Message) -> Result<(u32, Option<EncodedValue>), CallError> {
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

    fn encoded(&self, message: &I::Message) -> Result<EncodedValue, CallError> {
        let is_fixed = self.channel.is_fixed;
        EncodedValue::new(self.session(), |out| Arguments::encode(message, is_fixed, out))
            .map_err(|why| self.not_sendable(why))
    }

    /// The error of a call with a reference that cannot be sent.
    #[cold]
    fn not_sendable(&self, why: &str) -> CallError {
        CallError::new(CallErrorKind::NotSerializable, &self.channel.target).with_detail(why)
    }

    fn matched(
        &self,
        matches: &[MethodMatch],
        message: &I::Message,
    ) -> Result<(u32, Option<EncodedValue>), CallError> {
        let ours = message.method();
        let (kind, detail) = match matches.get((ours - FIRST_METHOD) as usize) {
            Some(MethodMatch::Same(number)) => {
                let encoded = (!message.is_plain()).then(|| self.encoded(message)).transpose()?;
                return Ok((*number, encoded));
            }
            Some(MethodMatch::Reordered(number, order)) => {
                let encoded = reordered(self.session(), message, order);
                return Ok((*number, Some(encoded.map_err(|why| self.not_sendable(why))?)));
            }
            Some(MethodMatch::Refused(why)) => (CallErrorKind::BadArguments, &**why),
            _ => (CallErrorKind::NoSuchMethod, I::SCHEMA.method_name(ours)),
        };
        Err(CallError::new(kind, &self.channel.target).with_detail(detail))
    }

    #[cold]
    fn not_serializable(&self, method: u32) -> CallError {
        let text = format!(
            "an argument or an item of `{}` does not travel",
            I::SCHEMA.method_name(method)
        );
        CallError::new(CallErrorKind::NotSerializable, &self.channel.target).with_detail(&text)
    }
}

/// The asks of a pipeline to a remote actor.
pub(crate) struct RingPipeline<I> {
    remote: Arc<Remote<I>>,
    ring: Arc<Ring>,
    run_owner: RunOwner,
}

impl<I> RingPipeline<I> {
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.remote.channel.session
    }
}

impl<I: Interface> RemotePipeline<I> for RingPipeline<I> {
    #[inline]
    fn ask(
        &mut self,
        next: u64,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        let Some(call) = message.as_ref() else {
            return Attempt::Full;
        };
        let (number, encoded) = match self.remote.prepare(call) {
            Ok(found) => found,
            Err(error) => return Attempt::Failed(Box::new(error)),
        };
        self.ring.set_sent(next + 1);
        let most = self.ring.slots_to_end(next);
        let handout = RunHandout {
            run_owner: self.run_owner,
            is_of_one_route: true,
            method: call.method(),
            has_same_numbers: self.remote.matches.is_none(),
            ring: Some((&self.ring, next + 1, most)),
        };
        let (asker, then) = (Some(self.ring.asker(next)), AfterSend::Continue);
        let channel = &self.remote.channel;
        let sent = match &encoded {
            None => channel.send(Some(&handout), asker, (number, call), ticket, waker, then),
            Some(encoded) => {
                let call = (number, &encoded.arguments());
                channel.send(None, asker, call, ticket, waker, then)
            }
        };
        if let Attempt::Sent(()) = sent {
            *message = None;
            encoded.into_iter().for_each(EncodedValue::sent);
        } else {
            self.ring.set_sent(next);
        }
        sent
    }

    fn poll_answers(
        &mut self,
        next: u64,
        into: &mut Answers,
        waker: &Waker,
    ) -> Poll<Result<(), CallError>> {
        let Poll::Ready(taken) = self.ring.poll(next, into, waker) else {
            if !turn::is_open() {
                self.remote.channel.session.flush();
            }
            return Poll::Pending;
        };
        Poll::Ready(taken.map_err(|(kind, why)| {
            CallError::new(kind, &self.remote.channel.target).with_detail(&why)
        }))
    }

    fn leave(&mut self, asked: u64) {
        // Asks that a turn still holds count too: their answers will arrive.
        self.ring.set_sent(asked);
        let session = &self.remote.channel.session;
        let open = self.ring.abandon();
        if open.is_empty() {
            return session.close_ring(&self.ring);
        }
        // Those before the last ones have most likely begun.
        let first = open.start.max(open.end.saturating_sub(CANCELLED_MAX as u64));
        send_cancels(session, (first..open.end).map(|number| self.ring.asker(number)));
    }

    fn reading(&self, value: &[u8], read: &mut dyn FnMut() -> bool) {
        scope::read_from(self.session(), value, read);
    }

    fn run_owner(&self) -> RunOwner {
        self.run_owner
    }
}

impl<I: Interface> Route<I> for Remote<I> {
    #[inline]
    fn tell(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        let Some(call) = message.as_ref() else {
            return Attempt::Sent(());
        };
        let (number, encoded) = match self.prepare(call) {
            Ok(found) => found,
            Err(error) => return Attempt::Failed(Box::new(error)),
        };
        let (run_owner, is_of_one_route) = (self.run_owner, self.is_alone);
        let method = call.method();
        let has_same_numbers = self.matches.is_none();
        let handout =
            RunHandout { run_owner, is_of_one_route, method, has_same_numbers, ring: None };
        let (then, handout) = (AfterSend::Continue, Some(&handout));
        let sent = match &encoded {
            None => self.channel.send(handout, None, (number, call), ticket, waker, then),
            Some(encoded) => {
                let call = (number, &encoded.arguments());
                self.channel.send(None, None, call, ticket, waker, then)
            }
        };
        if let Attempt::Sent(()) = sent {
            *message = None;
            encoded.into_iter().for_each(EncodedValue::sent);
        }
        sent
    }

    fn tell_acknowledged(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<Acknowledgement> {
        let Some(call) = message.as_ref() else {
            return Attempt::Full;
        };
        let (number, encoded) = match self.prepare(call) {
            Ok(found) => found,
            Err(error) => return Attempt::Failed(Box::new(error)),
        };
        let sent = match &encoded {
            None => self.channel.send_numbered((number, call), ticket, waker),
            Some(encoded) => {
                self.channel.send_numbered((number, &encoded.arguments()), ticket, waker)
            }
        };
        sent.map(|published| {
            *message = None;
            encoded.into_iter().for_each(EncodedValue::sent);
            let (session, target) = (self.session().clone(), self.channel.target.clone());
            let acknowledged: Acknowledgement = Box::pin(async move {
                let outcome = session.acknowledged_call(published).await;
                outcome.map_err(|(kind, why)| CallError::new(kind, &target).with_detail(&why))
            });
            acknowledged
        })
    }

    #[inline]
    fn ask(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        timing: AskTiming,
    ) -> Attempt<Slot> {
        let Some(call) = message.as_ref() else {
            return Attempt::Full;
        };
        let (number, encoded) = match self.prepare(call) {
            Ok(found) => found,
            Err(error) => return Attempt::Failed(Box::new(error)),
        };
        let sent = match &encoded {
            None => self.channel.ask((number, call), ticket, waker, timing),
            Some(encoded) => {
                self.channel.ask((number, &encoded.arguments()), ticket, waker, timing)
            }
        };
        if let Attempt::Sent(_) = sent {
            *message = None;
            encoded.into_iter().for_each(EncodedValue::sent);
        }
        sent
    }

    fn ask_piped(
        &self,
        message: &mut Option<I::Message>,
        name: &Arc<str>,
        schema_hash: u64,
    ) -> Option<PipedChannel> {
        let call = message.as_ref()?;
        let (number, encoded) = self.prepare(call).ok()?;
        let sent = match &encoded {
            None => self.channel.ask_piped((number, call), name, schema_hash),
            Some(encoded) => {
                self.channel.ask_piped((number, &encoded.arguments()), name, schema_hash)
            }
        };
        let (slot, channel) = sent?;
        *message = None;
        encoded.into_iter().for_each(EncodedValue::sent);
        Some(PipedChannel { slot, channel: Box::new(channel) })
    }

    fn stream(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        ahead: Option<usize>,
    ) -> Attempt<Box<dyn ItemSource>> {
        let Some(call) = message.as_ref() else {
            return Attempt::Full;
        };
        let (number, encoded) = match self.prepare(call) {
            Ok(found) => found,
            Err(error) => return Attempt::Failed(Box::new(error)),
        };
        let sent = match &encoded {
            None => self.channel.stream((number, call), ticket, waker, ahead),
            Some(encoded) => {
                self.channel.stream((number, &encoded.arguments()), ticket, waker, ahead)
            }
        };
        sent.map(|items| {
            *message = None;
            encoded.into_iter().for_each(EncodedValue::sent);
            Box::new(items) as Box<dyn ItemSource>
        })
    }

    #[inline]
    fn take_reply(&self, slot: Slot, into: &mut SmallReply) -> Option<usize> {
        self.channel.take_reply(slot, into)
    }

    fn poll_reply(&self, slot: Slot, waker: &Waker) -> Poll<Result<Bytes, CallError>> {
        self.channel.poll_reply(slot, waker)
    }

    fn begin_wait(&self, slot: Slot, limit: Duration) -> bool {
        self.session().begin_wait(slot.index(), limit)
    }

    fn has_waited(&self, slot: Slot) -> bool {
        self.session().asks.has_waited(slot.index(), clock::now())
    }

    fn pipeline(
        self: Arc<Self>,
        most: usize,
    ) -> Result<(Box<dyn RemotePipeline<I>>, usize), CallError> {
        let run_owner = RunOwner::new(self.channel.is_fixed);
        let (asks, most) = self.open_ring(most, run_owner)?;
        Ok((Box::new(asks), most))
    }

    fn cancel(&self, slot: Slot) {
        self.channel.cancel(slot);
    }

    fn disown(&self, slot: Slot) {
        self.channel.disown(slot);
    }

    fn leave(&self, ticket: &mut Ticket) {
        self.channel.session.stop_waiting(self.channel.number, ticket);
    }

    fn target(&self) -> &Arc<str> {
        &self.channel.target
    }

    fn has_ended(&self) -> bool {
        self.ended().is_some()
    }

    fn watch_end(&self, number: u64, watcher: EndWatcher) -> Result<(), NotWatched> {
        self.channel.watch_end(number, watcher)
    }

    fn end_reason(&self) -> Reason {
        self.channel.end_reason()
    }

    fn unwatch_end(&self, number: u64) {
        self.channel.unwatch_end(number);
    }

    fn link(&self, link: RemoteLink) -> Result<(), NotLinked> {
        self.session().link(self.channel.origin, link)
    }

    fn unlink(&self, number: u64, reason: Option<&Reason>) {
        self.session().unlink(self.channel.origin, number, reason);
    }

    fn peer(&self) -> Option<Caller> {
        Some(self.session().caller())
    }

    fn waiting(&self) -> usize {
        self.channel.waiting()
    }

    fn disconnection(&self) -> Option<Disconnection> {
        self.channel.session.disconnection()
    }

    fn reading(&self, value: &[u8], read: &mut dyn FnMut() -> bool) {
        scope::read_from(self.session(), value, read);
    }

    fn remote_actor(&self) -> Option<RemoteActor> {
        self.referred.clone()
    }

    fn run_owner(&self) -> RunOwner {
        self.run_owner
    }

    fn spin_policy(&self) -> &SpinPolicy {
        &self.watch
    }
}
