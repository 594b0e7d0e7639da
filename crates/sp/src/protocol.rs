//! The interface of every protocol, so that one socket can drive them all.
//!
//! The caller opens and closes pipes, hands over bodies and received messages, and then calls
//! [`Protocol::next_event`] until it returns `None`: that is how a protocol reaches the pipes. No
//! call waits; a call that cannot be done now returns its argument.

mod event;
mod refusal;

use alloc::vec::Vec;
use core::fmt::Debug;
use core::mem;
use core::time::Duration;

use bytes::Bytes;
use wigwag_wire::{Batch, Framing, ProtocolNumber, Time};

pub use event::{CloseReason, ProtocolEvent, Received};
pub use refusal::{RecvError, Refusal, Refused, RefusedRaw};

use crate::limits::Hops;
use crate::stream::{BatchBuilder, take_frame};
use crate::{
    ContextError, ContextId, Counters, InboundRun, Message, PipeId, Priority, QueueLength,
    RawMessage, RunRoom,
};

/// One SP socket without bytes, clock or threads.
pub trait Protocol: Send + Debug {
    /// The protocol number that this end announces.
    fn number(&self) -> ProtocolNumber;

    /// Adds a pipe to a partner that is ready for use.
    fn open(&mut self, pipe: PipeId, now: Time) -> Result<(), CloseReason>;

    /// Removes a pipe. Its messages go to other pipes or are counted; an unknown number changes
    /// nothing.
    fn close(&mut self, pipe: PipeId, now: Time);

    /// [`close`](Self::close) of a pipe that the peer or the network has ended. A protocol that
    /// would send a message again may find that the peer does not accept it.
    fn close_by_peer(&mut self, pipe: PipeId, now: Time) {
        self.close(pipe, now);
    }

    /// [`close`](Self::close) of a pipe that this side ends because a message of the peer has so many
    /// bytes, more than the receive limit. `first`: the first four of them as a number, if they have
    /// come. A protocol that would ask for the message again would be sent it again.
    fn close_by_length(&mut self, pipe: PipeId, _bytes: usize, _first: Option<u32>, now: Time) {
        self.close(pipe, now);
    }

    /// Sets the priority of an open pipe: which pipe a message goes to first, and whose messages
    /// the user receives first. A protocol that does not choose between its pipes ignores it.
    fn set_priority(&mut self, _pipe: PipeId, _send: Priority, _receive: Priority) {}

    /// Discards all messages: the socket and its pipes are closed. Counts unsent messages as
    /// [`DropReason::Unsent`](crate::DropReason::Unsent) and unread ones as [`DropReason::Unread`](crate::DropReason::Unread).
    fn finish(&mut self) {}

    /// Accepts a body from the user and puts it into the outbox of the pipe that will carry it. A
    /// refusal changes nothing.
    fn send(&mut self, body: Bytes, now: Time) -> Result<(), Refused>;

    /// Moves the messages that wait for `pipe` into `out`, as many as it accepts; from now on they
    /// count as sent.
    fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>);

    /// [`fill`](Self::fill) with one message, which is returned without its framing; its header may
    /// be in front of its body.
    fn transmit(&mut self, pipe: PipeId) -> Option<Message> {
        let (mut batch, framing) = (Batch::new(), Framing::Tcp);
        self.fill(pipe, &mut BatchBuilder::new(&mut batch, framing).messages_max(1));
        take_frame(&mut batch, framing)
    }

    /// Accepts a message that arrived on `pipe`: header and body, without the framing.
    fn receive(&mut self, pipe: PipeId, message: Bytes, now: Time) -> Received;

    /// The messages of `pipe` that [`receive_run`](Self::receive_run) accepts together; `None` if
    /// each must be received alone.
    fn run_room(&self, _pipe: PipeId) -> Option<RunRoom> {
        None
    }

    /// [`receive`](Self::receive) of a run that [`run_room`](Self::run_room) accepts: all of its
    /// messages wait for the user.
    fn receive_run(&mut self, pipe: PipeId, mut run: InboundRun, now: Time) {
        while let Some(message) = run.next() {
            self.receive(pipe, message, now);
        }
    }

    /// True if the caller should read nothing from `pipe`, because there is no room for it. A
    /// caller that checks before each [`receive`](Self::receive) loses nothing;
    /// [`ProtocolEvent::Resume`] announces that there is room again.
    fn is_paused(&self, pipe: PipeId) -> bool;

    /// Takes the next body for the user.
    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError>;

    /// Changes a setting of the socket.
    fn set(&mut self, _setting: Setting) -> Result<(), SettingError> {
        Err(SettingError::NotOf(self.number()))
    }

    /// The number of the exchange whose answer a [`recv`](Self::recv) waits for. A caller that
    /// waits while it changes waits for an answer that can no longer come.
    fn round(&self) -> u64 {
        0
    }

    /// True if there is room for a message that any peer may receive. Always true where the
    /// protocol never waits, or where the message names its peer.
    fn has_room(&self) -> bool {
        true
    }

    /// [`send`](Self::send) with a header from the user; only for raw sockets, and for pair1 with
    /// many peers, whose header is the number of the pipe or empty.
    fn send_raw(&mut self, message: RawMessage, _now: Time) -> Result<(), RefusedRaw> {
        Err(RefusedRaw { message, why: Refusal::NotRaw })
    }

    /// [`recv`](Self::recv) with the header; for the protocols that have
    /// [`send_raw`](Self::send_raw).
    fn recv_raw(&mut self, _now: Time) -> Result<RawMessage, RecvError> {
        Err(RecvError::NotRaw)
    }

    /// Opens a context: another exchange beside that of the socket itself.
    fn open_context(&mut self) -> Result<ContextId, ContextError> {
        Err(ContextError::NotOf(self.number()))
    }

    /// Closes a context; its open question is cancelled, and its unanswered request is abandoned.
    fn close_context(&mut self, _context: ContextId, _now: Time) {}

    /// [`send`](Self::send) from a context.
    fn send_in(&mut self, _context: ContextId, body: Bytes, now: Time) -> Result<(), Refused> {
        self.send(body, now)
    }

    /// [`recv`](Self::recv) for a context.
    fn recv_in(&mut self, _context: ContextId, now: Time) -> Result<Bytes, RecvError> {
        self.recv(now)
    }

    /// [`send_in`](Self::send_in) that takes the body only if it is accepted. Protocols for many
    /// small messages implement it: a body that is copied anyway is not moved through each call
    /// before, which saves the sender 10 ns of 127.
    fn send_from(
        &mut self,
        context: ContextId,
        body: &mut Bytes,
        now: Time,
    ) -> Result<(), Refusal> {
        self.send_in(context, mem::take(body), now).map_err(|refused| {
            *body = refused.body;
            refused.why
        })
    }

    /// [`recv_in`](Self::recv_in) into `place`, for the same reason.
    fn recv_into(
        &mut self,
        context: ContextId,
        place: &mut Bytes,
        now: Time,
    ) -> Result<(), RecvError> {
        *place = self.recv_in(context, now)?;
        Ok(())
    }

    /// [`recv_in`](Self::recv_in) again and again, until `bodies` has `limit` more. A protocol for many
    /// small messages takes them out together.
    ///
    /// # Errors
    /// The first body cannot be taken.
    fn recv_many(
        &mut self,
        context: ContextId,
        bodies: &mut Vec<Bytes>,
        limit: usize,
        now: Time,
    ) -> Result<(), RecvError> {
        let before = bodies.len();
        while bodies.len() < before + limit {
            let mut place = Bytes::new();
            match self.recv_into(context, &mut place, now) {
                Ok(()) => bodies.push(place),
                // It is the outcome of the next call.
                Err(_) if bodies.len() > before => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// [`set`](Self::set) for a context.
    fn set_in(&mut self, _context: ContextId, setting: Setting) -> Result<(), SettingError> {
        self.set(setting)
    }

    /// [`round`](Self::round) of a context.
    fn round_in(&self, _context: ContextId) -> u64 {
        self.round()
    }

    /// Cancels the exchange with this [`round`](Self::round_in), unless the context has a newer
    /// one.
    fn cancel(&mut self, _context: ContextId, _round: u64, _now: Time) {}

    /// True if [`round_in`](Self::round_in) is not always 0. Always the same, so that the caller need not
    /// ask for each message.
    fn has_rounds(&self) -> bool {
        false
    }

    /// True if calls use their `now` argument or there may be a [`deadline`](Self::deadline);
    /// otherwise any time will do, which saves the caller a clock read for each message. Always the
    /// same.
    fn uses_time(&self) -> bool {
        false
    }

    /// Handles the passing of time; to be called at [`deadline`](Self::deadline) or later.
    fn tick(&mut self, _now: Time) {}

    /// When [`tick`](Self::tick) is due; `None` if nothing waits for a time.
    fn deadline(&self) -> Option<Time> {
        None
    }

    /// The next event that the caller must act on.
    fn next_event(&mut self) -> Option<ProtocolEvent>;

    /// True if senders wait for an answer: then a message is written at once instead of in a batch.
    fn in_lock_step(&self) -> bool {
        false
    }

    /// The counters so far.
    fn counters(&self) -> Counters;
}

/// A setting of a socket that its user may change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Setting {
    /// sub: adds a subscription to this prefix.
    Subscribe(Bytes),
    /// sub: removes a subscription to this prefix.
    Unsubscribe(Bytes),
    /// surveyor: how long answers count, from the next survey on; `None`: until the next survey.
    SurveyTime(Option<Duration>),
    /// req: when a request without a reply is sent again, from the next request on; `None`: never.
    ResendTime(Option<Duration>),
    /// rep, respondent, star and pair version 1: the limit of the hops that a message may have come
    /// over.
    HopsMax(Hops),
    /// Messages that may wait to be written, for each peer.
    SendQueue(QueueLength),
    /// Messages that may wait for the user, from each peer.
    ReceiveQueue(QueueLength),
}

/// Why a setting was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// Only other protocols have this setting.
    #[error("a {0} socket has no such setting")]
    NotOf(ProtocolNumber),
    /// There is no subscription to that topic.
    #[error("there is no subscription to that topic")]
    NoSuchTopic,
    /// The limit of topics is reached.
    #[error("there are {} topics already, which is the limit", crate::limits::TOPICS_MAX)]
    TooManyTopics,
    /// The context is closed.
    #[error("the context is closed")]
    NoContext,
}
