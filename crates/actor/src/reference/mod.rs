//! A reference to an actor, wherever it lives.
//!
//! `Local` reaches a mailbox of this process, `Remote` a [`Route`] that somebody else provides.
//! The caller writes the same line for both.

pub mod interface;
pub mod lane;
pub mod answers;
pub mod at_hand;
pub mod watch;
pub mod replace;
pub(crate) mod stage;

use std::sync::Arc;
use std::task::{Poll, Waker};

use bytes::Bytes;

use crate::call::Answerable;
use crate::call::pipeline::{Asks, Pipeline};
use crate::error::{CallError, CallErrorKind};
use crate::mailbox::Mailbox;
use crate::mailbox::backlog::Pushed;
use crate::mailbox::backlog::parked::Ticket;
use crate::mailbox::mails::Asker;
use crate::reference::at_hand::Borrower;
use crate::reference::interface::Interface;
use crate::reference::lane::{Exported, Lane, LaneOwner, TypedLane};
use crate::reference::watch::Watch;
use crate::schema::Schema;
use crate::turn;

/// What sending came to. The message is taken out of its `Option` only by `Sent`.
#[derive(Debug)]
pub enum Attempt<T> {
    /// It is on its way.
    Sent(T),
    /// No room now; the sender is parked if it gave a waker.
    Full,
    /// It cannot be sent. In a box, so that all else fits two registers.
    Failed(Box<CallError>),
}

/// The number of an outstanding ask at its route. One word, so that it is moved as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u64);

impl Slot {
    /// Use number `generation` of the place `index`.
    #[inline]
    pub fn new(index: u32, generation: u32) -> Slot {
        Slot(u64::from(index) << 32 | u64::from(generation))
    }

    /// The place in the route's table.
    #[inline]
    pub fn index(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Which use of the place.
    #[inline]
    pub fn generation(self) -> u32 {
        self.0 as u32
    }
}

/// Bytes of a reply that is small: two numbers, or a short text.
pub const SMALL_REPLY_BYTES: usize = 24;

/// Room for a small reply.
pub type SmallReply = [u8; SMALL_REPLY_BYTES];

/// An actor that lives elsewhere.
pub trait Route<I: Interface>: Send + Sync {
    /// Sends a tell. With a waker the sender is parked when there is no room.
    fn tell(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()>;

    /// Sends an ask. `now`: the caller polls the reply next, so nothing need be woken for it.
    fn ask(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        now: bool,
    ) -> Attempt<Slot>;

    /// The encoded reply to the ask in `slot`, if it has come and is small: it goes to `into`, and
    /// its length is given. Once; the slot is somebody else's then.
    fn take_reply(&self, slot: Slot, into: &mut SmallReply) -> Option<usize>;

    /// The encoded reply to the ask in `slot`, once; flushes what waits if it is not there.
    fn poll_reply(&self, slot: Slot, waker: &Waker) -> Poll<Result<Bytes, CallError>>;

    /// A way for many asks at once, up to `most`, and for how many there is room.
    fn pipeline(self: Arc<Self>, most: usize) -> Result<(Box<dyn Asks<I>>, usize), CallError>;

    /// Nobody waits for the reply in `slot` any more.
    fn cancel(&self, slot: Slot);

    /// A parked sender gives up.
    fn leave(&self, ticket: &mut Ticket);

    /// Who is called, for errors.
    fn target(&self) -> &Arc<str>;

    /// Who this is when it borrows the run at hand.
    fn borrower(&self) -> Borrower;

    /// Whether looking for an answer before sleeping pays here.
    fn watch(&self) -> &Watch;
}

/// A reference to an actor with interface `I`. Clones reach the same actor.
pub struct Ref<I: Interface> {
    pub(crate) place: Place<I>,
}

pub(crate) enum Place<I: Interface> {
    Local(Local<I>),
    /// Its route, and the route as one who borrows the run at hand.
    Remote(Arc<dyn Route<I>>, Borrower),
}

/// A local reference to an actor; the last one lets the actor end.
pub(crate) struct Local<I: Interface> {
    pub(crate) mailbox: Arc<Mailbox<I::Message>>,
}

impl<I: Interface> Drop for Local<I> {
    fn drop(&mut self) {
        self.mailbox.release();
    }
}

impl<I: Interface> Clone for Local<I> {
    fn clone(&self) -> Local<I> {
        Local::new(self.mailbox.clone())
    }
}

impl<I: Interface> Local<I> {
    pub(crate) fn new(mailbox: Arc<Mailbox<I::Message>>) -> Local<I> {
        mailbox.refer();
        Local { mailbox }
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

    /// The same, unless the actor [sleeps](Mailbox::push_or_find_asleep).
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

    /// The same for an urgent call.
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

/// Sends to an actor of this process: with the others of the turn, or by itself outside of one.
#[inline]
pub(crate) fn send<I: Interface>(
    local: &Local<I>,
    message: &mut Option<I::Message>,
    asker: Asker,
    ticket: &mut Ticket,
    waker: Option<&Waker>,
) -> Attempt<()> {
    if turn::is_open() {
        return stage::push(local, message, asker, ticket, waker);
    }
    local.push(message, asker, ticket, waker)
}

impl<I: Interface> Ref<I> {
    /// A reference to an actor that lives elsewhere.
    pub fn remote(route: Arc<dyn Route<I>>) -> Ref<I> {
        let borrower = route.borrower();
        Ref { place: Place::Remote(route, borrower) }
    }

    pub(crate) fn local(local: Local<I>) -> Ref<I> {
        Ref { place: Place::Local(local) }
    }

    /// True when the actor lives in this process and is called without encoding.
    pub fn is_local(&self) -> bool {
        matches!(self.place, Place::Local(_))
    }

    /// Who is called: the actor's type when it is local, its address otherwise.
    pub fn target(&self) -> &Arc<str> {
        match &self.place {
            Place::Local(local) => local.mailbox.target(),
            Place::Remote(route, _) => route.target(),
        }
    }

    /// What a node needs to let others call this actor; `None` for one that lives elsewhere.
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

    /// A way for many asks at once, up to `most`; see [`Pipeline`]. To another process it has 2,097,152
    /// places at most; the session holds 65,536 more for other pipelines, and for asks without one.
    ///
    /// # Errors
    /// `Overloaded` when the session has no room for any; whatever a call would meet.
    pub fn pipeline<R: Answerable, C>(&self, most: usize) -> Result<Pipeline<I, R, C>, CallError> {
        Pipeline::new(self, most)
    }

    /// Adds a tell to those that the turn has sent to this actor just before, if it has.
    ///
    /// # Errors
    /// The message, which must be told.
    #[inline(always)]
    pub(crate) fn add(&self, message: I::Message) -> Result<(), I::Message> {
        match &self.place {
            Place::Local(local) => stage::add(local, message),
            Place::Remote(_, borrower) if at_hand::add(*borrower, &message) => Ok(()),
            Place::Remote(..) => Err(message),
        }
    }

    #[inline]
    pub(crate) fn tell(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()> {
        match &self.place {
            Place::Local(local) => send(local, message, None, ticket, waker),
            Place::Remote(route, _) => route.tell(message, ticket, waker),
        }
    }

    pub(crate) fn leave(&self, ticket: &mut Ticket) {
        match &self.place {
            Place::Local(local) => local.mailbox.leave(ticket),
            Place::Remote(route, _) => route.leave(ticket),
        }
    }
}

impl<I: Interface> Exported for Local<I> {
    fn schema(&self) -> &'static Schema {
        I::SCHEMA
    }

    fn open_lane(&self, owner: Arc<dyn LaneOwner>) -> Box<dyn Lane> {
        Box::new(TypedLane::new(self.mailbox.clone(), owner))
    }

    fn is_stopped(&self) -> bool {
        self.mailbox.is_closed()
    }
}

impl<I: Interface> Clone for Ref<I> {
    fn clone(&self) -> Ref<I> {
        let place = match &self.place {
            Place::Local(local) => Place::Local(local.clone()),
            Place::Remote(route, borrower) => Place::Remote(route.clone(), *borrower),
        };
        Ref { place }
    }
}

impl<I: Interface> std::fmt::Debug for Ref<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ref({})", self.target())
    }
}
