//! What the current turn has sent to actors of this process and not yet published.
//!
//! The first message of a turn to an actor goes straight into its mailbox; who sends a second one
//! likely sends many. From then on places are leased some at a time and messages gather in a chunk
//! of this thread, which is moved into the mailbox when it is full and when the turn ends: one lock
//! and at most one wake for all of them.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;
use std::task::Waker;

use crate::interface::Interface;
use crate::limits::RUN_CALLS_MAX;
use crate::parked::Ticket;
use crate::queue::Mail;
use crate::reference::{Attempt, Local};
use crate::reply::ReplySlot;

thread_local! {
    static STAGES: RefCell<Stages> =
        const { RefCell::new(Stages { recent: 0, stages: Vec::new() }) };
}

/// What this thread's turn has for all mailboxes.
struct Stages {
    /// Where the actor lives that was sent to last, directly; 0 for none. Only compared.
    recent: usize,
    /// With the address of each one's actor, which the stage keeps alive.
    stages: Vec<(usize, Box<dyn Publish>)>,
}

/// What one turn has for one mailbox.
struct Stage<I: Interface> {
    /// Keeps the actor from ending before it has got what was sent to it.
    local: Arc<Local<I>>,
    mails: Vec<Mail<I::Message>>,
    /// Places that are ours and not used yet.
    room: usize,
}

/// A stage whose messages are of any type.
trait Publish: Any {
    fn publish(&mut self);
}

impl<I: Interface> Publish for Stage<I> {
    fn publish(&mut self) {
        self.local.mailbox.publish(&mut self.mails, self.room, 0);
        self.room = 0;
    }
}

impl Stages {
    /// The stage for `local`; there is one from the second message on.
    #[inline(always)]
    fn find<I: Interface>(&mut self, local: &Arc<Local<I>>) -> Option<&mut Stage<I>> {
        let wanted = Arc::as_ptr(local).addr();
        let at = match self.stages.first() {
            Some((first, _)) if *first == wanted => 0,
            _ => self.find_or_begin(local, wanted)?,
        };
        let (_, stage) = self.stages.get_mut(at)?;
        let any: &mut dyn Any = &mut **stage;
        any.downcast_mut()
    }

    #[cold]
    fn find_or_begin<I: Interface>(
        &mut self,
        local: &Arc<Local<I>>,
        wanted: usize,
    ) -> Option<usize> {
        if let Some(at) = self.stages.iter().position(|(address, _)| *address == wanted) {
            return Some(at);
        }
        if std::mem::replace(&mut self.recent, wanted) != wanted {
            return None;
        }
        let stage = Stage { local: local.clone(), mails: Vec::new(), room: 0 };
        self.stages.push((wanted, Box::new(stage)));
        Some(self.stages.len() - 1)
    }
}

impl<I: Interface> Stage<I> {
    /// Moves what there is into the mailbox and leases the next places; false when there are none.
    #[cold]
    fn renew(&mut self) -> bool {
        self.room = self.local.mailbox.publish(&mut self.mails, self.room, RUN_CALLS_MAX);
        self.room > 0
    }
}

/// Sends within a turn.
#[inline]
pub(crate) fn push<I: Interface>(
    local: &Arc<Local<I>>,
    message: &mut Option<I::Message>,
    mut reply: ReplySlot,
    ticket: &mut Ticket,
    waker: Option<&Waker>,
) -> Attempt<()> {
    let staged = STAGES.with(|stages| {
        // Somebody sends while his own message is dropped or encoded: it takes the direct way.
        let Ok(mut stages) = stages.try_borrow_mut() else {
            return false;
        };
        let Some(stage) = stages.find(local) else {
            return false;
        };
        if ticket.is_parked() || stage.room == 0 && !stage.renew() {
            stage.publish();
            return false;
        }
        if let Some(message) = message.take() {
            let reply = std::mem::replace(&mut reply, ReplySlot::Nobody);
            stage.mails.push(Mail { message, reply });
            stage.room -= 1;
        }
        true
    });
    if !staged {
        return local.push(message, reply, ticket, waker);
    }
    Attempt::Sent(())
}

/// Publishes everything of this thread; the end of a turn.
pub(crate) fn publish_all() {
    STAGES.with(|stages| {
        let Ok(mut stages) = stages.try_borrow_mut() else {
            return;
        };
        stages.recent = 0;
        if stages.stages.is_empty() {
            return;
        }
        let mut done = std::mem::take(&mut stages.stages);
        drop(stages);
        done.iter_mut().for_each(|(_, stage)| stage.publish());
    });
}
