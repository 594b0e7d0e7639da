//! What the current turn has sent to actors of this process and not yet published.
//!
//! The first message of a turn to an actor goes straight into its mailbox; who sends a second one
//! likely sends many. From then on places are leased some at a time and messages gather in a chunk
//! of this thread, which is moved into the mailbox when it is full and when the turn ends: one lock
//! and at most one wake for all of them. The chunk that was used last lies where [`add`] finds it at
//! once; everything else that is done here takes it back before.

use std::any::Any;
use std::sync::Arc;
use std::task::Waker;

use crate::limits::RUN_CALLS_MAX;
use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::mails::Mails;
use crate::reference::Local;
use crate::reference::interface::Interface;
use crate::reference::route::Attempt;
use crate::reply::Asker;
use crate::turn::staged::{AT_HAND, Publish, STAGES, Stages};

/// What one turn has for one mailbox.
struct Stage<I: Interface> {
    /// Keeps the actor from ending before it has got what was sent to it.
    local: Local<I>,
    mails: Mails<I::Message>,
    /// Places that are ours and not used yet.
    room: usize,
}

/// The stage as what it is, if it is one for that actor.
#[inline(always)]
fn of<'a, I: Interface>(stage: &'a mut dyn Publish, local: &Local<I>) -> Option<&'a mut Stage<I>> {
    let any: &mut dyn Any = stage;
    any.downcast_mut()
        .filter(|stage: &&mut Stage<I>| Arc::ptr_eq(&stage.local.mailbox, &local.mailbox))
}

impl<I: Interface> Publish for Stage<I> {
    fn publish(&mut self) {
        self.local.mailbox.publish(&mut self.mails, self.room, 0);
        self.room = 0;
    }

    fn address(&self) -> usize {
        Arc::as_ptr(&self.local.mailbox).addr()
    }
}

/// The stage for `local`; there is one from the second message on.
fn find<I: Interface>(stages: &mut Stages, local: &Local<I>) -> Option<Box<dyn Publish>> {
    stages.settle();
    let found = stages.take(Arc::as_ptr(&local.mailbox).addr());
    if found.is_some() {
        return found;
    }
    let number = local.mailbox.number();
    if stages.recent.replace(number) != Some(number) {
        return None;
    }
    Some(Box::new(Stage { local: local.clone(), mails: Mails::default(), room: 0 }))
}

impl<I: Interface> Stage<I> {
    /// Moves what there is into the mailbox and leases the next places; false when there are none.
    #[cold]
    fn renew(&mut self) -> bool {
        self.room = self.local.mailbox.publish(&mut self.mails, self.room, RUN_CALLS_MAX);
        self.room > 0
    }
}

/// Adds a tell to the chunk at hand, if that is one for this actor and has room.
///
/// # Errors
/// The message, which must be sent.
#[inline(always)]
pub(crate) fn add<I: Interface>(local: &Local<I>, message: I::Message) -> Result<(), I::Message> {
    let Some(mut at_hand) = AT_HAND.take() else { return Err(message) };
    let mut left = Some(message);
    if let Some(stage) = of(&mut *at_hand, local)
        && stage.room > 0
        && let Some(message) = left.take()
    {
        stage.mails.push(message, None);
        stage.room -= 1;
    }
    // Nothing is there now: nobody else's code ran in between. So there is nothing to drop.
    std::mem::forget(AT_HAND.replace(Some(at_hand)));
    left.map_or(Ok(()), Err)
}

/// Sends within a turn.
pub(crate) fn push<I: Interface>(
    local: &Local<I>,
    message: &mut Option<I::Message>,
    mut asker: Asker,
    ticket: &mut Ticket,
    waker: Option<&Waker>,
) -> Attempt<()> {
    let staged = STAGES.with(|stages| {
        // Somebody sends while his own message is dropped or encoded: it takes the direct way.
        let Ok(mut stages) = stages.try_borrow_mut() else {
            return false;
        };
        let Some(mut found) = find(&mut stages, local) else {
            return false;
        };
        let staged = of(&mut *found, local).is_some_and(|stage| {
            if ticket.is_parked() || stage.room == 0 && !stage.renew() {
                stage.publish();
                return false;
            }
            if let Some(message) = message.take() {
                stage.mails.push(message, asker.take());
                stage.room -= 1;
            }
            true
        });
        AT_HAND.set(Some(found));
        staged
    });
    if !staged {
        return local.push(message, asker, ticket, waker);
    }
    Attempt::Sent(())
}

/// Publishes what the turn has for this actor, because something goes there directly next.
pub(crate) fn publish_to<I: Interface>(local: &Local<I>) {
    let staged = STAGES.with(|stages| {
        let mut stages = stages.try_borrow_mut().ok()?;
        stages.settle();
        stages.take(Arc::as_ptr(&local.mailbox).addr())
    });
    staged.into_iter().for_each(|mut stage| stage.publish());
}
