//! Adapters of actors of this process.

use std::sync::Arc;
use std::task::Waker;

use super::{ImplementedBy, adapted};
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::inbound_queue::Exported;
use crate::reference::interface::Interface;
use crate::reference::local_ref::{AskMode, LocalRef};
use crate::reference::route::Attempt;
use crate::reference::{Priority, local_batch};
use crate::reply::Asker;

/// An actor of this process that takes the messages of the interface `I`.
pub(crate) trait Adapter<I: Interface>: Send + Sync {
    /// Sends a call in the given way: an ask, or with no asker a tell.
    fn send(
        &self,
        mode: AskMode,
        message: &mut Option<I::Message>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()>;

    /// Publishes what the turn holds for the actor.
    fn publish(&self);

    /// Gives up the place of a sender that is parked.
    fn leave(&self, priority: Priority, ticket: &mut Ticket);

    fn actor(&self) -> &dyn AnyActor;

    fn shared_actor(&self) -> Arc<dyn AnyActor>;

    /// The actor's side for a node that exports it.
    fn exported(&self) -> Arc<dyn Exported>;
}

impl<I: Interface> Adapter<I> for LocalRef<I> {
    fn send(
        &self,
        mode: AskMode,
        message: &mut Option<I::Message>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        self.ask(mode, message, asker, ticket, waker)
    }

    fn publish(&self) {
        local_batch::publish_to(self);
    }

    fn leave(&self, priority: Priority, ticket: &mut Ticket) {
        self.leave_parked(priority, ticket);
    }

    fn actor(&self) -> &dyn AnyActor {
        &*self.mailbox
    }

    fn shared_actor(&self) -> Arc<dyn AnyActor> {
        self.mailbox.clone()
    }

    fn exported(&self) -> Arc<dyn Exported> {
        Arc::new(self.clone())
    }
}

/// An actor of this process that takes the messages of `A`, which implements other interfaces.
pub(super) struct LocalAdapter<A: Interface>(pub(super) Arc<dyn Adapter<A>>);

impl<I: ImplementedBy<A>, A: Interface> Adapter<I> for LocalAdapter<A> {
    fn send(
        &self,
        mode: AskMode,
        message: &mut Option<I::Message>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        adapted::<I, A, _>(message, |its| self.0.send(mode, its, asker, ticket, waker))
    }

    fn publish(&self) {
        self.0.publish();
    }

    fn leave(&self, priority: Priority, ticket: &mut Ticket) {
        self.0.leave(priority, ticket);
    }

    fn actor(&self) -> &dyn AnyActor {
        self.0.actor()
    }

    fn shared_actor(&self) -> Arc<dyn AnyActor> {
        self.0.shared_actor()
    }

    fn exported(&self) -> Arc<dyn Exported> {
        self.0.exported()
    }
}
