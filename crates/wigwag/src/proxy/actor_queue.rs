//! The queue from one client to one actor, as an actor has one from each session.

use std::cell::Cell;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};
use wigwag_actor::reply::cancelled::CancelledAsks;
use wigwag_actor::{
    CallErrorKind, Caller, Exported, InboundQueue, InboundQueueOwner, InlineAsks, ItemSink,
    RemoteCallCounters,
};
use wigwag_net::clock;
use wigwag_wire::call::{EncodedCall, REPLY};
use wigwag_wire::small::DynEncode;
use wigwag_wire::{Buffer, Reader, Time, varint};

use super::asks::{AskNumber, Asks};
use super::failure::Failure;
use super::items::FlowSink;
use super::rooms::Room;
use crate::limits::SHARED_CALLS_BYTES_MIN;
use crate::lock::lock;
use crate::session::references::scope;

thread_local! {
    /// Memory for the call or the reply that is being encoded, which is empty.
    static MEMORY: Cell<Buffer> = const { Cell::new(Buffer::new()) };
}

/// The queue from this client to one actor.
pub(super) struct ActorQueue {
    inbound: Mutex<Box<dyn InboundQueue>>,
    inline_asks: Option<Box<dyn InlineAsks>>,
    owner: Arc<QueueOwner>,
}

/// The client as the actor sees it.
struct QueueOwner {
    asks: Arc<Asks>,
    /// Places for calls that wait for the actor; closed when it has stopped.
    places: Semaphore,
    /// The actor's room for calls that do not wait for a place.
    room: Option<Arc<Room>>,
    /// The part of the window that each of the waiting calls holds, in their order.
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
    /// `all` counts for all clients.
    pub(super) fn new(peer: Arc<str>, all: Arc<AtomicU64>) -> Rejected {
        Rejected { peer, all, is_logged: AtomicBool::new(false) }
    }

    /// Counts a tell.
    pub(crate) fn add(&self, why: &dyn fmt::Display) {
        self.all.fetch_add(1, Ordering::Relaxed);
        if !self.is_logged.swap(true, Ordering::Relaxed) {
            let peer = &self.peer;
            tracing::warn!(%peer, %why, "a tell of an SP client was dropped; more are only counted");
        }
    }
}

impl ActorQueue {
    /// The queue to `actor`, with so many places for calls at most. A client that does not wait for a
    /// place has the actor's `room`.
    pub(super) fn open(
        actor: &Arc<dyn Exported>,
        asks: Arc<Asks>,
        places: usize,
        room: Option<Arc<Room>>,
        rejected: Arc<Rejected>,
        caller: Caller,
    ) -> ActorQueue {
        let bound = actor.remote_bound().map_or(places, |bound| bound.calls.max(1) as usize);
        let owner = Arc::new(QueueOwner {
            asks,
            places: Semaphore::new(places.min(bound)),
            room,
            held: Mutex::default(),
            rejected,
            caller,
            counters: actor.remote_counters(),
        });
        let inbound = actor.open_inbound_queue(owner.clone());
        let inline_asks = inbound.inline_asks();
        ActorQueue { inbound: Mutex::new(inbound), inline_asks, owner }
    }

    /// True while calls wait for the actor.
    pub(super) fn is_used(&self) -> bool {
        !lock(&self.owner.held).is_empty()
    }

    /// Runs an idle, quick actor with an ask. False if the ask is to be sent.
    ///
    /// The call is neither written as a frame nor put into a queue. Measured gain: the ask of a request
    /// to the HTTP gateway takes 2,400 instructions, of 16,400 for the whole answer; by way of the
    /// queue it takes 6,000.
    pub(super) fn ask_inline(&self, ask: AskNumber, (method, arguments): (u32, &[u8])) -> bool {
        let Some(inline_asks) = &self.inline_asks else { return false };
        let (asker, extra, trace) = (Some(ask), None, None);
        inline_asks.ask(&EncodedCall { method, asker, arguments, extra, trace })
    }

    /// Puts the call into the actor's queue when it has a place.
    ///
    /// # Errors
    /// The actor has stopped, or has no place for a client that does not wait.
    pub(super) async fn send(
        &self,
        write: impl FnOnce(&mut Buffer),
        held: Option<OwnedSemaphorePermit>,
    ) -> Result<(), Failure> {
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
        let mut frame = MEMORY.take();
        write(&mut frame);
        let mut queue = lock(&self.inbound);
        lock(&self.owner.held).push_back(held);
        if frame.len() < SHARED_CALLS_BYTES_MIN {
            queue.accept(frame.as_slice(), 1, 1);
            frame.clear();
            MEMORY.set(frame);
        } else {
            queue.accept_shared(frame.into_vec().into(), 1, 1);
        }
        queue.publish();
        Ok(())
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
        let mut out = MEMORY.take();
        if scope::encode_without(&mut out, |out| value.encode(out)) {
            let value = match out.len() < SHARED_CALLS_BYTES_MIN {
                true => {
                    let value = out.as_slice().to_vec();
                    out.clear();
                    MEMORY.set(out);
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
