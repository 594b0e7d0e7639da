//! The calls of one client without a session: the queues to the actors, and the asks that wait for
//! their answers.
//!
//! An actor sees a client as it sees a session: its calls wait, encoded, in an inbound queue, and
//! the answers go to the owner of that queue. A client has no credit: a call of an SP client waits
//! here until the queue has a place, and nothing more is read from its connection meanwhile; that of
//! a proxy is refused.

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};
use tokio::time::timeout;
use wigwag_actor::reply::cancelled::CancelledAsks;
use wigwag_actor::{
    CallErrorKind, Caller, Exported, InboundQueue, InboundQueueOwner, InlineRun, ItemSink,
    RemoteCallCounters, proceed_inline,
};
use wigwag_link::write;
use wigwag_net::clock;
use wigwag_wire::call::{CallExtra, REPLY};
use wigwag_wire::small::DynEncode;
use wigwag_wire::{Buffer, Reader, Time, varint};

use super::asks::{AskNumber, Asker, Asks, EncodedItems};
use super::failure::Failure;
use super::identity::ClientIdentity;
use super::items::FlowSink;
use super::rooms::{Room, Rooms};
use crate::limits::{
    PROXY_ACTOR_CALLS_MAX, PROXY_ANSWER_BYTES_MAX, SHARED_CALLS_BYTES_MIN, SP_ANSWER_BYTES_MAX,
    SP_CLIENT_ACTORS_MAX, SP_CLIENT_CALLS_MAX, SP_CLIENT_WINDOW_BYTES,
};
use crate::lock::lock;
use crate::session::references::scope;

/// The number of the channel in the encoded calls, which nothing reads.
const CHANNEL: u64 = 0;

thread_local! {
    /// Memory for the reply that is being encoded, which is empty.
    static REPLY_MEMORY: Cell<Buffer> = const { Cell::new(Buffer::new()) };
}

/// What a kind of client may do.
#[derive(Clone)]
pub(crate) struct Terms {
    /// Bytes of an answer.
    answer_bytes_max: usize,
    /// The room of each actor for calls that do not wait for a place; `None` for a client that waits.
    rooms: Option<Arc<Rooms>>,
}

impl Terms {
    pub(crate) const SP_CLIENT: Terms =
        Terms { answer_bytes_max: SP_ANSWER_BYTES_MAX, rooms: None };

    /// The terms of proxies that share `rooms`.
    pub(crate) fn proxy(rooms: &Arc<Rooms>) -> Terms {
        Terms { answer_bytes_max: PROXY_ANSWER_BYTES_MAX, rooms: Some(rooms.clone()) }
    }
}

/// The calls of one connection.
pub(crate) struct ClientCalls {
    /// By the numbers of the actors.
    queues: Mutex<HashMap<u64, Arc<ActorQueue>>>,
    asks: Arc<Asks>,
    /// Bytes of requests without an answer, and of tells that wait for their actors.
    window: Arc<Semaphore>,
    rejected: Arc<Rejected>,
    identity: ClientIdentity,
    terms: Terms,
}

/// The queue from this client to one actor.
struct ActorQueue {
    inbound: Mutex<Inbound>,
    owner: Arc<QueueOwner>,
}

struct Inbound {
    queue: Box<dyn InboundQueue>,
    /// Memory for the call that is being sent.
    frame: Buffer,
}

/// The client as the actor sees it.
struct QueueOwner {
    asks: Arc<Asks>,
    /// Places for calls that wait for the actor; closed when it has stopped.
    places: Semaphore,
    /// The actor's room for calls that do not wait for a place.
    room: Option<Arc<Room>>,
    /// What each of the waiting calls holds of the window, in their order.
    held: Mutex<VecDeque<Option<OwnedSemaphorePermit>>>,
    rejected: Arc<Rejected>,
    caller: Caller,
    /// The counters of the actor.
    counters: Arc<RemoteCallCounters>,
}

/// The tells of a connection that came to nothing: all are counted, the first is logged.
pub(crate) struct Rejected {
    peer: Arc<str>,
    all: Arc<AtomicU64>,
    is_logged: AtomicBool,
}

impl Rejected {
    /// Counts a tell.
    pub(crate) fn add(&self, why: &dyn fmt::Display) {
        self.all.fetch_add(1, Ordering::Relaxed);
        if !self.is_logged.swap(true, Ordering::Relaxed) {
            let peer = &self.peer;
            tracing::warn!(%peer, %why, "a tell of an SP client was dropped; more are only counted");
        }
    }
}

impl ClientCalls {
    /// `rejected_tells` counts for all clients.
    pub(crate) fn new(
        identity: ClientIdentity,
        rejected_tells: Arc<AtomicU64>,
        terms: Terms,
    ) -> ClientCalls {
        let peer = identity.caller.peer.clone();
        let is_logged = AtomicBool::new(false);
        let asks = Asks::new(terms.answer_bytes_max);
        let rejected = Arc::new(Rejected { peer, all: rejected_tells, is_logged });
        ClientCalls {
            queues: Mutex::default(),
            asks: Arc::new(asks),
            window: Arc::new(Semaphore::new(SP_CLIENT_WINDOW_BYTES)),
            rejected,
            identity,
            terms,
        }
    }

    /// The identity of the client.
    pub(crate) fn identity(&self) -> &ClientIdentity {
        &self.identity
    }

    /// Tells that came to nothing.
    pub(crate) fn rejected(&self) -> &Rejected {
        &self.rejected
    }

    /// Waits until the window has room for a request of this length.
    pub(crate) async fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let bytes = bytes.min(SP_CLIENT_WINDOW_BYTES) as u32;
        // The semaphore is never closed.
        self.window.clone().acquire_many_owned(bytes).await.ok()
    }

    /// Sends a tell when its actor has room for it; `held` is its part of the window.
    pub(crate) async fn tell(
        &self,
        actor: &Arc<dyn Exported>,
        (method, arguments): (u32, &[u8]),
        held: Option<OwnedSemaphorePermit>,
    ) -> Result<(), Failure> {
        let write = |frame: &mut Buffer| {
            write::tell(frame, CHANNEL, method, |out| out.extend(arguments));
        };
        self.queue(actor).send(write, held, false).await.map(drop)
    }

    /// Asks an actor, and waits for the answer, which is one MessagePack value, for at most `limit`.
    pub(crate) async fn ask(
        &self,
        actor: &Arc<dyn Exported>,
        call: (u32, &[u8]),
        limit: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let (sender, answer) = oneshot::channel();
        let open = self.asks.open(Asker::Value(sender));
        let mut asking = pin!(async {
            let extra = CallExtra::Deadline(clock::now() + limit);
            let write = |frame: &mut Buffer| put_ask(frame, extra, open.number, call);
            // An idle, quick actor answers before this goes on, and no task waits for another.
            let may_run = poll_fn(proceed_inline).await;
            if let Some(run) = self.queue(actor).send(write, None, may_run).await? {
                run.run_queued();
            }
            let dropped = || Failure::call(CallErrorKind::ReplyDropped, "");
            answer.await.unwrap_or_else(|_| Err(dropped()))
        });
        // An answer that is there at once needs no timer.
        if let Poll::Ready(answer) =
            poll_fn(|context| Poll::Ready(asking.as_mut().poll(context))).await
        {
            return answer;
        }
        timeout(limit, asking).await.unwrap_or_else(|_| {
            let text = format!("no answer within {limit:?}");
            Err(Failure::call(CallErrorKind::DeadlinePassed, text))
        })
    }

    /// Asks an actor for a stream, whose producer may be `ahead` items ahead.
    pub(crate) async fn stream(
        self: &Arc<ClientCalls>,
        actor: &Arc<dyn Exported>,
        call: (u32, &[u8]),
        ahead: usize,
    ) -> Result<OpenStream, Failure> {
        let items = Arc::new(EncodedItems::new());
        items.set_ahead(ahead);
        let number = self.asks.open(Asker::Items(items.clone())).keep();
        // Dropping it cancels the ask.
        let open = OpenStream { items, calls: self.clone(), number };
        let extra = CallExtra::Items(ahead as u64);
        let write = |frame: &mut Buffer| put_ask(frame, extra, number, call);
        self.queue(actor).send(write, None, false).await?;
        Ok(open)
    }

    /// The queue to an actor.
    fn queue(&self, actor: &Arc<dyn Exported>) -> Arc<ActorQueue> {
        let mut queues = lock(&self.queues);
        if queues.len() >= SP_CLIENT_ACTORS_MAX && !queues.contains_key(&actor.number()) {
            queues.retain(|_, queue| !lock(&queue.owner.held).is_empty());
        }
        if let Some(queue) = queues.get(&actor.number()) {
            return queue.clone();
        }
        let places = match &self.terms.rooms {
            None => SP_CLIENT_CALLS_MAX,
            Some(_) => PROXY_ACTOR_CALLS_MAX,
        };
        let bound = actor.remote_bound().map_or(places, |bound| bound.calls.max(1) as usize);
        let owner = Arc::new(QueueOwner {
            asks: self.asks.clone(),
            places: Semaphore::new(places.min(bound)),
            room: self.terms.rooms.as_ref().map(|rooms| rooms.of(actor)),
            held: Mutex::default(),
            rejected: self.rejected.clone(),
            caller: self.identity.caller.clone(),
            counters: actor.remote_counters(),
        });
        let inbound =
            Inbound { queue: actor.open_inbound_queue(owner.clone()), frame: Buffer::new() };
        let queue = Arc::new(ActorQueue { inbound: Mutex::new(inbound), owner });
        queues.insert(actor.number(), queue.clone());
        queue
    }
}

/// Writes an ask in the form in which it waits for the actor.
fn put_ask(
    frame: &mut Buffer,
    extra: CallExtra,
    ask: AskNumber,
    (method, arguments): (u32, &[u8]),
) {
    let put = |out: &mut Buffer| out.extend(arguments);
    write::ask_stored(frame, extra, CHANNEL, ask, method, put);
}

impl Drop for ClientCalls {
    fn drop(&mut self) {
        self.asks.cancelled.end();
    }
}

impl ActorQueue {
    /// Puts the call into the actor's queue when it has a place. If the actor is idle and `may_run`, it
    /// is returned, to be run.
    ///
    /// # Errors
    /// The actor has stopped, or has no place for a client that does not wait.
    async fn send(
        &self,
        write: impl FnOnce(&mut Buffer),
        held: Option<OwnedSemaphorePermit>,
        may_run: bool,
    ) -> Result<Option<InlineRun>, Failure> {
        let stopped = || Failure::call(CallErrorKind::ActorStopped, "");
        match &self.owner.room {
            None => self.owner.places.acquire().await.map_err(|_| stopped())?.forget(),
            Some(room) => {
                let place = self.owner.places.try_acquire().map_err(|error| match error {
                    TryAcquireError::Closed => stopped(),
                    TryAcquireError::NoPermits => Failure::call(CallErrorKind::Full, ""),
                })?;
                if !room.take() {
                    return Err(Failure::call(CallErrorKind::Full, ""));
                }
                place.forget();
            }
        }
        let mut inbound = lock(&self.inbound);
        let Inbound { queue, frame } = &mut *inbound;
        frame.clear();
        write(frame);
        lock(&self.owner.held).push_back(held);
        match frame.len() < SHARED_CALLS_BYTES_MIN {
            true => queue.accept(frame.as_slice(), 1, 1),
            false => queue.accept_shared(std::mem::take(frame).into_vec().into(), 1, 1),
        }
        if may_run {
            return Ok(queue.publish_inline());
        }
        queue.publish();
        Ok(None)
    }
}

/// A stream that is read. Dropping it tells the producer that it is not wanted any more.
pub(crate) struct OpenStream {
    pub(crate) items: Arc<EncodedItems>,
    calls: Arc<ClientCalls>,
    number: AskNumber,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.items.abandon();
        self.calls.asks.cancel(self.number);
    }
}

impl InboundQueueOwner for QueueOwner {
    fn freed(&self, units: u64) {
        let calls = units as usize;
        let mut held = lock(&self.held);
        let calls = calls.min(held.len());
        // Dropped without the lock, since what is given back may wake a task.
        let first = if calls == 1 { held.pop_front() } else { None };
        let freed: Vec<_> = if calls > 1 { held.drain(..calls).collect() } else { Vec::new() };
        drop(held);
        drop((first, freed));
        self.places.add_permits(calls);
        if let Some(room) = &self.room {
            room.free(calls);
        }
    }

    fn handled(&self, tells: u64, asks: u64) {
        self.counters.handled(tells, asks);
    }

    fn caller(&self) -> Option<Caller> {
        Some(self.caller.clone())
    }

    fn stopped(&self, _: &wigwag_actor::Reason) {
        self.places.close();
        let left = std::mem::take(&mut *lock(&self.held));
        if let Some(room) = &self.room {
            room.free(left.len());
        }
        drop(left);
    }

    fn open_items(&self, slot: u32, generation: u32, _limit: u64) -> Option<Box<dyn ItemSink>> {
        Some(Box::new(FlowSink(self.asks.items((slot, generation))?)))
    }

    fn joins(&self) -> bool {
        false
    }

    fn cancelled(&self) -> &CancelledAsks {
        &self.asks.cancelled
    }

    fn has_passed(&self, deadline: Time) -> bool {
        clock::now() >= deadline
    }

    fn replies(&self, frames: &mut Buffer, _count: u64) {
        let mut reader = Reader::new(frames.as_slice());
        // The frames are those that the actor has written, so nothing is left over.
        while let Some((number, value)) = next_reply(&mut reader) {
            self.asks.complete_with(number, value.to_vec());
        }
        frames.clear();
    }

    fn reply(&self, slot: u32, generation: u32, value: &dyn DynEncode) {
        let number = (slot, generation);
        // To begin without memory costs a tenth of a short call.
        let mut out = REPLY_MEMORY.take();
        if scope::encode_without(&mut out, |out| value.encode(out)) {
            let value = match out.len() < SHARED_CALLS_BYTES_MIN {
                true => {
                    let value = out.as_slice().to_vec();
                    out.clear();
                    REPLY_MEMORY.set(out);
                    value
                }
                false => out.into_vec(),
            };
            return self.asks.complete_with(number, value);
        }
        let why = "the reply has a reference to an actor, which only a node can hold";
        self.asks.complete(number, Err(Failure::call(CallErrorKind::NotSerializable, why)));
    }

    fn rejected(&self, _method: u32, kind: CallErrorKind, reason: &dyn fmt::Display) {
        self.counters.rejected(kind);
        self.rejected.add(&format_args!("{kind}: {reason}"));
    }

    fn fail(&self, slot: u32, generation: u32, kind: CallErrorKind, detail: &str) {
        self.counters.rejected(kind);
        self.asks.complete((slot, generation), Err(Failure::call(kind, detail)));
    }
}

/// The ask and the value of the next REPLY frame.
fn next_reply<'a>(reader: &mut Reader<'a>) -> Option<(AskNumber, &'a [u8])> {
    let kind = reader.u8().ok()?;
    debug_assert_eq!(kind, REPLY, "an owner that joins no answers gets no runs");
    let length = usize::try_from(varint::take(reader).ok()?).ok()?;
    let mut body = Reader::new(reader.take(length).ok()?);
    let slot = u32::try_from(varint::take(&mut body).ok()?).ok()?;
    let generation = u32::try_from(varint::take(&mut body).ok()?).ok()?;
    Some(((slot, generation), body.take_rest()))
}
