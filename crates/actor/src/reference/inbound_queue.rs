//! Inbound queues: mail from another process.
//!
//! The node reads frames and knows no message types; the actor knows its types and no frames. An
//! [`InboundQueue`] stands between them: one for each channel of a session, with a place for
//! every credit that was granted, so a frame that arrives with credit always fits.

use std::any::Any;
use std::sync::Arc;
use std::task::Waker;

use bytes::Bytes;
use wigwag_wire::call::EncodedCall;

use crate::lifecycle::counters::{ActorCounters, RemoteCallCounters};
use crate::lifecycle::handle::Handle;
use crate::mailbox::backlog::Pushed;
use crate::mailbox::backlog::chunk::{Chunk, Frames};
use crate::mailbox::ready_queues::{SessionQueue, Source};
use crate::mailbox::remote_bound::RemoteBound;
use crate::mailbox::{Mailbox, refuse};
use crate::message::Message;
use crate::reply::owner::InboundQueueOwner;
use crate::scheduler::{DirectCall, InlineRun};
use crate::schema::Schema;

/// An actor that other processes may reach, without its type;
/// [`Ref::exported`](crate::Ref::exported) gives it.
pub trait Exported: Send + Sync {
    /// The number of the actor, which no other actor of this process has.
    fn number(&self) -> u64;

    /// The actor itself; `None` if it lives in another process.
    fn handle(&self) -> Option<Handle> {
        None
    }

    /// A reference to the actor: a [`Ref`](crate::Ref) of its interface.
    fn reference(&self) -> Box<dyn Any + Send + Sync>;

    /// The methods that the actor has.
    fn schema(&self) -> &'static Schema;

    /// Opens an inbound queue for one session. If the actor has stopped already, `owner` is told at
    /// once.
    fn open_inbound_queue(&self, owner: Arc<dyn InboundQueueOwner>) -> Box<dyn InboundQueue>;

    /// The bound for the calls of all remote callers, if the options of the actor set one.
    fn remote_bound(&self) -> Option<RemoteBound>;

    /// The counters of the calls of all remote callers.
    fn remote_counters(&self) -> Arc<RemoteCallCounters>;

    /// The counters of the actor.
    fn counters(&self) -> ActorCounters;

    /// True when the actor has stopped.
    fn is_stopped(&self) -> bool;
}

/// The inbound queue of one channel at its actor. Calls are accepted in runs and published
/// together.
pub trait InboundQueue: Send {
    /// Accepts calls: `frames` holds `calls` of them, as [`wigwag_wire::call`] describes, which
    /// have used `units` of credit. The actor decodes them when their turn comes, and then answers
    /// those that it does not understand with an error.
    fn accept(&mut self, frames: &[u8], calls: usize, units: u64);

    /// Accepts calls of which all are tells or all are asks, as [`accept`](Self::accept) does, and
    /// keeps `frames` until the last of them is handled. Long [`Bytes`] among their arguments share
    /// its memory.
    fn accept_shared(&mut self, frames: Bytes, calls: usize, units: u64);

    /// Publishes the calls accepted since the last time: one lock, and a wake if the actor sleeps.
    fn publish(&mut self);

    /// Reads what [`accept`](Self::accept) needs, and nothing else: the cache misses of several queues
    /// overlap then. Returns anything that depends on what was read.
    fn prefetch_accept(&self) -> usize {
        0
    }

    /// Reads what [`publish`](Self::publish) needs, as [`prefetch_accept`](Self::prefetch_accept) does.
    fn prefetch_publish(&self) -> usize {
        0
    }

    /// The way around the queue for asks that the actor may handle on the asker's thread; `None` if
    /// there is none.
    fn inline_asks(&self) -> Option<Box<dyn InlineAsks>> {
        None
    }
}

/// The asks of one channel that its actor handles on the thread of the asker.
pub trait InlineAsks: Send + Sync {
    /// Runs the actor with an ask, if it has no mail, is quick, and belongs to the caller's runtime;
    /// waits for a moment while it handles another ask. False if the ask is to be queued. An actor
    /// without mail has none of this channel, so no call is overtaken.
    fn ask(&self, ask: &EncodedCall<'_>) -> bool;
}

/// The inbound queue of an actor with messages of type `M`.
pub(crate) struct TypedInboundQueue<M> {
    mailbox: Arc<Mailbox<M>>,
    session_queue: Arc<SessionQueue<M>>,
    /// Accepted and not yet published: chunks without room, and the one that calls are added to.
    full: Vec<Chunk<M>>,
    last: Frames,
    spare: Vec<Chunk<M>>,
}

impl<M: Message> TypedInboundQueue<M> {
    pub(crate) fn new(
        mailbox: Arc<Mailbox<M>>,
        owner: Arc<dyn InboundQueueOwner>,
    ) -> TypedInboundQueue<M> {
        let session_queue = mailbox.open_inbound_queue(owner);
        let (full, last, spare) = (Vec::new(), Frames::default(), Vec::new());
        TypedInboundQueue { mailbox, session_queue, full, last, spare }
    }

    /// Begins another chunk, if calls were added to the last one.
    #[cold]
    fn begin_chunk(&mut self) {
        if self.last.is_empty() {
            return;
        }
        if self.spare.is_empty() {
            self.session_queue.queue.take_spare(&mut self.spare);
        }
        let empty = match self.spare.pop() {
            Some(Chunk::Frames(frames)) => frames,
            _ => Frames::default(),
        };
        self.full.push(Chunk::Frames(std::mem::replace(&mut self.last, empty)));
    }
}

impl<M: Message> InboundQueue for TypedInboundQueue<M> {
    fn accept(&mut self, frames: &[u8], calls: usize, units: u64) {
        if !self.last.add(frames, calls, units) {
            self.begin_chunk();
            self.last.add(frames, calls, units);
        }
    }

    fn accept_shared(&mut self, frames: Bytes, calls: usize, units: u64) {
        self.begin_chunk();
        self.full.push(Chunk::Frames(Frames::of_shared(frames, calls, units)));
    }

    fn publish(&mut self) {
        if self.full.is_empty() && self.last.is_empty() {
            return;
        }
        match self.session_queue.queue.publish(&mut self.full, &mut self.last) {
            Pushed::In { list: true } => {
                let actor = self.mailbox.list(Source::Session(self.session_queue.clone()));
                actor.into_iter().for_each(Waker::wake);
            }
            Pushed::In { list: false } | Pushed::Full | Pushed::Refused => {}
            Pushed::Closed => {
                let last = Chunk::Frames(std::mem::take(&mut self.last));
                for chunk in self.full.drain(..).chain([last]) {
                    self.session_queue.owner.freed(chunk.units());
                    refuse(
                        chunk,
                        self.mailbox.provenance(&Source::Session(self.session_queue.clone())),
                    );
                }
            }
        }
    }

    fn prefetch_accept(&self) -> usize {
        self.full.len() + self.last.calls() + self.spare.len()
    }

    fn prefetch_publish(&self) -> usize {
        self.session_queue.queue.prefetch() + self.mailbox.prefetch()
    }

    fn inline_asks(&self) -> Option<Box<dyn InlineAsks>> {
        let (mailbox, session_queue) = (self.mailbox.clone(), self.session_queue.clone());
        Some(Box::new(TypedInlineAsks { mailbox, session_queue }))
    }
}

/// The asks of one channel to an actor with messages of type `M`.
struct TypedInlineAsks<M> {
    mailbox: Arc<Mailbox<M>>,
    session_queue: Arc<SessionQueue<M>>,
}

impl<M: Message> InlineAsks for TypedInlineAsks<M> {
    fn ask(&self, ask: &EncodedCall<'_>) -> bool {
        let Some(actor) = self.mailbox.find_asleep() else { return false };
        let Some(actor) = InlineRun::begin_soon(&actor) else { return false };
        let mut source = Some(Source::Session(self.session_queue.clone()));
        actor.run(&mut DirectCall::Encoded { ask, source: &mut source });
        source.is_none()
    }
}
