//! Batches of tells: the messages of the current turn to actors of this process that are not
//! published yet.
//!
//! The first message of a turn to an actor goes straight into its mailbox; a turn that sends a
//! second one likely sends many. From then on places are leased some at a time and messages collect
//! in a chunk of this thread. The chunk is moved into the mailbox when it is full and when the turn
//! ends: one lock and at most one wake for all of them. The batch used last is cached where [`add`]
//! finds it at once; every other function here puts it back first.

use std::any::Any;
use std::sync::Arc;
use std::task::Waker;

use crate::limits::RUN_CALLS_MAX;
use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::mail_batch::MailBatch;
use crate::reference::LocalRef;
use crate::reference::interface::Interface;
use crate::reference::route::Attempt;
use crate::reply::Asker;
use crate::turn::local_batches::{AnyBatch, BATCHES, LAST_BATCH, LocalBatches};

/// The messages of one turn for one mailbox.
struct LocalBatch<I: Interface> {
    /// Keeps the actor alive until it has received its messages.
    local: LocalRef<I>,
    mails: MailBatch<I::Message>,
    /// Leased places that are not used yet.
    room: usize,
}

/// Downcasts a batch, if it is one for that actor.
#[inline(always)]
fn of<'a, I: Interface>(
    batch: &'a mut dyn AnyBatch,
    local: &LocalRef<I>,
) -> Option<&'a mut LocalBatch<I>> {
    let any: &mut dyn Any = batch;
    any.downcast_mut()
        .filter(|batch: &&mut LocalBatch<I>| Arc::ptr_eq(&batch.local.mailbox, &local.mailbox))
}

impl<I: Interface> AnyBatch for LocalBatch<I> {
    fn publish(&mut self) {
        self.local.mailbox.publish(&mut self.mails, self.room, 0);
        self.room = 0;
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.local.mailbox).addr()
    }
}

/// Finds the batch for `local`; there is one from the second message on.
fn find<I: Interface>(
    batches: &mut LocalBatches,
    local: &LocalRef<I>,
) -> Option<Box<dyn AnyBatch>> {
    batches.settle();
    let found = batches.take(Arc::as_ptr(&local.mailbox).addr());
    if found.is_some() {
        return found;
    }
    let number = local.mailbox.number();
    if batches.recent.replace(number) != Some(number) {
        return None;
    }
    Some(Box::new(LocalBatch { local: local.clone(), mails: MailBatch::default(), room: 0 }))
}

impl<I: Interface> LocalBatch<I> {
    /// Moves the messages into the mailbox and leases the next places; false when there are none.
    #[cold]
    fn renew(&mut self) -> bool {
        self.room = self.local.mailbox.publish(&mut self.mails, self.room, RUN_CALLS_MAX);
        self.room > 0
    }
}

/// Adds a tell to the cached batch, if that is one for this actor and has room.
///
/// # Errors
/// The message, which still must be sent.
#[inline(always)]
pub(crate) fn add<I: Interface>(
    local: &LocalRef<I>,
    message: I::Message,
) -> Result<(), I::Message> {
    let Some(mut last) = LAST_BATCH.take() else { return Err(message) };
    let mut left = Some(message);
    if let Some(batch) = of(&mut *last, local)
        && batch.room > 0
        && let Some(message) = left.take()
    {
        batch.mails.push(message, None);
        batch.room -= 1;
    }
    // The cell is empty: no foreign code ran in between. So there is nothing to drop.
    std::mem::forget(LAST_BATCH.replace(Some(last)));
    left.map_or(Ok(()), Err)
}

/// Sends within a turn.
pub(crate) fn push<I: Interface>(
    local: &LocalRef<I>,
    message: &mut Option<I::Message>,
    mut asker: Asker,
    ticket: &mut Ticket,
    waker: Option<&Waker>,
) -> Attempt<()> {
    let batched = BATCHES.with(|batches| {
        // A send from the drop or the encoding of another message bypasses the batch.
        let Ok(mut batches) = batches.try_borrow_mut() else {
            return false;
        };
        let Some(mut found) = find(&mut batches, local) else {
            return false;
        };
        let batched = of(&mut *found, local).is_some_and(|batch| {
            if ticket.is_parked() || batch.room == 0 && !batch.renew() {
                batch.publish();
                return false;
            }
            if let Some(message) = message.take() {
                batch.mails.push(message, asker.take());
                batch.room -= 1;
            }
            true
        });
        LAST_BATCH.set(Some(found));
        batched
    });
    if !batched {
        return local.push(message, asker, ticket, waker);
    }
    Attempt::Sent(())
}

/// Publishes the turn's batch for this actor, because a message is about to go there directly.
pub(crate) fn publish_to<I: Interface>(local: &LocalRef<I>) {
    let batched = BATCHES.with(|batches| {
        let mut batches = batches.try_borrow_mut().ok()?;
        batches.settle();
        batches.take(Arc::as_ptr(&local.mailbox).addr())
    });
    batched.into_iter().for_each(|mut batch| batch.publish());
}
