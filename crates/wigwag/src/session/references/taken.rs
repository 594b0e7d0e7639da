//! The references that this node has received over a session: read, held, and released.

use std::sync::{Arc, Mutex};

use wigwag_link::frame::Frame;
use wigwag_link::write;
use wigwag_wire::DecodeError;

use crate::limits::REFERENCES_MAX;
use crate::lock::lock;
use crate::session::Session;
use crate::session::attach::AttachAnswer;
use crate::sync::Ordering;

/// A reference that has come over a session, so many times. When it is dropped, the peer is told,
/// and lets the actor go.
pub(crate) struct TakenReference {
    session: Arc<Session>,
    number: u128,
    times: u64,
}

impl TakenReference {
    pub(crate) fn new(session: &Arc<Session>, number: u128) -> Result<TakenReference, DecodeError> {
        let why = "this node holds as many references as it may";
        let beyond = DecodeError::BadReference { why };
        if !session.references.table.taken.take_one() {
            session.release_references(&[number]);
            return Err(beyond);
        }
        // It is released if it is beyond the limit.
        let taken = TakenReference { session: session.clone(), number, times: 1 };
        let before = session.references.taken.fetch_add(1, Ordering::Relaxed);
        if before < REFERENCES_MAX { Ok(taken) } else { Err(beyond) }
    }

    /// True if it has come over this session.
    pub(crate) fn is_of(&self, session: &Arc<Session>) -> bool {
        Arc::ptr_eq(&self.session, session)
    }
}

impl Drop for TakenReference {
    fn drop(&mut self) {
        if self.times > 0 {
            self.session.send_release(self.number, self.times);
        }
        self.session.references.taken.fetch_sub(1, Ordering::Relaxed);
        self.session.references.table.taken.give_back(1);
    }
}

/// The references that a route was received as: one for each session that has brought it.
#[derive(Default)]
pub(crate) struct HeldReferences {
    references: Mutex<Vec<TakenReference>>,
    opening: Mutex<Opening>,
}

/// Whether the channel of a route is open, and keeps its actor alive.
#[derive(Default)]
pub(crate) enum Opening {
    #[default]
    Open,
    /// ATTACH was sent.
    Unanswered(AttachAnswer),
    /// ATTACH was sent, and a task waits for the answer.
    Awaited,
}

impl HeldReferences {
    /// The references of a route whose ATTACH was sent and will have this answer.
    pub(crate) fn while_opening(answer: AttachAnswer) -> HeldReferences {
        let opening = Mutex::new(Opening::Unanswered(answer));
        HeldReferences { opening, ..HeldReferences::default() }
    }

    /// Whether the channel is open. One caller is given the answer while it has not come: it waits for
    /// that, and calls [`opened`](Self::opened) then.
    pub(crate) fn take_opening(&self) -> Opening {
        let mut opening = lock(&self.opening);
        match std::mem::replace(&mut *opening, Opening::Awaited) {
            Opening::Unanswered(answer) if answer.is_empty() => Opening::Unanswered(answer),
            Opening::Awaited => Opening::Awaited,
            Opening::Open | Opening::Unanswered(_) => {
                *opening = Opening::Open;
                Opening::Open
            }
        }
    }

    /// The answer to ATTACH has come.
    pub(crate) fn opened(&self) {
        *lock(&self.opening) = Opening::Open;
    }

    /// Holds a reference for as long as the route is used.
    pub(crate) fn hold(&self, mut taken: TakenReference) {
        let mut held = lock(&self.references);
        match held.iter_mut().find(|held| Arc::ptr_eq(&held.session, &taken.session)) {
            Some(held) => held.times += std::mem::take(&mut taken.times),
            None => held.push(taken),
        }
    }

    /// Lets go what others than the peer of `session` have given: the channel to that peer keeps the
    /// actor alive.
    pub(crate) fn keep_only(&self, session: &Arc<Session>) {
        let mut held = lock(&self.references);
        let others: Vec<_> =
            held.extract_if(.., |held| !Arc::ptr_eq(&held.session, session)).collect();
        drop(held);
        drop(others);
    }
}

impl Session {
    /// Tells the peer that references are let go which were never read.
    pub(crate) fn release_references(&self, numbers: &[u128]) {
        for number in numbers {
            self.send_release(*number, 1);
        }
    }

    fn send_release(&self, number: u128, times: u64) {
        let mut sending = self.sending();
        if sending.ended.is_some() {
            return;
        }
        let reference = &number.to_le_bytes();
        let release = Frame::Release { reference, times };
        sending.sender.outbox.append(|out| write::any(out, &release));
        drop(sending);
        self.wake_driver();
    }
}
