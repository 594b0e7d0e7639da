//! What every protocol answers, so that one socket can drive them all.
//!
//! The caller opens and closes pipes, hands over bodies and received messages, and then asks
//! [`Protocol::next_event`] until nothing is left: that is how a protocol reaches the pipes.
//! No call waits; a call that cannot be done now hands back what it was given.

use core::fmt::Debug;
use core::time::Duration;

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::limits::Hops;
use crate::{
    ContextError, ContextId, Counters, DropReason, Message, PipeId, Priority, QueueLength,
    RawMessage,
};

/// One SP socket without bytes, clock or threads.
pub trait Protocol: Send + Debug {
    /// The number that this end announces.
    fn number(&self) -> ProtocolNumber;

    /// A pipe to a partner is ready to use.
    fn open(&mut self, pipe: PipeId, now: Time) -> Result<(), CloseReason>;

    /// The pipe is gone. What waited for it goes elsewhere or is counted; a number that is not
    /// open changes nothing.
    fn close(&mut self, pipe: PipeId, now: Time);

    /// Ranks an open pipe among the others: to which a message goes first, and whose messages the
    /// user gets first. A protocol that does not choose between its pipes has no use for it.
    fn set_priority(&mut self, _pipe: PipeId, _send: Priority, _receive: Priority) {}

    /// The socket is closed, and so are its pipes: counts what was not written as
    /// [`DropReason::Unsent`] and what the user has not taken as [`DropReason::Unread`], and
    /// forgets it.
    fn finish(&mut self) {}

    /// Takes a body from the user and puts it into the outbox of the pipe that shall carry it.
    /// A refusal changes nothing.
    fn send(&mut self, body: Bytes, now: Time) -> Result<(), Refused>;

    /// The next message for the wire of `pipe`; it counts as gone from here on.
    fn transmit(&mut self, pipe: PipeId) -> Option<Message>;

    /// Takes what came in on `pipe`: header and body, without the framing.
    fn receive(&mut self, pipe: PipeId, message: Bytes, now: Time) -> Received;

    /// True while nothing should be read from `pipe`, because there is no room for it. Whoever
    /// asks before each [`receive`](Self::receive) loses nothing; [`ProtocolEvent::Resume`] tells when
    /// there is room again.
    fn is_paused(&self, pipe: PipeId) -> bool;

    /// The next body for the user.
    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError>;

    /// Changes how the socket works.
    fn set(&mut self, _setting: Setting) -> Result<(), SettingError> {
        Err(SettingError::NotOf(self.number()))
    }

    /// The number of the exchange whose answer a [`recv`](Self::recv) waits for. A caller that
    /// waits and sees it change waits for something that cannot come any more.
    fn round(&self) -> u64 {
        0
    }

    /// True when a message that any peer may have finds room. Where nobody is waited for, or the
    /// message names its peer, that is always so.
    fn has_room(&self) -> bool {
        true
    }

    /// [`send`](Self::send) with the header as the user gives it; raw sockets have it, and pair1
    /// with many peers, whose header is the number of the pipe or nothing.
    fn send_raw(&mut self, message: RawMessage, _now: Time) -> Result<(), RefusedRaw> {
        Err(RefusedRaw { message, why: Refusal::NotRaw })
    }

    /// [`recv`](Self::recv) with the header; those have it that have [`send_raw`](Self::send_raw).
    fn recv_raw(&mut self, _now: Time) -> Result<RawMessage, RecvError> {
        Err(RecvError::NotRaw)
    }

    /// Another exchange beside that of the socket itself.
    fn open_context(&mut self) -> Result<ContextId, ContextError> {
        Err(ContextError::NotOf(self.number()))
    }

    /// Ends the context; what it has asked is cancelled, what it was to answer is abandoned.
    fn close_context(&mut self, _context: ContextId, _now: Time) {}

    /// [`send`](Self::send) from a context.
    fn send_in(&mut self, _context: ContextId, body: Bytes, now: Time) -> Result<(), Refused> {
        self.send(body, now)
    }

    /// [`recv`](Self::recv) for a context.
    fn recv_in(&mut self, _context: ContextId, now: Time) -> Result<Bytes, RecvError> {
        self.recv(now)
    }

    /// [`set`](Self::set) for a context.
    fn set_in(&mut self, _context: ContextId, setting: Setting) -> Result<(), SettingError> {
        self.set(setting)
    }

    /// [`round`](Self::round) of a context.
    fn round_in(&self, _context: ContextId) -> u64 {
        self.round()
    }

    /// Gives up the exchange with this [`round`](Self::round_in), if the context has no newer one.
    fn cancel(&mut self, _context: ContextId, _round: u64, _now: Time) {}

    /// True when calls look at their `now`; otherwise any time will do, which saves the caller a
    /// look at the clock for each message.
    fn uses_time(&self) -> bool {
        false
    }

    /// Time has passed; call it at [`deadline`](Self::deadline) or later.
    fn tick(&mut self, _now: Time) {}

    /// When [`tick`](Self::tick) is due; `None` when nothing waits for time to pass.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// Who must be told of what changed since it was last asked.
    fn next_event(&mut self) -> Option<ProtocolEvent>;

    /// True when whoever sends will wait for an answer: then a message is written at once instead
    /// of waiting for company.
    fn in_lock_step(&self) -> bool {
        false
    }

    /// The numbers so far.
    fn counters(&self) -> Counters;
}

/// Something about a socket that its user may change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Setting {
    /// sub: one more subscription to this prefix.
    Subscribe(Bytes),
    /// sub: one subscription to this prefix less.
    Unsubscribe(Bytes),
    /// surveyor: how long answers count, from the next survey on; `None`: until the next one.
    SurveyTime(Option<Duration>),
    /// req: when a request without a reply is sent again, from the next request on; `None`: never.
    ResendTime(Option<Duration>),
    /// rep, respondent, star and pair version 1: how many hops a message may have come.
    HopsMax(Hops),
    /// Messages that may wait for the wire, for each peer.
    SendQueue(QueueLength),
    /// Messages that may wait for the user, from each peer.
    ReceiveQueue(QueueLength),
}

/// Why a setting was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// Only other protocols have it.
    #[error("a {0} socket has no such setting")]
    NotOf(ProtocolNumber),
    /// There is no subscription to that topic.
    #[error("there is no subscription to that topic")]
    NoSuchTopic,
    /// There are as many topics as there may be.
    #[error("there are {} topics already, which is the limit", crate::limits::TOPICS_MAX)]
    TooManyTopics,
    /// The context is closed.
    #[error("the context is closed")]
    NoContext,
}

/// Who must be told of what changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolEvent {
    /// The pipe's outbox was empty and is not: call [`Protocol::transmit`].
    Transmit(PipeId),
    /// The pipe was paused and has room: read on.
    Resume(PipeId),
    /// Whoever was refused with [`Refusal::NoPipe`] or [`Refusal::Full`] may try again.
    SendReady,
    /// Whoever was answered [`RecvError::Empty`] may try again.
    RecvReady,
    /// Whoever was answered so in this context may try again.
    ContextRecvReady(ContextId),
    /// Whoever was refused with [`Refusal::Full`] for this very peer may try again.
    PipeSendReady(PipeId),
}

/// What became of a message that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It waits for the user.
    Queued,
    /// No topic asks for it; it is thrown away, as it should be.
    Unwanted,
    /// It is gone, and counted; the pipe goes on.
    Dropped(DropReason),
    /// The peer breaks the protocol: close the pipe.
    Close(CloseReason),
}

/// Why a pipe must be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CloseReason {
    /// A pair has one peer, and this socket has it.
    #[error("a pair socket has one peer at a time, and this one has it")]
    HasPeer,
    /// The message is shorter than its protocol header.
    #[error("the peer sent {0} bytes, fewer than the header of its protocol has")]
    TooShort(usize),
    /// Bits that must be zero are not.
    #[error("the peer set reserved bits: its header is {0:08x}")]
    ReservedBits(u32),
    /// No room for another pipe: too much is unread from pipes that are gone.
    #[error("too many messages are unread from peers that have left")]
    Crowded,
}

/// A body that could not be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refused {
    /// What the user gave, unchanged.
    pub body: Bytes,
    /// Why.
    pub why: Refusal,
}

/// A message with a header that could not be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct RefusedRaw {
    /// What the user gave, unchanged.
    pub message: RawMessage,
    /// Why.
    pub why: Refusal,
}

/// Why a body could not be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No pipe is open; one may come.
    #[error("no peer is connected")]
    NoPipe,
    /// Every pipe's outbox is full; they drain.
    #[error("the send queue is full")]
    Full,
    /// A reply needs a request first.
    #[error("there is no request to reply to")]
    NoRequest,
    /// This side of the protocol never sends.
    #[error("a {0} socket only receives")]
    OnlyReceives(ProtocolNumber),
    /// The peer that the message is for has left, or never was.
    #[error("the peer that the message is for is not connected")]
    PeerGone,
    /// No peer would understand the header.
    #[error("the header of {0} bytes is none of this protocol")]
    BadHeader(usize),
    /// Only raw sockets send headers that the user gives.
    #[error("the socket is not raw, and makes its headers itself")]
    NotRaw,
    /// The context is closed.
    #[error("the context is closed")]
    NoContext,
}

impl Refusal {
    /// True when waiting may help.
    pub fn is_temporary(self) -> bool {
        matches!(self, Refusal::NoPipe | Refusal::Full)
    }
}

/// Why there is no body for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecvError {
    /// Nothing has come yet.
    #[error("nothing has come yet")]
    Empty,
    /// No request is under way whose reply could come.
    #[error("no request was sent whose reply could come")]
    NoRequest,
    /// No survey is under way whose answers could come.
    #[error("no survey was sent whose answers could come")]
    NoSurvey,
    /// The survey's time is over; whoever had not answered will not be heard.
    #[error("the survey's time is over")]
    SurveyOver,
    /// The peer that had the request is gone, and the socket does not send it again.
    #[error("the connection that carried the request is gone, and resending is off")]
    RequestLost,
    /// This side of the protocol never receives.
    #[error("a {0} socket only sends")]
    OnlySends(ProtocolNumber),
    /// Only raw sockets give headers.
    #[error("the socket is not raw, and keeps its headers")]
    NotRaw,
    /// The context is closed.
    #[error("the context is closed")]
    NoContext,
}
