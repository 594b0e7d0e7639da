//! References to actors, in this process or in another.
//!
//! `Local` reaches a mailbox of this process, `Remote` a [`Route`] that the node provides. The
//! caller writes the same line for both.

pub mod interface;
pub mod value;
pub mod inbound_queue;
pub mod answers;
pub mod run_log;
#[cfg(all(test, wigwag_loom))]
mod run_log_loom;
pub mod run_writer;
pub mod route;
pub mod adapter;
pub(crate) mod pipe;
pub(crate) mod local_batch;
pub(crate) mod local_ref;

use std::sync::Arc;
use std::task::Waker;

use crate::error::{CallError, CallErrorKind};
use crate::lifecycle::handle::{AnyActor, Handle};
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::adapter::Adapter;
use crate::reference::inbound_queue::Exported;
use crate::reference::interface::Interface;
use crate::reference::local_ref::{AskMode, LocalRef};
use crate::reference::pipe::{AnyPipe, Pipe};
use crate::reference::route::{Acknowledgement, Attempt, Route};
use crate::reference::run_writer::RunOwner;
use crate::reference::value::RemoteActor;
use crate::reply::Asker;
use crate::turn;

/// A reference to an actor with interface `I`, in this process or in another. Clones reach the same
/// actor.
///
/// The macros wrap it in a type with one method per method of the actor, each of which builds a
/// [`Call`](crate::Call).
///
/// - [`pipeline`](Self::pipeline) keeps many asks under way at once.
/// - [`Alive`](crate::Alive) gives the [`Handle`] of an actor of this process, and
///   access to its state.
///
/// An actor ends when its last reference is dropped; a [name](crate::registry) and an export count
/// as references.
pub struct Ref<I: Interface> {
    pub(crate) place: Place<I>,
}

pub(crate) enum Place<I: Interface> {
    Local(LocalRef<I>),
    /// An actor of this process, called through an interface that it implements.
    Adapted(Arc<dyn Adapter<I>>),
    /// The route, and the route's identity as an owner of runs.
    Remote(Arc<dyn Route<I>>, RunOwner),
    /// The actor that an answer leads to, be it in this process or in another.
    Piped(Arc<Pipe<I>>),
}

/// The route to an actor of another process; `None` while an answer has not come that leads to it.
pub(crate) type KnownRoute<'a, I> = Option<&'a Arc<dyn Route<I>>>;

/// Which queue of the mailbox a call waits in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Behind the calls that were sent before.
    Ordinary,
    /// Ahead of all ordinary calls; see [`Call::urgent`](crate::Call::urgent).
    Urgent,
}

impl<I: Interface> Ref<I> {
    /// A reference to an actor of another process.
    #[doc(hidden)]
    pub fn remote(route: Arc<dyn Route<I>>) -> Ref<I> {
        let run_owner = route.run_owner();
        Ref { place: Place::Remote(route, run_owner) }
    }

    pub(crate) fn local(local: LocalRef<I>) -> Ref<I> {
        Ref { place: Place::Local(local) }
    }

    pub(crate) fn piped(pipe: Arc<Pipe<I>>) -> Ref<I> {
        Ref { place: Place::Piped(pipe) }
    }

    /// The reference in an answer, if it is known; otherwise this one.
    pub(crate) fn resolved(&self) -> &Ref<I> {
        let mut at = self;
        while let Place::Piped(pipe) = &at.place {
            let Some(reference) = pipe.reference() else { break };
            at = reference;
        }
        at
    }

    /// The answer that leads to the actor, if it has not come, or was not looked at.
    pub(crate) fn awaited_answer(&self) -> Option<Arc<dyn AnyPipe>> {
        match &self.resolved().place {
            Place::Piped(pipe) => Some(pipe.clone()),
            Place::Local(_) | Place::Adapted(_) | Place::Remote(..) => None,
        }
    }

    /// True if a call may fail with the error of the ask whose answer leads to the actor.
    pub(crate) fn is_behind_ask(&self) -> bool {
        match &self.resolved().place {
            Place::Remote(route, _) => route.is_behind_ask(),
            Place::Piped(_) => true,
            Place::Local(_) | Place::Adapted(_) => false,
        }
    }

    /// True when the actor lives in this process and is called without encoding.
    pub fn is_local(&self) -> bool {
        self.local_actor().is_some()
    }

    /// The actor, if it lives in this process.
    #[inline]
    pub(crate) fn local_actor(&self) -> Option<&dyn AnyActor> {
        match &self.resolved().place {
            Place::Local(local) => Some(&*local.mailbox),
            Place::Adapted(adapter) => Some(adapter.actor()),
            Place::Remote(..) | Place::Piped(_) => None,
        }
    }

    /// The actor of this process that answers the next call: that of the reference, or while an
    /// answer is awaited that holds it, the one that was asked.
    pub(crate) fn shared_actor(&self) -> Option<Arc<dyn AnyActor>> {
        match &self.resolved().place {
            Place::Piped(pipe) => pipe.asked_actor(),
            _ => self.actor_or_route().ok(),
        }
    }

    /// The actor that is called: its type when it is local, its address otherwise.
    pub fn target(&self) -> &Arc<str> {
        match &self.resolved().place {
            Place::Local(local) => local.mailbox.target(),
            Place::Adapted(adapter) => adapter.actor().target(),
            Place::Remote(route, _) => route.target(),
            Place::Piped(pipe) => pipe.target(),
        }
    }

    /// The actor's side for a node that exports it; `None` for an actor of another process.
    #[doc(hidden)]
    pub fn exported(&self) -> Option<Arc<dyn Exported>> {
        match &self.resolved().place {
            Place::Local(local) => Some(Arc::new(local.clone())),
            Place::Adapted(adapter) => Some(adapter.exported()),
            Place::Remote(..) | Place::Piped(_) => None,
        }
    }

    /// The route to an actor of another process.
    #[doc(hidden)]
    pub fn route(&self) -> Option<Arc<dyn Route<I>>> {
        match &self.resolved().place {
            Place::Remote(route, _) => Some(route.clone()),
            Place::Local(_) | Place::Adapted(_) | Place::Piped(_) => None,
        }
    }

    /// The actor of another process, if its node knows references that are sent on.
    #[doc(hidden)]
    pub fn remote_actor(&self) -> Option<RemoteActor> {
        match &self.resolved().place {
            Place::Remote(route, _) => route.remote_actor(),
            Place::Local(_) | Place::Adapted(_) | Place::Piped(_) => None,
        }
    }

    /// True for clones of one reference, and for references to one actor of this process.
    #[inline(always)]
    pub(crate) fn is_same(&self, other: &Ref<I>) -> bool {
        match (&self.resolved().place, &other.resolved().place) {
            (Place::Local(one), Place::Local(other)) => Arc::ptr_eq(&one.mailbox, &other.mailbox),
            (Place::Remote(_, one), Place::Remote(_, other)) => one == other,
            (Place::Adapted(one), Place::Adapted(other)) => {
                one.actor().number() == other.actor().number()
            }
            (Place::Piped(one), Place::Piped(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// Adds a tell to the batch or the run of the tells before it, if the turn, or outside of turns
    /// the thread, has one for this actor.
    ///
    /// # Errors
    /// The message, which still must be sent.
    #[inline(always)]
    pub(crate) fn add(&self, message: I::Message) -> Result<(), I::Message> {
        match &self.place {
            Place::Local(local) => local_batch::add(local, message),
            Place::Remote(_, owner) if run_writer::add(*owner, &message) => Ok(()),
            Place::Remote(_, owner)
                if !turn::is_open() && run_writer::add_between_turns(*owner, &message) =>
            {
                Ok(())
            }
            Place::Adapted(_) | Place::Remote(..) | Place::Piped(_) => Err(message),
        }
    }

    #[inline]
    pub(crate) fn tell(
        &self,
        priority: Priority,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        match (&self.place, priority) {
            (Place::Local(local), Priority::Ordinary) => local.send(message, None, ticket, waker),
            (Place::Local(local), Priority::Urgent) => {
                local.push_urgent(message, None, ticket, waker)
            }
            (Place::Adapted(adapter), _) => {
                adapter.send(AskMode::awaited_later(priority), message, None, ticket, waker)
            }
            (Place::Remote(route, _), Priority::Ordinary) => route.tell(message, ticket, waker),
            (Place::Remote(..), Priority::Urgent) => self.not_urgent_there(),
            (Place::Piped(pipe), _) => pipe.with(ticket, waker, |reference, ticket| {
                reference.tell(priority, message, ticket, waker)
            }),
        }
    }

    /// Sends a tell that is in the actor's mailbox when this returns, or else is acknowledged later.
    pub(crate) fn tell_acknowledged(
        &self,
        priority: Priority,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<Option<Acknowledgement>> {
        match (&self.place, priority) {
            (Place::Remote(route, _), Priority::Ordinary) => {
                route.tell_acknowledged(message, ticket, waker).map(Some)
            }
            (Place::Remote(..), Priority::Urgent) => self.not_urgent_there(),
            (Place::Local(local), _) => {
                let sent = self.tell(priority, message, ticket, waker);
                local_batch::publish_to(local);
                sent.map(|()| None)
            }
            (Place::Adapted(adapter), _) => {
                let sent = self.tell(priority, message, ticket, waker);
                adapter.publish();
                sent.map(|()| None)
            }
            (Place::Piped(pipe), _) => pipe.with(ticket, waker, |reference, ticket| {
                reference.tell_acknowledged(priority, message, ticket, waker)
            }),
        }
    }

    /// Sends an ordinary call with an asker to an actor of this process. There is no room for it in
    /// a reference to another one.
    pub(crate) fn send_local(
        &self,
        message: &mut Option<I::Message>,
        asker: Asker,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        match &self.place {
            Place::Local(local) => local.send(message, asker, ticket, waker),
            Place::Adapted(adapter) => adapter.send(AskMode::Later, message, asker, ticket, waker),
            Place::Piped(pipe) => pipe.with(ticket, waker, |reference, ticket| {
                reference.send_local(message, asker, ticket, waker)
            }),
            Place::Remote(..) => Attempt::Full,
        }
    }

    /// The error of an urgent call to an actor of another process.
    #[cold]
    pub(crate) fn not_urgent_there<T>(&self) -> Attempt<T> {
        let why = "an urgent call goes before others only in the actor's own process";
        let error = CallError::new(CallErrorKind::Remote, self.target()).with_detail(why);
        Attempt::Failed(Box::new(error))
    }

    /// The error of a call that is given up; if its time is over, with the reason why the peer
    /// cannot be reached.
    #[cold]
    pub(crate) fn gave_up(&self, kind: CallErrorKind) -> CallError {
        let error = CallError::new(kind, self.target());
        match (&self.resolved().place, kind) {
            (Place::Remote(route, _), CallErrorKind::Timeout(_) | CallErrorKind::Overloaded) => {
                match route.disconnection() {
                    Some(gone) => error.while_disconnected(gone),
                    None => error,
                }
            }
            _ => error,
        }
    }

    /// Gives up the place of a sender that is parked.
    #[inline(always)]
    pub(crate) fn leave(&self, priority: Priority, ticket: &mut Ticket) {
        if ticket.is_parked() {
            self.leave_parked(priority, ticket);
        }
    }

    #[cold]
    fn leave_parked(&self, priority: Priority, ticket: &mut Ticket) {
        match &self.place {
            Place::Local(local) => local.leave_parked(priority, ticket),
            Place::Adapted(adapter) => adapter.leave(priority, ticket),
            Place::Remote(route, _) => route.leave(ticket),
            Place::Piped(pipe) => {
                if let (false, Some(reference)) = (pipe.leave_own(ticket), pipe.reference()) {
                    reference.leave(priority, ticket);
                }
            }
        }
    }
}

/// The facts that a choice between references needs.
impl<I: Interface> Ref<I> {
    /// The number of an actor of this process.
    pub(crate) fn actor_number(&self) -> Option<u64> {
        self.local_actor().map(AnyActor::number)
    }

    /// The actor, if it lives in this process, or else the route to it. Neither is known while an
    /// answer has not come that leads to it.
    fn actor_or_route(&self) -> Result<Arc<dyn AnyActor>, KnownRoute<'_, I>> {
        match &self.resolved().place {
            Place::Local(local) => Ok(local.mailbox.clone()),
            Place::Adapted(adapter) => Ok(adapter.shared_actor()),
            Place::Remote(route, _) => Err(Some(route)),
            Place::Piped(_) => Err(None),
        }
    }

    /// The handle of an actor of this process, or else the route to the actor, if either is known.
    pub(crate) fn handle_or_route(&self) -> Result<Handle, KnownRoute<'_, I>> {
        self.actor_or_route().map(Handle::new)
    }

    /// True when no later call can reach the actor.
    pub(crate) fn has_ended(&self) -> bool {
        match &self.resolved().place {
            Place::Local(local) => local.mailbox.control().has_ended(),
            Place::Adapted(adapter) => adapter.actor().control().has_ended(),
            Place::Remote(route, _) => route.has_ended(),
            Place::Piped(pipe) => pipe.error().is_some(),
        }
    }

    /// False while there is no connection to the actor's process.
    pub(crate) fn is_reachable(&self) -> bool {
        match &self.resolved().place {
            Place::Local(_) | Place::Adapted(_) | Place::Piped(_) => true,
            Place::Remote(route, _) => route.disconnection().is_none(),
        }
    }

    /// The calls that wait for the actor, as far as this process knows.
    pub(crate) fn waiting(&self) -> usize {
        match &self.resolved().place {
            Place::Local(local) => local.mailbox.waiting(),
            Place::Adapted(adapter) => adapter.actor().waiting(),
            Place::Remote(route, _) => route.waiting(),
            Place::Piped(_) => 0,
        }
    }
}

impl<I: Interface> Clone for Ref<I> {
    fn clone(&self) -> Ref<I> {
        let place = match &self.place {
            Place::Local(local) => Place::Local(local.clone()),
            Place::Adapted(adapter) => Place::Adapted(adapter.clone()),
            Place::Remote(route, run_owner) => Place::Remote(route.clone(), *run_owner),
            Place::Piped(pipe) => Place::Piped(pipe.clone()),
        };
        Ref { place }
    }
}

impl<I: Interface> std::fmt::Debug for Ref<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ref({})", self.target())
    }
}
