//! Channels to actors that answers lead to which have not come yet (section 9 of the protocol).
//!
//! The peer opens such a channel in front of its ask. Until the ask is answered, the calls of the
//! channel are held here, within its credit ([`pending`]); then they go to the actor that the first
//! reference in the answer leads to. If there is none, the channel ends, and each call on it fails
//! with the error of the ask. A held call may itself be an ask that another channel waits for.

pub(crate) mod pending;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wigwag_actor::{CallErrorKind, InboundQueue};
use wigwag_link::features;
use wigwag_link::limits::PIPES_PENDING_MAX;
use wigwag_wire::{Reader, varint};

use crate::exports::references::ReferredActor;
use crate::lock::lock;
use crate::session::Session;
use crate::session::receive::inbound::ChannelOwner;
use crate::sync::{AtomicU64, Ordering};
use pending::{PendingPipe, PipeQueue};

/// Why a call through an answer fails that holds no reference.
const NO_REFERENCE: &str = "the answer holds no reference";
/// The types of the frames that hold answers.
const REPLY: u8 = 0x93;
const REPLIES: u8 = 0xA2;

/// The pipes of one session, in both directions.
pub(crate) struct SessionPipes {
    /// The peer knows pipes.
    are_known: bool,
    /// Pipes of the peer, by the ask that they wait for.
    pending: Mutex<HashMap<(u32, u32), Arc<PendingPipe>>>,
    /// How many these are: each answer looks whether there are any.
    count: AtomicU64,
    /// Asks of this node whose answers lead to channels; some may have been answered.
    asked: Mutex<Vec<(u32, u32)>>,
    /// One permit for each ATTACH that may be unanswered.
    attaches: Arc<Semaphore>,
}

impl SessionPipes {
    pub(crate) fn new(features: u64) -> SessionPipes {
        SessionPipes {
            are_known: features::has_pipes(features),
            pending: Mutex::default(),
            count: AtomicU64::new(0),
            asked: Mutex::default(),
            attaches: Arc::new(Semaphore::new(PIPES_PENDING_MAX as usize)),
        }
    }

    /// True if no channel of the peer waits for an answer.
    #[inline]
    pub(crate) fn are_none(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// True if a channel may be opened for the answer to this ask of the peer, and `None` if another
    /// one is.
    pub(crate) fn have_room_for(&self, asker: (u32, u32)) -> Option<bool> {
        let pending = lock(&self.pending);
        let is_new = !pending.contains_key(&asker);
        is_new.then_some((pending.len() as u64) < PIPES_PENDING_MAX)
    }

    fn take(&self, asker: (u32, u32)) -> Option<Arc<PendingPipe>> {
        if self.are_none() {
            return None;
        }
        let mut pending = lock(&self.pending);
        let pipe = pending.remove(&asker);
        self.count.store(pending.len() as u64, Ordering::Relaxed);
        pipe
    }

    /// Forgets all: the session is over.
    pub(crate) fn clear(&self) {
        let pending = std::mem::take(&mut *lock(&self.pending));
        self.count.store(0, Ordering::Relaxed);
        drop(pending);
    }
}

/// The channels of the peer.
impl Session {
    /// Opens the queue of a channel to the actor that the answer to an ask of the peer leads to.
    pub(crate) fn open_pipe(
        &self,
        asker: (u32, u32),
        schema_hash: u64,
        owner: Arc<ChannelOwner>,
    ) -> Box<dyn InboundQueue> {
        let pipe = Arc::new(PendingPipe::new(asker, schema_hash, owner));
        let mut pending = lock(&self.pipes.pending);
        // Looked at under the lock: the end of the session clears the table.
        if !self.has_ended() {
            pending.insert(asker, pipe.clone());
            self.pipes.count.store(pending.len() as u64, Ordering::Relaxed);
        }
        Box::new(PipeQueue::new(pipe))
    }

    /// Leads the channel that waits for this ask of the peer to the actor of `reference`, the first
    /// one in the answer, which was lent and is not sent yet.
    pub(crate) fn pipe_answered(&self, asker: (u32, u32), reference: Option<u128>) {
        let Some(pipe) = self.pipes.take(asker) else { return };
        // A relay passes calls on in a task. The answer may come from a thread outside a runtime, or in
        // that of an actor with a thread of its own, which ends with the actor.
        let node = self.owner.upgrade();
        let _entered = node.as_ref().map(|node| node.runtime().enter());
        let bound = match reference {
            Some(number) => self.piped_actor(number).and_then(|actor| pipe.bind(actor)),
            None => Err((CallErrorKind::NoSuchActor, NO_REFERENCE)),
        };
        if let Err((kind, why)) = bound {
            self.fail_pipes(vec![pipe], kind, why);
        }
    }

    /// Notes answers that were encoded elsewhere, and so hold no references.
    #[cold]
    pub(crate) fn pipes_answered(&self, frames: &[u8]) {
        for_each_answer(frames, |asker| self.pipe_answered(asker, None));
    }

    /// Ends the channel that waits for this ask of the peer, which has failed.
    pub(crate) fn pipe_failed(&self, asker: (u32, u32), kind: CallErrorKind, why: &str) {
        if let Some(pipe) = self.pipes.take(asker) {
            self.fail_pipes(vec![pipe], kind, why);
        }
    }

    /// Ends the channels that wait for asks which were held in another one, and fail with it.
    pub(crate) fn asks_of_pipe_failed(
        &self,
        asks: impl IntoIterator<Item = (u32, u32)>,
        kind: CallErrorKind,
        why: &str,
    ) {
        let behind = asks.into_iter().filter_map(|asker| self.pipes.take(asker)).collect();
        self.fail_pipes(behind, kind, why);
    }

    /// Ends channels, and those behind them. A chain may be long, so there is no recursion.
    fn fail_pipes(&self, mut failing: Vec<Arc<PendingPipe>>, kind: CallErrorKind, why: &str) {
        while let Some(pipe) = failing.pop() {
            let asks = pipe.fail(kind, why);
            failing.extend(asks.into_iter().filter_map(|asker| self.pipes.take(asker)));
        }
    }

    /// Forgets a channel that the peer has closed before it has called.
    pub(crate) fn pipe_unused(&self, asker: (u32, u32)) {
        drop(self.pipes.take(asker));
    }

    /// The actor of a reference that the peer was lent.
    fn piped_actor(
        &self,
        number: u128,
    ) -> Result<Arc<ReferredActor>, (CallErrorKind, &'static str)> {
        let why = "the actor lives on another node, to which this one does not relay";
        self.lent_actor(number).ok_or((CallErrorKind::NoSuchActor, why))
    }
}

/// The channels of this node.
impl Session {
    /// A permit to open a channel to the actor that the answer to the next ask leads to. `None` if the
    /// peer knows no pipes, or has as many as it accepts.
    pub(crate) fn may_pipe(&self) -> Option<OwnedSemaphorePermit> {
        if !self.pipes.are_known {
            return None;
        }
        let mut asked = lock(&self.pipes.asked);
        if asked.len() as u64 >= PIPES_PENDING_MAX {
            let is_open =
                |asks: &(u32, u32)| self.asks.slot(asks.0).is_some_and(|slot| slot.is_open(asks.1));
            asked.retain(is_open);
        }
        let has_room = (asked.len() as u64) < PIPES_PENDING_MAX;
        drop(asked);
        has_room.then(|| self.pipes.attaches.clone().try_acquire_owned().ok())?
    }

    /// Notes an ask that was sent with a channel to the actor that its answer leads to.
    pub(crate) fn piped(&self, asker: (u32, u32)) {
        lock(&self.pipes.asked).push(asker);
    }
}

/// Calls `answered` with the ask of each answer in REPLY and REPLIES frames of this node.
fn for_each_answer(frames: &[u8], mut answered: impl FnMut((u32, u32))) {
    let mut reader = Reader::new(frames);
    while let Ok(kind) = reader.u8() {
        let Ok(length) = varint::take(&mut reader) else { return };
        let Ok(body) = reader.take(length as usize) else { return };
        let mut body = Reader::new(body);
        let (Ok(slot), Ok(generation)) = (varint::take(&mut body), varint::take(&mut body)) else {
            return;
        };
        let mut asker = (slot as u32, generation as u32);
        match kind {
            REPLY => answered(asker),
            REPLIES => {
                while let Ok(item) = body.u8() {
                    if body.take(item.into()).is_err() {
                        return;
                    }
                    answered(asker);
                    asker.0 += 1;
                }
            }
            _ => return,
        }
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_answer_of_frames_and_runs_is_found() {
        let frames =
            [REPLY, 3, 5, 1, 0xC0, REPLIES, 7, 8, 0, 1, 0xC0, 2, 0xCC, 200, REPLY, 2, 9, 0];
        let mut found = Vec::new();
        for_each_answer(&frames, |asker| found.push(asker));
        assert_eq!(found, [(5, 1), (8, 0), (9, 0), (9, 0)]);
        for end in 0..frames.len() {
            for_each_answer(&frames[..end], |_| {});
        }
    }
}
