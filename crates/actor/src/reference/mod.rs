//! References to actors, in this process or in another.
//!
//! `Local` reaches a mailbox of this process, `Remote` a [`Route`] that the node provides. The
//! caller writes the same line for both.

pub mod interface;
pub mod inbound_queue;
pub mod answers;
pub mod run_log;
#[cfg(all(test, wigwag_loom))]
mod run_log_loom;
pub mod run_writer;
pub mod spin;
pub mod replace;
pub mod alive;
pub mod route;
pub(crate) mod local_batch;

use std::sync::Arc;
use std::task::Waker;

use crate::error::{CallError, CallErrorKind};
use crate::lifecycle::handle::Handle;
use crate::mailbox::Mailbox;
use crate::mailbox::backlog::Pushed;
use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::remote_bound::RemoteBound;
use crate::reference::inbound_queue::{Exported, InboundQueue, TypedInboundQueue};
use crate::reference::interface::Interface;
use crate::reference::route::{Acknowledgement, Attempt, Route};
use crate::reference::run_writer::RunOwner;
use crate::reply::Asker;
use crate::reply::owner::InboundQueueOwner;
use crate::schema::Schema;
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
    /// The route, and the route's identity as an owner of runs.
    Remote(Arc<dyn Route<I>>, RunOwner),
}

/// Which queue of the mailbox a call waits in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Behind the calls that were sent before.
    Ordinary,
    /// Ahead of all ordinary calls; see [`Call::urgent`](crate::Call::urgent).
    Urgent,
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

    pub(crate) fn push(
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
    pub(crate) fn push_or_find_asleep(
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
    fn attempt(&self, pushed: Pushed, is_told: bool, message: &Option<I::Message>) -> Attempt<()> {
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

    #[cold]
    fn failed(&self, kind: CallErrorKind) -> Attempt<()> {
        Attempt::Failed(Box::new(CallError::new(kind, self.mailbox.target())))
    }
}

/// Sends to an actor of this process: in the turn's batch, or directly outside a turn.
#[inline]
pub(crate) fn send<I: Interface>(
    local: &LocalRef<I>,
    message: &mut Option<I::Message>,
    asker: Asker,
    ticket: &mut Ticket,
    waker: Option<&Waker>,
) -> Attempt<()> {
    if turn::is_open() {
        return local_batch::push(local, message, asker, ticket, waker);
    }
    local.push(message, asker, ticket, waker)
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

    /// True when the actor lives in this process and is called without encoding.
    pub fn is_local(&self) -> bool {
        matches!(self.place, Place::Local(_))
    }

    /// The actor that is called: its type when it is local, its address otherwise.
    pub fn target(&self) -> &Arc<str> {
        match &self.place {
            Place::Local(local) => local.mailbox.target(),
            Place::Remote(route, _) => route.target(),
        }
    }

    /// The actor's side for a node that exports it; `None` for an actor of another process.
    #[doc(hidden)]
    pub fn exported(&self) -> Option<Arc<dyn Exported>> {
        match &self.place {
            Place::Local(local) => Some(Arc::new(local.clone())),
            Place::Remote(..) => None,
        }
    }

    /// True for clones of one reference.
    #[inline(always)]
    pub(crate) fn is_same(&self, other: &Ref<I>) -> bool {
        match (&self.place, &other.place) {
            (Place::Local(one), Place::Local(other)) => Arc::ptr_eq(&one.mailbox, &other.mailbox),
            (Place::Remote(_, one), Place::Remote(_, other)) => one == other,
            _ => false,
        }
    }

    /// Adds a tell to the batch or the run of the tells before it, if the turn has one for this
    /// actor.
    ///
    /// # Errors
    /// The message, which still must be sent.
    #[inline(always)]
    pub(crate) fn add(&self, message: I::Message) -> Result<(), I::Message> {
        match &self.place {
            Place::Local(local) => local_batch::add(local, message),
            Place::Remote(_, run_owner) if run_writer::add(*run_owner, &message) => Ok(()),
            Place::Remote(..) => Err(message),
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
            (Place::Local(local), Priority::Ordinary) => send(local, message, None, ticket, waker),
            (Place::Local(local), Priority::Urgent) => {
                local.push_urgent(message, None, ticket, waker)
            }
            (Place::Remote(route, _), Priority::Ordinary) => route.tell(message, ticket, waker),
            (Place::Remote(..), Priority::Urgent) => self.not_urgent_there(),
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
        match (&self.place, kind) {
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
        match (&self.place, priority) {
            (Place::Local(local), Priority::Ordinary) => local.mailbox.leave(ticket),
            (Place::Local(local), Priority::Urgent) => local.mailbox.leave_urgent(ticket),
            (Place::Remote(route, _), _) => route.leave(ticket),
        }
    }
}

/// What a choice between references needs to know.
impl<I: Interface> Ref<I> {
    /// The number of an actor of this process.
    pub(crate) fn actor_number(&self) -> Option<u64> {
        match &self.place {
            Place::Local(local) => Some(local.mailbox.number()),
            Place::Remote(..) => None,
        }
    }

    /// True when no later call can reach the actor.
    pub(crate) fn has_ended(&self) -> bool {
        match &self.place {
            Place::Local(local) => Handle::new(local.mailbox.clone()).is_ended(),
            Place::Remote(route, _) => route.has_ended(),
        }
    }

    /// False while there is no connection to the actor's process.
    pub(crate) fn is_reachable(&self) -> bool {
        match &self.place {
            Place::Local(_) => true,
            Place::Remote(route, _) => route.disconnection().is_none(),
        }
    }

    /// The calls that wait for the actor, as far as this process knows.
    pub(crate) fn waiting(&self) -> usize {
        match &self.place {
            Place::Local(local) => Handle::new(local.mailbox.clone()).waiting(),
            Place::Remote(route, _) => route.waiting(),
        }
    }
}

impl<I: Interface> Exported for LocalRef<I> {
    fn number(&self) -> u64 {
        self.mailbox.number()
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

    fn is_stopped(&self) -> bool {
        self.mailbox.is_closed()
    }
}

impl<I: Interface> Clone for Ref<I> {
    fn clone(&self) -> Ref<I> {
        let place = match &self.place {
            Place::Local(local) => Place::Local(local.clone()),
            Place::Remote(route, run_owner) => Place::Remote(route.clone(), *run_owner),
        };
        Ref { place }
    }
}

impl<I: Interface> std::fmt::Debug for Ref<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ref({})", self.target())
    }
}
