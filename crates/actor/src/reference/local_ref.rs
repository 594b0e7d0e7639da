//! References to actors of this process whose type is known.

use std::any::Any;
use std::sync::Arc;
use std::task::Waker;

use crate::error::{CallError, CallErrorKind};
use crate::lifecycle::counters::{ActorCounters, RemoteCallCounters};
use crate::lifecycle::handle::Handle;
use crate::mailbox::Mailbox;
use crate::mailbox::backlog::Pushed;
use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::remote_bound::RemoteBound;
use crate::reference::inbound_queue::{Exported, InboundQueue, TypedInboundQueue};
use crate::reference::interface::Interface;
use crate::reference::route::Attempt;
use crate::reference::{Priority, Ref, local_batch};
use crate::reply::Asker;
use crate::reply::owner::InboundQueueOwner;
use crate::scheduler::{DirectCall, InlineRun};
use crate::schema::Schema;
use crate::turn;

/// How an ask is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskMode {
    /// The answer is awaited later, so the ask may leave with the other messages of the turn.
    Later,
    /// The caller polls the answer next.
    Now,
    /// The caller polls the answer next, and an idle actor of this process may run on the caller's
    /// thread.
    Inline,
    /// The ask goes ahead of ordinary calls.
    Urgent,
}

impl AskMode {
    /// The way of an ask whose answer is awaited later, and of a tell, which has none.
    pub(crate) fn awaited_later(priority: Priority) -> AskMode {
        match priority {
            Priority::Ordinary => AskMode::Later,
            Priority::Urgent => AskMode::Urgent,
        }
    }
}

/// A local reference to an actor; dropping the last one ends the actor.
pub(crate) struct LocalRef<I: Interface> {
    pub(crate) mailbox: Arc<Mailbox<I::Message>>,
}

impl<I: Interface> Drop for LocalRef<I> {
    fn drop(&mut self) {
        self.mailbox.release();
    }
}

impl<I: Interface> Clone for LocalRef<I> {
    fn clone(&self) -> LocalRef<I> {
        LocalRef::new(self.mailbox.clone())
    }
}

impl<I: Interface> LocalRef<I> {
    pub(crate) fn new(mailbox: Arc<Mailbox<I::Message>>) -> LocalRef<I> {
        mailbox.refer();
        LocalRef { mailbox }
    }

    /// Sends in the turn's batch, or directly outside a turn.
    #[inline]
    pub(crate) fn send(
        &self,
        message: &mut Option<I::Message>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        if turn::is_open() {
            return local_batch::push(self, message, asker, ticket, waker);
        }
        self.push(message, asker, ticket, waker)
    }

    /// Sends an ask in the given way, or runs the actor to answer it.
    #[inline(always)]
    pub(crate) fn ask(
        &self,
        mode: AskMode,
        message: &mut Option<I::Message>,
        mut asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        match mode {
            AskMode::Later => return self.send(message, asker, ticket, waker),
            AskMode::Urgent => return self.push_urgent(message, asker, ticket, waker),
            AskMode::Now | AskMode::Inline => local_batch::publish_to(self),
        }
        if mode == AskMode::Inline {
            match self.push_or_find_asleep(message, &mut asker, ticket, waker) {
                Ok(sent) => return sent,
                Err(actor) => {
                    if let Some(actor) = InlineRun::begin(actor) {
                        actor.run(&mut DirectCall::Local { message, asker: &mut asker });
                    }
                    if message.is_none() {
                        return Attempt::Sent(());
                    }
                }
            }
        }
        self.push(message, asker, ticket, waker)
    }

    pub(super) fn push(
        &self,
        message: &mut Option<I::Message>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        let is_told = asker.is_none();
        let pushed = self.mailbox.push(message, asker, ticket, waker);
        self.attempt(pushed, is_told, message)
    }

    /// Sends a call unless the actor [sleeps](Mailbox::push_or_find_asleep).
    #[inline]
    fn push_or_find_asleep(
        &self,
        message: &mut Option<I::Message>,
        asker: &mut Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Result<Attempt<()>, Waker> {
        let pushed = self.mailbox.push_or_find_asleep(message, asker, ticket, waker)?;
        Ok(self.attempt(pushed, false, message))
    }

    /// Sends an urgent call.
    pub(crate) fn push_urgent(
        &self,
        message: &mut Option<I::Message>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        let is_told = asker.is_none();
        let pushed = self.mailbox.push_urgent(message, asker, ticket, waker);
        self.attempt(pushed, is_told, message)
    }

    #[inline]
    pub(super) fn attempt(
        &self,
        pushed: Pushed,
        is_told: bool,
        message: &Option<I::Message>,
    ) -> Attempt<()> {
        match pushed {
            Pushed::In { .. } => Attempt::Sent(()),
            Pushed::Full => Attempt::Full,
            Pushed::Refused => self.failed(CallErrorKind::Full),
            Pushed::Closed => {
                if is_told && let Some(message) = message {
                    self.mailbox.lost(message);
                }
                self.failed(CallErrorKind::ActorStopped)
            }
        }
    }

    /// Gives up the place of a sender that is parked.
    pub(super) fn leave_parked(&self, priority: Priority, ticket: &mut Ticket) {
        match priority {
            Priority::Ordinary => self.mailbox.leave(ticket),
            Priority::Urgent => self.mailbox.leave_urgent(ticket),
        }
    }

    #[cold]
    fn failed(&self, kind: CallErrorKind) -> Attempt<()> {
        Attempt::Failed(Box::new(CallError::new(kind, self.mailbox.target())))
    }
}

impl<I: Interface> Exported for LocalRef<I> {
    fn number(&self) -> u64 {
        self.mailbox.number()
    }

    fn handle(&self) -> Option<Handle> {
        Some(Handle::new(self.mailbox.clone()))
    }

    fn reference(&self) -> Box<dyn Any + Send + Sync> {
        Box::new(Ref::local(self.clone()))
    }

    fn schema(&self) -> &'static Schema {
        I::SCHEMA
    }

    fn open_inbound_queue(&self, owner: Arc<dyn InboundQueueOwner>) -> Box<dyn InboundQueue> {
        Box::new(TypedInboundQueue::new(self.mailbox.clone(), owner))
    }

    fn remote_bound(&self) -> Option<RemoteBound> {
        self.mailbox.remote_bound()
    }

    fn remote_counters(&self) -> Arc<RemoteCallCounters> {
        self.mailbox.remote_counters()
    }

    fn counters(&self) -> ActorCounters {
        self.mailbox.counters()
    }

    fn is_stopped(&self) -> bool {
        self.mailbox.is_closed()
    }
}
