//! The batch of a turn: messages for one actor of this process that are not published yet.
//!
//! A message to another actor than the last one goes straight into the mailbox; a turn that sends
//! two in a row to one actor likely sends many. From then on places are leased some at a time and
//! messages collect in a ring of this thread. They are moved into the mailbox when the ring is
//! full, when the turn ends, when the turn has begun many other batches since, and before any other
//! thread sends to the actor: one lock and at most one wake for all of them.
//!
//! Measured gain: `lab run counter`, cell *1 sender*, 24.4 M/s; without batches 6.6 M/s.

use std::sync::Arc;
use std::task::Waker;

use crate::limits::RUN_CALLS_MAX;
use crate::mailbox::backlog::Pushed;
use crate::mailbox::backlog::batches::Batch;
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::interface::Interface;
use crate::reference::local_ref::LocalRef;
use crate::reference::route::Attempt;
use crate::reply::Asker;
use crate::turn::buffers::{self, AfterPublish, TurnBuffer};

/// The messages of one turn for one mailbox.
struct LocalBatch<I: Interface> {
    /// Keeps the actor alive until it has received its messages.
    local: LocalRef<I>,
    batch: Batch<I::Message>,
}

/// The target of an actor's batch in the registry of buffers.
#[inline(always)]
fn target<I: Interface>(local: &LocalRef<I>) -> usize {
    Arc::as_ptr(&local.mailbox).addr()
}

impl<I: Interface> TurnBuffer for LocalBatch<I> {
    fn publish(&mut self) -> AfterPublish {
        self.local.mailbox.finish(&mut self.batch);
        // A batch keeps its actor alive, which must not outlast the turn.
        AfterPublish::Drop
    }

    fn holds_room(&self) -> bool {
        true
    }
}

impl<I: Interface> LocalBatch<I> {
    fn new(local: &LocalRef<I>) -> Box<LocalBatch<I>> {
        Box::new(LocalBatch { local: local.clone(), batch: Batch::default() })
    }
}

/// Adds a tell to the batch that was used last, if that is one for this actor and has room.
///
/// # Errors
/// The message, which still must be sent.
#[inline(always)]
pub(crate) fn add<I: Interface>(
    local: &LocalRef<I>,
    message: I::Message,
) -> Result<(), I::Message> {
    buffers::add_to_last(target(local), message, |batch: &mut LocalBatch<I>, message| {
        batch.batch.add(message)
    })
}

/// Sends within a turn.
pub(crate) fn push<I: Interface>(
    local: &LocalRef<I>,
    message: &mut Option<I::Message>,
    asker: Asker,
    ticket: &mut Ticket,
    waker: Option<&Waker>,
) -> Attempt<()> {
    let make = |is_second: bool| is_second.then(|| LocalBatch::new(local));
    if asker.is_some() {
        return local.push(message, asker, ticket, waker);
    }
    let batched = buffers::with(target(local), make, |LocalBatch { local, batch }| {
        // A call that has waited for room goes by the lock.
        if ticket.is_parked() {
            return None;
        }
        if batch.push(message) {
            return Some(Pushed::In { list: false });
        }
        let mailbox = &local.mailbox;
        Some(mailbox.push_in_turn(batch, RUN_CALLS_MAX, message, ticket, waker))
    });
    match batched.flatten() {
        Some(pushed) => local.attempt(pushed, true, message),
        None => local.push(message, None, ticket, waker),
    }
}

/// Publishes the turn's batch for this actor, because a message is about to go there directly.
pub(crate) fn publish_to<I: Interface>(local: &LocalRef<I>) {
    buffers::publish(target(local));
}
