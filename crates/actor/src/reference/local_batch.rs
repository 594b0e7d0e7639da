//! The batch of a turn: messages for one actor of this process that are not published yet.
//!
//! A message to another actor than the last one goes straight into the mailbox; a turn that sends
//! two in a row to one actor likely sends many. From then on places are leased some at a time and
//! messages collect in a chunk of this thread. The chunk is moved into the mailbox when it is full
//! and when the turn ends: one lock and at most one wake for all of them.
//!
//! Measured gain: `lab run counter`, cell *1 sender*, 24.4 M/s; without batches 6.6 M/s.

use std::sync::Arc;
use std::task::Waker;

use crate::limits::RUN_CALLS_MAX;
use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::mail_batch::MailBatch;
use crate::reference::LocalRef;
use crate::reference::interface::Interface;
use crate::reference::route::Attempt;
use crate::reply::Asker;
use crate::turn::buffers::{self, AfterPublish, TurnBuffer};

/// The messages of one turn for one mailbox.
struct LocalBatch<I: Interface> {
    /// Keeps the actor alive until it has received its messages.
    local: LocalRef<I>,
    mails: MailBatch<I::Message>,
    /// Leased places that are not used yet.
    room: usize,
}

/// The target of an actor's batch in the registry of buffers.
#[inline(always)]
fn target<I: Interface>(local: &LocalRef<I>) -> usize {
    Arc::as_ptr(&local.mailbox).addr()
}

impl<I: Interface> TurnBuffer for LocalBatch<I> {
    fn publish(&mut self) -> AfterPublish {
        self.local.mailbox.publish(&mut self.mails, self.room, 0);
        self.room = 0;
        // A batch keeps its actor alive, which must not outlast the turn.
        AfterPublish::Drop
    }
}

impl<I: Interface> LocalBatch<I> {
    fn new(local: &LocalRef<I>) -> Box<LocalBatch<I>> {
        Box::new(LocalBatch { local: local.clone(), mails: MailBatch::default(), room: 0 })
    }

    /// Moves the messages into the mailbox and leases the next places; false when there are none.
    #[cold]
    fn renew(&mut self) -> bool {
        self.room = self.local.mailbox.publish(&mut self.mails, self.room, RUN_CALLS_MAX);
        self.room > 0
    }

    #[inline(always)]
    fn push(&mut self, message: I::Message, asker: Asker) {
        self.mails.push(message, asker);
        self.room -= 1;
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
        if batch.room == 0 {
            return Err(message);
        }
        batch.push(message, None);
        Ok(())
    })
}

/// Sends within a turn.
pub(crate) fn push<I: Interface>(
    local: &LocalRef<I>,
    message: &mut Option<I::Message>,
    mut asker: Asker,
    ticket: &mut Ticket,
    waker: Option<&Waker>,
) -> Attempt<()> {
    let make = |is_second: bool| is_second.then(|| LocalBatch::new(local));
    let batched = buffers::with(target(local), make, |batch| {
        if ticket.is_parked() || batch.room == 0 && !batch.renew() {
            batch.publish();
            return false;
        }
        if let Some(message) = message.take() {
            batch.push(message, asker.take());
        }
        true
    });
    match batched {
        Some(true) => Attempt::Sent(()),
        _ => local.push(message, asker, ticket, waker),
    }
}

/// Publishes the turn's batch for this actor, because a message is about to go there directly.
pub(crate) fn publish_to<I: Interface>(local: &LocalRef<I>) {
    buffers::publish(target(local));
}
