//! The way to an actor of another process.

use std::sync::Arc;
use std::task::{Poll, Waker};

use bytes::Bytes;

use crate::error::CallError;
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::answers::Answers;
use crate::reference::interface::Interface;
use crate::reference::run_writer::RunOwner;
use crate::reference::spin::SpinPolicy;

/// The outcome of an attempt to send. Only `Sent` takes the message out of its `Option`.
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
    /// Sends a tell. With a waker, the sender is parked if there is no room.
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
    fn pipeline(
        self: Arc<Self>,
        most: usize,
    ) -> Result<(Box<dyn RemotePipeline<I>>, usize), CallError>;

    /// Nobody waits for the reply in `slot` any more.
    fn cancel(&self, slot: Slot);

    /// A parked sender gives up.
    fn leave(&self, ticket: &mut Ticket);

    /// The called actor, for errors.
    fn target(&self) -> &Arc<str>;

    /// The owner under which the current run may be extended.
    fn run_owner(&self) -> RunOwner;

    /// Whether looking for an answer before sleeping pays here.
    fn spin_policy(&self) -> &SpinPolicy;
}

/// The asks of one pipeline at an actor that lives elsewhere. Dropping it gives up those that have
/// no answer yet.
pub trait RemotePipeline<I: Interface>: Send {
    /// Sends ask `number`; they are counted from 0. With a waker, the sender is parked if there is
    /// no room.
    fn ask(
        &mut self,
        number: u64,
        message: &mut Option<I::Message>,
        ticket: &mut Ticket,
        waker: Option<&Waker>,
    ) -> Attempt<()>;

    /// Moves the answers that have come, from that of ask `next` on, to `into`, which is empty; at
    /// least one. Flushes what waits if there is none. An error is that of ask `next` alone.
    fn poll_answers(
        &mut self,
        next: u64,
        into: &mut Answers,
        waker: &Waker,
    ) -> Poll<Result<(), CallError>>;

    /// The asker goes away, after so many asks.
    fn leave(&mut self, asked: u64);

    /// The owner under which the current run may be extended.
    fn run_owner(&self) -> RunOwner;
}
