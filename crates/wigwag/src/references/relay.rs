//! Relays: the calls of a peer to an actor of a third node, which this node has given it a reference
//! to.
//!
//! A relay is an exported actor without an actor: what arrives for it is decoded, because it may hold
//! references, and sent on through this node's own reference. The calls of a channel go on one after
//! the other, so they stay in order; each holds its credit until it has left. Replies pass through as
//! they are.

use std::any::Any;
use std::future::poll_fn;
use std::num::NonZeroU32;
use std::sync::Arc;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use wigwag_actor::lifecycle::handle::fresh_number;
use wigwag_actor::schema::Schema;
use wigwag_actor::{
    ActorCounters, AskTiming, Attempt, CallError, CallErrorKind, Exported, InboundQueue,
    InboundQueueOwner, Interface, Message, Reason, Ref, RemoteBound, RemoteCallCounters, Route,
    Slot, Ticket,
};
use wigwag_net::clock;
use wigwag_wire::call::{CallExtra, Calls};
use wigwag_wire::{Buffer, DecodeError, Encode, Reader};

use crate::session::references::lent::LentActor;
use crate::session::references::scope;
use crate::session::references::taken::TakenReference;
use crate::session::references::value::SentReference;
use crate::streams::value::numbers_in as streams_in;

/// The relay to an actor of another node.
pub(crate) struct Relay<I: Interface> {
    number: u64,
    route: Arc<dyn Route<I>>,
    reference: Ref<I>,
}

impl<I: Interface> Relay<I> {
    /// The relay to the actor of a reference; `None` for an actor of this process.
    pub(super) fn to(reference: &Ref<I>) -> Option<Arc<dyn Exported>> {
        let (number, route) = (fresh_number(), reference.route()?);
        Some(Arc::new(Relay { number, route, reference: reference.clone() }))
    }
}

impl<I: Interface> Exported for Relay<I> {
    fn number(&self) -> u64 {
        self.number
    }

    fn reference(&self) -> Box<dyn Any + Send + Sync> {
        Box::new(self.reference.clone())
    }

    fn schema(&self) -> &'static Schema {
        I::SCHEMA
    }

    fn open_inbound_queue(&self, owner: Arc<dyn InboundQueueOwner>) -> Box<dyn InboundQueue> {
        let (calls, waiting) = mpsc::unbounded_channel();
        let (route, told) = (self.route.clone(), owner.clone());
        let number = fresh_number();
        let watcher = Box::new(move |reason: &Reason| told.stopped(reason));
        if route.watch_end(number, watcher).is_err() {
            owner.stopped(&route.end_reason());
        }
        // Also then: calls that wait for an answer which leads here each fail with an error.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                pass_on(&route, waiting, &owner).await;
                route.unwatch_end(number);
            });
        }
        Box::new(RelayQueue { calls, staged: Vec::new() })
    }

    fn remote_bound(&self) -> Option<RemoteBound> {
        None
    }

    /// The node of the actor counts; nobody reads those of a relay.
    fn remote_counters(&self) -> Arc<RemoteCallCounters> {
        Arc::default()
    }

    fn counters(&self) -> ActorCounters {
        ActorCounters::default()
    }

    fn is_stopped(&self) -> bool {
        self.route.has_ended()
    }
}

/// A call that waits to be passed on; the credit of its channel bounds how many there are.
struct RelayedCall {
    method: u32,
    asker: Option<(u32, u32)>,
    extra: Option<CallExtra>,
    arguments: Bytes,
    units: u64,
}

/// The inbound queue of one channel of a relay.
struct RelayQueue {
    calls: mpsc::UnboundedSender<RelayedCall>,
    staged: Vec<RelayedCall>,
}

impl InboundQueue for RelayQueue {
    fn accept(&mut self, frames: &[u8], calls: usize, units: u64) {
        self.accept_shared(Bytes::copy_from_slice(frames), calls, units);
    }

    fn accept_shared(&mut self, frames: Bytes, _calls: usize, units: u64) {
        let first = self.staged.len();
        self.staged.extend(Calls::new(&frames).map(|call| RelayedCall {
            method: call.method,
            asker: call.asker,
            extra: call.extra,
            arguments: frames.slice_ref(call.arguments),
            units: 0,
        }));
        // Given back with the last of them.
        if let Some(last) = self.staged[first..].last_mut() {
            last.units = units;
        }
    }

    fn publish(&mut self) {
        for call in self.staged.drain(..) {
            // A task that has ended has told that the actor has.
            let _ = self.calls.send(call);
        }
    }
}

/// Passes on calls until their channel is closed, and then waits for the replies that are due.
async fn pass_on<I: Interface>(
    route: &Arc<dyn Route<I>>,
    mut waiting: mpsc::UnboundedReceiver<RelayedCall>,
    owner: &Arc<dyn InboundQueueOwner>,
) {
    let mut replies = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            Some(_) = replies.join_next() => {}
            call = waiting.recv() => {
                let Some(call) = call else { break };
                let (asker, units) = (call.asker, call.units);
                match begin(&**route, call, owner).await {
                    Ok(Some(slot)) => {
                        let asker = asker.unwrap_or_default();
                        replies.spawn(reply(route.clone(), slot, asker, owner.clone()));
                    }
                    Ok(None) => owner.handled(u64::from(asker.is_none()), 0),
                    Err(error) => fail(owner, asker, &error),
                }
                owner.freed(units);
            }
        }
    }
    while replies.join_next().await.is_some() {}
}

fn fail(owner: &Arc<dyn InboundQueueOwner>, asker: Option<(u32, u32)>, error: &CallError) {
    let detail = error.detail.as_deref().unwrap_or_default();
    match asker {
        Some((slot, generation)) => {
            owner.fail(slot, generation, error.kind, detail);
            owner.handled(0, 1);
        }
        None => {
            owner.rejected(0, error.kind, &detail);
            owner.handled(1, 0);
        }
    }
}

/// Sends a call on; the slot of an ask.
async fn begin<I: Interface>(
    route: &dyn Route<I>,
    call: RelayedCall,
    owner: &Arc<dyn InboundQueueOwner>,
) -> Result<Option<Slot>, CallError> {
    if call.asker.is_some_and(|asker| owner.cancelled().contains(asker)) {
        owner.discarded(&call.arguments, CallErrorKind::Cancelled);
        return Err(CallError::new(CallErrorKind::Cancelled, route.target()));
    }
    if let Some(CallExtra::Items(_)) = call.extra {
        owner.discarded(&call.arguments, CallErrorKind::NotSerializable);
        let error = CallError::new(CallErrorKind::NotSerializable, route.target());
        return Err(error.with_detail("streams do not go through a node that relays"));
    }
    let mut message = Some(decode::<I>(route, &call, owner)?);
    let mut parked = ParkedCall { route, ticket: Ticket::default() };
    let within = match call.extra {
        Some(CallExtra::Deadline(deadline)) => Some(deadline.since(clock::now()).as_millis()),
        _ => None,
    };
    let within_ms = within.and_then(|ms| NonZeroU32::new(u32::try_from(ms).unwrap_or(u32::MAX)));
    let timing = AskTiming { now: false, within_ms };
    poll_fn(|context| {
        let (waker, ticket) = (Some(context.waker()), &mut parked.ticket);
        let sent = match call.asker {
            None => route.tell(&mut message, ticket, waker).map(|()| None),
            Some(_) => route.ask(&mut message, ticket, waker, timing).map(Some),
        };
        match sent {
            Attempt::Sent(slot) => std::task::Poll::Ready(Ok(slot)),
            Attempt::Full => std::task::Poll::Pending,
            Attempt::Failed(error) => std::task::Poll::Ready(Err(*error)),
        }
    })
    .await
}

fn decode<I: Interface>(
    route: &dyn Route<I>,
    call: &RelayedCall,
    owner: &Arc<dyn InboundQueueOwner>,
) -> Result<I::Message, CallError> {
    let mut read = Err(DecodeError::NeedsSession);
    owner.reading(&call.arguments, &mut || {
        let mut reader = Reader::of_owner(&call.arguments, &call.arguments);
        read = I::Message::decode(call.method, &mut reader);
        matches!(read, Ok(Some(_)))
    });
    let error = |kind, detail: &str| CallError::new(kind, route.target()).with_detail(detail);
    match read {
        Ok(Some(message)) => Ok(message),
        Ok(None) => Err(error(CallErrorKind::NoSuchMethod, "")),
        Err(why) => Err(error(CallErrorKind::BadArguments, &why.to_string())),
    }
}

/// Passes the reply to an ask back.
async fn reply<I: Interface>(
    route: Arc<dyn Route<I>>,
    slot: Slot,
    (asker, generation): (u32, u32),
    owner: Arc<dyn InboundQueueOwner>,
) {
    let mut asked = PendingReply { route: &*route, slot: Some(slot) };
    let reply = poll_fn(|context| route.poll_reply(slot, context.waker())).await;
    asked.slot = None;
    match reply {
        Ok(value) => {
            let (lent, has_streams) = take_references(&*route, &value);
            owner.reply(asker, generation, &RelayedReply { value, lent, has_streams });
            owner.handled(0, 1);
        }
        Err(error) => fail(&owner, Some((asker, generation)), &error),
    }
}

/// Takes the references in a reply, which is sent on and not read. Its streams, if it has some, end.
///
/// One to an actor of this node is lent by this node itself. If it were held for as long as the asker
/// holds it, a node that asks itself through this one would keep it for ever: its reference would
/// keep the one that it has answered with, and the other way round.
fn take_references<I: Interface>(
    route: &dyn Route<I>,
    value: &[u8],
) -> (Vec<(u128, LentActor)>, bool) {
    let (numbers, streams) = (SentReference::numbers_in(value), streams_in(value));
    let mut lent = Vec::with_capacity(numbers.len());
    if !numbers.is_empty() || !streams.is_empty() {
        route.reading(value, &mut || {
            for number in &streams {
                if let Ok(session) = scope::read_stream(*number) {
                    session.refuse_streams(&[*number], CallErrorKind::NotSerializable, RELAYED);
                }
            }
            for number in &numbers {
                let Some(session) = scope::read(*number) else { continue };
                let Ok(reference) = TakenReference::new(&session, *number) else { continue };
                lent.push(match session.references.table().find(*number) {
                    Some(actor) => (*number, LentActor::Own(actor)),
                    None => (*number, LentActor::Unread { _taken: Arc::new(reference) }),
                });
            }
            true
        });
    }
    (lent, !streams.is_empty())
}

const RELAYED: &str = "streams in a reply do not go through a node that relays";

/// A reply as it came, with its references lent on.
struct RelayedReply {
    value: Bytes,
    lent: Vec<(u128, LentActor)>,
    /// It has streams, with which it cannot be sent on: their items are not read.
    has_streams: bool,
}

impl Encode for RelayedReply {
    fn encode(&self, out: &mut Buffer) {
        for (number, actor) in &self.lent {
            scope::encode(|session| {
                session.lend(*number, actor.clone())?;
                Ok(SentReference::numbered(*number))
            });
        }
        if self.has_streams {
            scope::encode_stream(|_| Err(RELAYED));
        }
        out.extend(&self.value);
    }
}

/// A sender's place in the queue of a route, left on drop.
struct ParkedCall<'a, I: Interface> {
    route: &'a dyn Route<I>,
    ticket: Ticket,
}

impl<I: Interface> Drop for ParkedCall<'_, I> {
    fn drop(&mut self) {
        if self.ticket.is_parked() {
            self.route.leave(&mut self.ticket);
        }
    }
}

/// An ask that is cancelled on drop.
struct PendingReply<'a, I: Interface> {
    route: &'a dyn Route<I>,
    slot: Option<Slot>,
}

impl<I: Interface> Drop for PendingReply<'_, I> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.route.cancel(slot);
        }
    }
}

#[cfg(test)]
mod tests;
