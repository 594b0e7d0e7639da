//! One channel to an actor that an answer leads to: its calls before the answer, and after it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use wigwag_actor::{CallErrorKind, InboundQueue, InboundQueueOwner};
use wigwag_link::credit::ActorBound;
use wigwag_wire::call::Calls;

use crate::exports::references::ReferredActor;
use crate::lock::lock;
use crate::session::receive::inbound::ChannelOwner;

/// A channel of the peer that waits for the answer to one of its asks.
pub(crate) struct PendingPipe {
    /// The ask.
    asker: (u32, u32),
    /// The interface that the peer calls by; 0 if it wants any.
    schema_hash: u64,
    owner: Arc<ChannelOwner>,
    state: Mutex<PipeState>,
}

enum PipeState {
    /// The calls that have come; the credit of the channel bounds them.
    Waiting(Vec<HeldCalls>),
    /// The answer has come. The reading side takes the queue with its next calls.
    Bound { queue: Option<Box<dyn InboundQueue>>, _actor: Arc<ReferredActor> },
    /// There is no actor.
    Failed(CallErrorKind, Arc<str>),
}

/// Calls of one kind, as [`InboundQueue::accept`] takes them.
struct HeldCalls {
    frames: Bytes,
    calls: usize,
    units: u64,
    is_shared: bool,
}

impl HeldCalls {
    fn pass_on(self, queue: &mut dyn InboundQueue) {
        match self.is_shared {
            true => queue.accept_shared(self.frames, self.calls, self.units),
            false => queue.accept(&self.frames, self.calls, self.units),
        }
    }
}

impl PendingPipe {
    pub(crate) fn new(
        asker: (u32, u32),
        schema_hash: u64,
        owner: Arc<ChannelOwner>,
    ) -> PendingPipe {
        let state = Mutex::new(PipeState::Waiting(Vec::new()));
        PendingPipe { asker, schema_hash, owner, state }
    }

    /// Passes the calls that have come on to `actor`, and those that come later.
    ///
    /// # Errors
    /// Why it is not called through this channel.
    pub(crate) fn bind(
        &self,
        actor: Arc<ReferredActor>,
    ) -> Result<(), (CallErrorKind, &'static str)> {
        if ![0, actor.exported.schema().hash].contains(&self.schema_hash) {
            let why = "the actor runs another version of the interface: await the answer";
            return Err((CallErrorKind::BadArguments, why));
        }
        self.owner.leads_to(&*actor.exported);
        if let Some(bound) = actor.exported.remote_bound() {
            self.owner.bind(ActorBound::new(bound.calls, bound.free));
        }
        // Kept locked until the queue has them: later calls go behind them.
        let mut state = lock(&self.state);
        let PipeState::Waiting(held) = &mut *state else { return Ok(()) };
        let held = std::mem::take(held);
        let mut queue = actor.exported.open_inbound_queue(self.owner.clone());
        held.into_iter().for_each(|calls| calls.pass_on(&mut *queue));
        queue.publish();
        *state = PipeState::Bound { queue: Some(queue), _actor: actor };
        Ok(())
    }

    /// Ends the channel: each call on it fails. Returns the asks among those that were held.
    pub(crate) fn fail(&self, kind: CallErrorKind, why: &str) -> Vec<(u32, u32)> {
        let failed = PipeState::Failed(kind, why.into());
        let PipeState::Waiting(held) = std::mem::replace(&mut *lock(&self.state), failed) else {
            return Vec::new();
        };
        let asks = self.refuse(held, kind, why);
        self.owner.end(kind, why);
        asks
    }

    fn refuse(&self, held: Vec<HeldCalls>, kind: CallErrorKind, why: &str) -> Vec<(u32, u32)> {
        let (owner, mut asks) = (&self.owner, Vec::new());
        for HeldCalls { frames, units, .. } in held {
            for call in Calls::new(&frames) {
                owner.discarded(call.arguments, kind);
                match call.asker {
                    Some(asker) => {
                        owner.send_error(asker, kind, why);
                        owner.handled(0, 1);
                        asks.push(asker);
                    }
                    None => {
                        owner.rejected(call.method, kind, &why);
                        owner.handled(1, 0);
                    }
                }
            }
            owner.freed(units);
        }
        asks
    }

    /// Takes calls that have come. Returns the queue of the actor, if that is known.
    fn take(&self, staged: &mut Vec<HeldCalls>) -> Option<Box<dyn InboundQueue>> {
        let mut state = lock(&self.state);
        match &mut *state {
            PipeState::Waiting(held) => held.append(staged),
            PipeState::Bound { queue, .. } => return queue.take(),
            PipeState::Failed(kind, why) => {
                let (kind, why) = (*kind, why.clone());
                drop(state);
                let asks = self.refuse(std::mem::take(staged), kind, &why);
                self.owner.session().asks_of_pipe_failed(asks, kind, &why);
            }
        }
        None
    }

    /// True if the answer has not come, and no call either.
    fn is_unused(&self) -> bool {
        matches!(&*lock(&self.state), PipeState::Waiting(held) if held.is_empty())
    }
}

/// The queue of such a channel, as the reading side fills it.
pub(crate) struct PipeQueue {
    pipe: Arc<PendingPipe>,
    staged: Vec<HeldCalls>,
    /// The queue of the actor, from the first calls behind the answer on.
    bound: Option<Box<dyn InboundQueue>>,
}

impl PipeQueue {
    pub(crate) fn new(pipe: Arc<PendingPipe>) -> PipeQueue {
        PipeQueue { pipe, staged: Vec::new(), bound: None }
    }
}

impl InboundQueue for PipeQueue {
    fn accept(&mut self, frames: &[u8], calls: usize, units: u64) {
        match &mut self.bound {
            Some(queue) => queue.accept(frames, calls, units),
            None => {
                let (frames, is_shared) = (Bytes::copy_from_slice(frames), false);
                self.staged.push(HeldCalls { frames, calls, units, is_shared });
            }
        }
    }

    fn accept_shared(&mut self, frames: Bytes, calls: usize, units: u64) {
        match &mut self.bound {
            Some(queue) => queue.accept_shared(frames, calls, units),
            None => self.staged.push(HeldCalls { frames, calls, units, is_shared: true }),
        }
    }

    fn publish(&mut self) {
        if self.bound.is_none() && !self.staged.is_empty() {
            self.bound = self.pipe.take(&mut self.staged);
        }
        if let Some(queue) = &mut self.bound {
            for calls in self.staged.drain(..) {
                calls.pass_on(&mut **queue);
            }
            queue.publish();
        }
    }
}

impl Drop for PipeQueue {
    fn drop(&mut self) {
        // With calls, the channel still waits for the answer, and then they are handled.
        if self.pipe.is_unused() {
            self.pipe.owner.session().pipe_unused(self.pipe.asker);
        }
    }
}
