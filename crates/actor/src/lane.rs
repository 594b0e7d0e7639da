//! How mail comes in from another process.
//!
//! The node reads frames and knows no message types; the actor knows its types and no frames. A
//! [`Lane`] stands between them: one for each (session, actor), with a place for every credit that
//! was granted, so a frame that arrives with credit always fits.

use std::sync::Arc;

use wigwag_wire::{DecodeError, Encode, Reader};

use crate::error::CallErrorKind;
use crate::interface::Message;
use crate::limits::RUN_CALLS_MAX;
use crate::mailbox::{Mailbox, refuse};
use crate::queue::{Chunk, Mail, Pushed, Queue};
use crate::reply::ReplySlot;
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

    /// The answer to the ask in `slot`.
    fn reply(&self, slot: u32, generation: u32, value: &dyn Encode);

    /// The ask in `slot` has no answer.
    fn fail(&self, slot: u32, generation: u32, kind: CallErrorKind, detail: &str);
}

/// Why a frame was not let in; an asker must be told, a tell is counted.
#[derive(Debug)]
pub enum Rejected {
    /// The actor has no method of that number.
    NoSuchMethod,
    /// The arguments are not those of the method.
    BadArguments(DecodeError),
}

/// The way in for one session. Calls are accepted one by one and published together.
pub trait Lane: Send {
    /// Decodes a call in place. `asker` is slot and generation of an ask.
    fn accept(
        &mut self,
        method: u32,
        arguments: &[u8],
        units: u64,
        asker: Option<(u32, u32)>,
    ) -> Result<(), Rejected>;

    /// Hands over what was accepted since the last time: one lock, and a wake if the actor sleeps.
    fn publish(&mut self);
}

/// The lane of an actor whose messages are `M`.
pub(crate) struct TypedLane<M> {
    mailbox: Arc<Mailbox<M>>,
    queue: Arc<Queue<M>>,
    /// Accepted and not yet published; only the last one has room.
    staged: Vec<Chunk<M>>,
    spare: Vec<Chunk<M>>,
    owner: Arc<dyn LaneOwner>,
}

impl<M: Message> TypedLane<M> {
    pub(crate) fn new(mailbox: Arc<Mailbox<M>>, owner: Arc<dyn LaneOwner>) -> TypedLane<M> {
        let queue = mailbox.open_lane(owner.clone());
        TypedLane { mailbox, queue, staged: Vec::new(), spare: Vec::new(), owner }
    }

    #[cold]
    fn next_chunk(&mut self) {
        if self.spare.is_empty() {
            self.queue.take_spare(&mut self.spare);
        }
        let chunk = self.spare.pop().unwrap_or_else(|| {
            // The first chunk of a lane grows with its calls; in a burst each one is filled.
            let calls = if self.staged.is_empty() { 0 } else { RUN_CALLS_MAX };
            Chunk { mails: Vec::with_capacity(calls), units: 0 }
        });
        self.staged.push(chunk);
    }
}

impl<M: Message> Lane for TypedLane<M> {
    #[inline]
    fn accept(
        &mut self,
        method: u32,
        arguments: &[u8],
        units: u64,
        asker: Option<(u32, u32)>,
    ) -> Result<(), Rejected> {
        if self.staged.last().is_none_or(Chunk::is_full) {
            self.next_chunk();
        }
        let reply = match asker {
            Some((slot, generation)) => ReplySlot::Remote { slot, generation },
            None => ReplySlot::Nobody,
        };
        let Some(chunk) = self.staged.last_mut() else { return Ok(()) };
        let mails = &mut chunk.mails;
        let place = |message| mails.push(Mail { message, reply });
        match M::decode_with(method, &mut Reader::new(arguments), place) {
            Ok(Some(())) => {
                chunk.units += units;
                Ok(())
            }
            Ok(None) => Err(Rejected::NoSuchMethod),
            Err(error) => Err(Rejected::BadArguments(error)),
        }
    }

    fn publish(&mut self) {
        // The chunk that was begun for a call which was then rejected.
        if let Some(empty) = self.staged.pop_if(|last| last.mails.is_empty()) {
            self.spare.push(empty);
        }
        if self.staged.is_empty() {
            return;
        }
        match self.queue.publish(&mut self.staged) {
            Pushed::In { list: true } => self.mailbox.list(&self.queue),
            Pushed::In { list: false } | Pushed::Full => {}
            Pushed::Closed => {
                for chunk in self.staged.drain(..) {
                    self.owner.freed(chunk.units);
                    refuse(chunk.mails, Some(&self.owner));
                }
            }
        }
    }
}
