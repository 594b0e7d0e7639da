//! The calls of one client without a session: its queues to the actors (`actor_queue.rs`), and the asks
//! that wait for their answers.
//!
//! An actor sees a client as it sees a session: its calls wait, encoded, in an inbound queue, and
//! the answers go to the owner of that queue. A client has no credit: a call of an SP client waits
//! here until the queue has a place, and nothing more is read from its connection meanwhile; that of
//! a proxy is refused.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use rustc_hash::FxHashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wigwag_actor::{CallErrorKind, Exported, proceed_inline};
use wigwag_link::write;
use wigwag_net::clock;
use wigwag_wire::Buffer;
use wigwag_wire::call::CallExtra;

use super::actor_queue::{ActorQueue, Rejected};
use super::asks::{AskNumber, Asker, Asks, EncodedItems};
use super::failure::Failure;
use super::identity::ClientIdentity;
use super::rooms::Rooms;
use crate::limits::{
    PROXY_ACTOR_CALLS_MAX, PROXY_ANSWER_BYTES_MAX, SP_ANSWER_BYTES_MAX, SP_CLIENT_ACTORS_MAX,
    SP_CLIENT_CALLS_MAX, SP_CLIENT_WINDOW_BYTES,
};
use crate::lock::lock;

/// The number of the channel in the encoded calls, which nothing reads.
const CHANNEL: u64 = 0;

/// The terms under which clients of one kind call.
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
    queues: Mutex<FxHashMap<u64, Arc<ActorQueue>>>,
    asks: Arc<Asks>,
    /// Bytes of requests without an answer, and of tells that wait for their actors.
    window: Arc<Semaphore>,
    rejected: Arc<Rejected>,
    identity: ClientIdentity,
    terms: Terms,
}

impl ClientCalls {
    /// `rejected_tells` counts for all clients.
    pub(crate) fn new(
        identity: ClientIdentity,
        rejected_tells: Arc<AtomicU64>,
        terms: Terms,
    ) -> ClientCalls {
        let peer = identity.caller.peer.clone();
        let asks = Asks::new(terms.answer_bytes_max);
        let rejected = Arc::new(Rejected::new(peer, rejected_tells));
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
        self.queue(actor).send(write, held).await
    }

    /// Asks an actor, and waits for the answer, which is one MessagePack value, for at most `limit`.
    pub(crate) async fn ask(
        &self,
        actor: &Arc<dyn Exported>,
        call: (u32, &[u8]),
        limit: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let open = self.asks.open(Asker::value());
        let mut asking = pin!(async {
            let queue = self.queue(actor);
            // An idle, quick actor answers before this goes on, and no task waits for another.
            let may_run = poll_fn(proceed_inline).await && !limit.is_zero();
            if !may_run || !queue.ask_inline(open.number, call) {
                let extra = CallExtra::Deadline(clock::now() + limit);
                let write = |frame: &mut Buffer| put_ask(frame, extra, open.number, call);
                queue.send(write, None).await?;
            }
            open.answer().await
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
        self.queue(actor).send(write, None).await?;
        Ok(open)
    }

    /// The queue to an actor.
    fn queue(&self, actor: &Arc<dyn Exported>) -> Arc<ActorQueue> {
        let mut queues = lock(&self.queues);
        if queues.len() >= SP_CLIENT_ACTORS_MAX && !queues.contains_key(&actor.number()) {
            queues.retain(|_, queue| queue.is_used());
        }
        if let Some(queue) = queues.get(&actor.number()) {
            return queue.clone();
        }
        let (places, room) = match &self.terms.rooms {
            None => (SP_CLIENT_CALLS_MAX, None),
            Some(rooms) => (PROXY_ACTOR_CALLS_MAX, Some(rooms.of(actor))),
        };
        let (asks, rejected) = (self.asks.clone(), self.rejected.clone());
        let caller = self.identity.caller.clone();
        let queue = Arc::new(ActorQueue::open(actor, asks, places, room, rejected, caller));
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
