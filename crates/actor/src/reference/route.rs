//! Routes: the way to an actor of another process, as the node provides it.

use std::any::Any;
use std::future::Future;
use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use wigwag_spin::SpinPolicy;
use wigwag_wire::{DecodeError, Reader};

use crate::error::{CallError, Disconnection};
use crate::lifecycle::end_watchers::{EndWatcher, NotLinked, NotWatched};
use crate::mailbox::backlog::parked::Ticket;
use crate::reason::Reason;
use crate::reference::answers::Answers;
use crate::reference::interface::Interface;
use crate::reference::run_writer::RunOwner;
use crate::reference::value::RemoteActor;
use crate::reply::caller::Caller;

/// The outcome of an attempt to send. The message is taken out of its `Option` only by `Sent`.
#[derive(Debug)]
pub enum Attempt<T> {
    /// The message was sent.
    Sent(T),
    /// There is no room now; the sender is parked if it gave a waker.
    Full,
    /// It cannot be sent. Boxed, so that every other value fits two registers.
    Failed(Box<CallError>),
}

impl<T> Attempt<T> {
    /// Applies `sent` to the value of an attempt that was sent.
    #[inline(always)]
    pub fn map<U>(self, sent: impl FnOnce(T) -> U) -> Attempt<U> {
        match self {
            Attempt::Sent(value) => Attempt::Sent(sent(value)),
            Attempt::Full => Attempt::Full,
            Attempt::Failed(error) => Attempt::Failed(error),
        }
    }
}

/// A future that completes when the peer has acknowledged a tell, or when its session has ended
/// before that: then with the outcome of the tell, `NotDelivered` or `Unknown`.
pub type Acknowledgement = Pin<Box<dyn Future<Output = Result<(), CallError>> + Send>>;

/// The number of an outstanding ask at its route. One word, so that it is moved as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u64);

impl Slot {
    /// The slot at `index`, used for the time number `generation`.
    #[inline]
    pub fn new(index: u32, generation: u32) -> Slot {
        Slot(u64::from(index) << 32 | u64::from(generation))
    }

    /// The place in the route's table.
    #[inline]
    pub fn index(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The number of the use of that place.
    #[inline]
    pub fn generation(self) -> u32 {
        self.0 as u32
    }
}

/// When the reply to an ask is awaited.
#[derive(Clone, Copy, Debug, Default)]
pub struct AskTiming {
    /// The caller polls the reply next, so nothing need be woken for it.
    pub now: bool,
    /// The milliseconds for which the caller waits at most, if it has set a limit: when they have
    /// passed at the actor, the call need not be begun.
    pub within_ms: Option<NonZeroU32>,
}

/// Bytes of a small reply: a few numbers and short texts.
pub const SMALL_REPLY_BYTES: usize = 120;

/// A buffer for a small reply.
pub type SmallReply = [u8; SMALL_REPLY_BYTES];

/// An actor of this process that is to be linked to one of another.
#[derive(Clone)]
pub struct RemoteLink {
    /// Its number, which no other actor of this process has.
    pub number: u64,
    /// The name of its type.
    pub actor: Arc<str>,
    /// Called once, at the end of the other actor, without a lock of the route.
    pub ended: Arc<dyn Fn(&Reason) + Send + Sync>,
}

/// The way to an actor of another process. The node implements it;
/// [`Ref::remote`](crate::Ref::remote) takes it.
pub trait Route<I: Interface>: Send + Sync {
    /// Sends a tell. If there is no room, a sender with a waker is parked.
    fn tell(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()>;

    /// Sends a tell by itself, behind all that the turn holds for the peer. If there is no room, a
    /// sender with a waker is parked.
    fn tell_acknowledged(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<Acknowledgement>;

    /// Sends an ask.
    fn ask(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        timing: AskTiming,
    ) -> Attempt<Slot>;

    /// Copies the encoded reply to the ask in `slot` to `into`, if it has arrived and is small, and
    /// returns its length. At most once; after that the slot is reused.
    fn take_reply(&self, slot: Slot, into: &mut SmallReply) -> Option<usize>;

    /// The encoded reply to the ask in `slot`, once; flushes pending sends if it has not arrived.
    fn poll_reply(&self, slot: Slot, waker: &Waker) -> Poll<Result<Bytes, CallError>>;

    /// Makes the route wake the caller of an ask, by the waker of its last
    /// [`poll_reply`](Self::poll_reply), when it has waited for `limit` from now on. False if the route
    /// keeps no time.
    fn begin_wait(&self, slot: Slot, limit: Duration) -> bool {
        let _ = (slot, limit);
        false
    }

    /// True if that time is over.
    fn has_waited(&self, slot: Slot) -> bool {
        let _ = slot;
        false
    }

    /// Opens a pipeline of up to `most` asks at once; also returns the number that there is room
    /// for.
    fn pipeline(
        self: Arc<Self>,
        most: usize,
    ) -> Result<(Box<dyn RemotePipeline<I>>, usize), CallError>;

    /// Sends an ask that is answered with a stream. Its producer may be `ahead` short items ahead of
    /// the consumer, or as many as the route allows.
    fn stream(
        &self,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
        ahead: Option<usize>,
    ) -> Attempt<Box<dyn ItemSource>>;

    /// Sends an ask, and in front of it opens a channel to the actor that the reference in its answer
    /// leads to, which is called by an interface with this hash. `name` is its address, for errors.
    /// `None` if the route cannot do that now; then nothing was sent.
    fn ask_piped(
        &self,
        _message: &mut Option<I::Message>,
        _name: &Arc<str>,
        _schema_hash: u64,
    ) -> Option<PipedChannel> {
        None
    }

    /// Gives up the reply in `slot`: a call that has not begun need not be handled.
    fn cancel(&self, slot: Slot);

    /// Gives up the reply in `slot` of a call that is to be handled nevertheless.
    fn disown(&self, slot: Slot);

    /// Gives up the place of a parked sender.
    fn leave(&self, ticket: &mut Ticket);

    /// The address of the actor, for errors.
    fn target(&self) -> &Arc<str>;

    /// True when no later call can reach the actor: it has stopped, or its session is over.
    fn has_ended(&self) -> bool;

    /// Tells `watcher`, once, when [`has_ended`](Self::has_ended) becomes true. Returns the
    /// number of the watch.
    fn watch_end(&self, number: u64, watcher: EndWatcher) -> Result<(), NotWatched>;

    /// Ends a watch; nothing happens if its watcher has been told.
    fn unwatch_end(&self, number: u64);

    /// Links an actor of this process to the actor: its process is told of the end of the one, as
    /// [`unlink`](Self::unlink) says, and `link.ended` is told of the end of the other, or that it
    /// takes no link. Linking again replaces the watcher.
    fn link(&self, _link: RemoteLink) -> Result<(), NotLinked> {
        Err(NotLinked::Refused("its node knows no links".into()))
    }

    /// Ends a link: with the reason for which the actor of this process has ended, or because it is
    /// undone. Nothing happens if the link has ended.
    fn unlink(&self, _number: u64, _reason: Option<&Reason>) {}

    /// The node of the actor, if it is known.
    fn peer(&self) -> Option<Caller> {
        None
    }

    /// Why no later call can reach the actor, once that is so.
    fn end_reason(&self) -> Reason {
        Reason::Unknown
    }

    /// The calls that were sent and that the actor's process has not reported as handled.
    fn waiting(&self) -> usize;

    /// Why the actor's process cannot be reached now; `None` if there is a connection.
    fn disconnection(&self) -> Option<Disconnection>;

    /// Calls `read` while references to actors can be read from `value`, a reply of the actor. It
    /// returns false if the reply was not read: then the references in it are let go.
    fn reading(&self, _value: &[u8], read: &mut dyn FnMut() -> bool) {
        read();
    }

    /// The actor, as its reference is sent on to another process; `None` if its node does not know
    /// such references.
    fn remote_actor(&self) -> Option<RemoteActor> {
        None
    }

    /// True if calls go, or would go, over the session with this number of the node.
    fn is_over(&self, _session: u64) -> bool {
        false
    }

    /// True if a call may fail with the error of the ask whose answer leads to the actor.
    fn is_behind_ask(&self) -> bool {
        false
    }

    /// The identity under which this route owns runs that are handed out.
    fn run_owner(&self) -> RunOwner;

    /// Whether it pays to spin for an answer before parking.
    fn spin_policy(&self) -> &SpinPolicy;
}

/// A channel that was opened in front of an ask, to the actor that its answer leads to.
pub struct PipedChannel {
    /// The slot of the ask.
    pub slot: Slot,
    /// The channel, as the node knows it; [`Interface::piped_reference`] takes it.
    pub channel: Box<dyn Any + Send>,
}

/// Reads an item out of its encoding.
pub type ReadItem<'r> = dyn FnMut(&mut Reader<'_>) -> Result<(), DecodeError> + 'r;

/// The items of a stream of an actor of another process. Dropping it before the end cancels the
/// stream.
pub trait ItemSource: Send + Sync {
    /// Calls `read` on the next item, and on some of those that have come behind it. `None` after the
    /// end; after an error there is nothing more. Flushes pending sends if nothing has come.
    ///
    /// The caller asks again when the program has taken them all: then the producer may send more.
    fn poll_items(
        &mut self,
        read: &mut ReadItem<'_>,
        waker: &Waker,
    ) -> Poll<Option<Result<(), CallError>>>;
}

/// The asks of one pipeline to an actor of another process.
pub trait RemotePipeline<I: Interface>: Send {
    /// Sends ask `number`, counted from 0. If there is no room, a sender with a waker is parked.
    fn ask(
        &mut self,
        number: u64,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()>;

    /// Moves the answers that have arrived, beginning with that of ask `next`, to `into`, which is
    /// empty; at least one. Flushes pending sends if there is none. An error is that of ask `next`
    /// alone.
    fn poll_answers(
        &mut self,
        next: u64,
        into: &mut Answers,
        waker: &Waker,
    ) -> Poll<Result<(), CallError>>;

    /// The asker goes away after `asked` asks: those that have no answer yet are cancelled.
    fn leave(&mut self, asked: u64);

    /// Calls `read` while references to actors can be read from `value`, a reply of the actor. It
    /// returns false if the reply was not read: then the references in it are let go.
    fn reading(&self, _value: &[u8], read: &mut dyn FnMut() -> bool) {
        read();
    }

    /// The identity under which this pipeline owns runs that are handed out.
    fn run_owner(&self) -> RunOwner;
}
