//! How mail comes in from another process.
//!
//! The node reads frames and knows no message types; the actor knows its types and no frames. A
//! [`Lane`] stands between them: one for each (session, actor), with a place for every credit that
//! was granted, so a frame that arrives with credit always fits.

use std::sync::Arc;

use wigwag_wire::Buffer;
use wigwag_wire::small::Value;

use crate::error::CallErrorKind;
use crate::limits::LANE_CALLS_MAX;
use crate::mailbox::backlog::Pushed;
use crate::mailbox::backlog::chunk::{Chunk, Frames};
use crate::mailbox::lists::{LaneQueue, Source};
use crate::mailbox::{Mailbox, refuse};
use crate::reference::interface::Message;
use crate::schema::Schema;

/// An actor that others may reach, whatever its type.
pub trait Exported: Send + Sync {
    /// What it understands.
    fn schema(&self) -> &'static Schema;

    /// A way in for one session. Its owner hears at once when the actor has stopped already.
    fn open_lane(&self, owner: Arc<dyn LaneOwner>) -> Box<dyn Lane>;

    /// True when the actor has stopped.
    fn is_stopped(&self) -> bool;
}

/// A session, as the actor sees it: where replies go and who must know that places are free.
pub trait LaneOwner: Send + Sync {
    /// Places are free again: `units` of credit were taken out of the lane.
    fn freed(&self, units: u64);

    /// So many calls more have finished their handler.
    fn handled(&self, calls: u64);

    /// The actor has stopped.
    fn stopped(&self);

    /// Whether answers to asks that follow each other may be joined to runs.
    fn joins(&self) -> bool;

    /// Answers to several asks, as REPLY frames or runs of them that lie behind each other; they are
    /// taken out.
    fn replies(&self, frames: &mut Buffer, count: u64);

    /// The answer to the ask in `slot`.
    fn reply(&self, slot: u32, generation: u32, value: &dyn Value);

    /// A tell was not understood: no such method, or other arguments.
    fn undelivered(&self);

    /// The ask in `slot` has no answer.
    fn fail(&self, slot: u32, generation: u32, kind: CallErrorKind, detail: &str);
}

/// The way in for one session. Calls are accepted run by run and published together.
pub trait Lane: Send {
    /// Takes calls in: `frames` holds `calls` of them, as [`wigwag_wire::call`] describes, which
    /// have used `units` of credit. They are decoded when the actor comes to them; what it does not
    /// understand then, it answers.
    fn accept(&mut self, frames: &[u8], calls: usize, units: u64);

    /// Hands over what was accepted since the last time: one lock, and a wake if the actor sleeps.
    fn publish(&mut self);
}

/// The lane of an actor whose messages are `M`.
pub(crate) struct TypedLane<M> {
    mailbox: Arc<Mailbox<M>>,
    lane: Arc<LaneQueue<M>>,
    /// Accepted and not yet published; only the last one has room.
    staged: Vec<Chunk<M>>,
    spare: Vec<Chunk<M>>,
}

impl<M: Message> TypedLane<M> {
    pub(crate) fn new(mailbox: Arc<Mailbox<M>>, owner: Arc<dyn LaneOwner>) -> TypedLane<M> {
        let lane = mailbox.open_lane(owner);
        TypedLane { mailbox, lane, staged: Vec::new(), spare: Vec::new() }
    }

    fn empty_frames(&mut self) -> Frames {
        if self.spare.is_empty() {
            self.lane.queue.take_spare(&mut self.spare);
        }
        match self.spare.pop() {
            Some(Chunk::Frames(frames)) => frames,
            _ => Frames::default(),
        }
    }
}

impl<M: Message> Lane for TypedLane<M> {
    fn accept(&mut self, frames: &[u8], calls: usize, units: u64) {
        match self.staged.last_mut() {
            Some(Chunk::Frames(last)) if last.calls + calls <= LANE_CALLS_MAX => {
                last.add(frames, calls, units);
            }
            _ => {
                let mut next = self.empty_frames();
                next.add(frames, calls, units);
                self.staged.push(Chunk::Frames(next));
            }
        }
    }

    fn publish(&mut self) {
        if self.staged.is_empty() {
            return;
        }
        match self.lane.queue.publish(&mut self.staged) {
            Pushed::In { list: true } => self.mailbox.list(Source::Lane(self.lane.clone())),
            Pushed::In { list: false } | Pushed::Full | Pushed::Refused => {}
            Pushed::Closed => {
                for chunk in self.staged.drain(..) {
                    self.lane.owner.freed(chunk.units());
                    refuse(chunk, self.mailbox.whose(&Source::Lane(self.lane.clone())));
                }
            }
        }
    }
}
