//! Calls: values that send nothing until they are told or asked.
//!
//! `counter.add(100)` builds a [`Call`]. `.try_tell()` sends it now or hands it back,
//! `.tell().await` waits for room, `.ask().await` waits for the reply, and `.timeout(d)` bounds
//! either. Threads outside a runtime use `.blocking_tell()` and `.blocking_ask()`.

mod ask_target;
pub mod tell;
pub mod answer;
pub mod ask;
pub mod urgent;
pub mod receipt;
pub mod pipeline;
pub mod pipe;
pub mod streaming;
pub mod rate_limiter;
mod unsent;
mod cycle;
pub(crate) mod time_limit;
pub(crate) mod block;

use std::marker::PhantomData;
use std::time::Duration;

use wigwag_wire::{DecodeError, Reader};

use crate::call::answer::Answer;
use crate::call::ask::Ask;
use crate::call::ask_target::AskTarget;
use crate::call::tell::Tell;
use crate::call::time_limit::TimeLimit;
use crate::error::{AskError, CallError, CallErrorKind, Refused};
use crate::mailbox::backlog::parked::Ticket;
use crate::reference::interface::Interface;
use crate::reference::local_ref::AskMode;
use crate::reference::route::Attempt;
use crate::reference::{Priority, Ref};
use crate::reply::codec::ReplyCodec;

/// A type that may be the reply to a call of the interface `I`: it can be moved to another thread,
/// and unless the actor is local, it can be encoded and decoded.
pub trait Answerable<I: Interface>: Send + Sized + 'static {
    /// Reads an answer from another process.
    ///
    /// # Errors
    /// Fails if `reader` does not begin with such a value.
    #[doc(hidden)]
    fn decode_reply(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;
}

impl<I: Interface, R: Send + 'static> Answerable<I> for R
where
    I::Codec: ReplyCodec<R>,
{
    #[inline(always)]
    fn decode_reply(reader: &mut Reader<'_>) -> Result<R, DecodeError> {
        <I::Codec as ReplyCodec<R>>::decode(reader)
    }
}

/// A call that has not been made yet: a message and the actor it is for. `R` is the type of the
/// reply.
///
/// The methods of an actor's reference build calls. A call does nothing until one of its methods
/// sends it:
///
/// - [`try_tell`](Self::try_tell) and [`tell`](Self::tell) send the message; nobody waits for a
///   reply.
/// - [`ask`](Self::ask) and [`try_ask`](Self::try_ask) send it and give the reply.
/// - [`receipt`](Self::receipt) sends it and reports whether it was handled.
///
/// ```
/// # use std::time::Duration;
/// # use wigwag_actor::{AskError, Call, Interface, call::Answerable};
/// # async fn total<I: Interface>(call: Call<'_, I, u64>) -> Result<u64, AskError<I::Message>>
/// # where u64: Answerable<I> {
/// // `call` comes from a method of a reference, as in `counter.add(100)`.
/// call.timeout(Duration::from_secs(1)).ask().await
/// # }
/// ```
#[must_use = "a call does nothing until it is told or asked"]
pub struct Call<'a, I: Interface, R> {
    pub(crate) target: &'a Ref<I>,
    pub(crate) message: I::Message,
    pub(crate) timeout: Option<Duration>,
    reply: PhantomData<fn() -> R>,
}

impl<'a, I: Interface, R> Call<'a, I, R> {
    /// Builds a call of `message` at `target`. The methods of an actor's reference use it.
    #[inline]
    pub fn new(target: &'a Ref<I>, message: I::Message) -> Call<'a, I, R> {
        Call { target, message, timeout: None, reply: PhantomData }
    }

    /// Bounds the whole wait: for room, and for the reply if the call is asked.
    ///
    /// Without a time limit an ask waits [`ASK_WAIT_MAX`](crate::limits::ASK_WAIT_MAX), 30 s.
    /// Inside a handler an ask or a tell waits
    /// [`HANDLER_WAIT_MAX`](crate::limits::HANDLER_WAIT_MAX), 5 s. A tell elsewhere waits as long as
    /// it takes.
    ///
    /// An actor of another process is told the limit of an ask whose answer is awaited with it. When
    /// nine tenths of the limit have passed before the turn of the call comes, it is not begun: the
    /// rest is kept for handling it and for the way back. Then the error is `DeadlinePassed`, or
    /// `Timeout` if the actor says so too late; the call was not handled in the first case.
    pub fn timeout(mut self, limit: Duration) -> Call<'a, I, R> {
        self.timeout = Some(limit);
        self
    }

    /// Removes the time limit: the call waits until it is answered, the actor or its session ends,
    /// or the caller drops it.
    pub fn without_limit(self) -> Call<'a, I, R> {
        self.timeout(Duration::MAX)
    }

    /// Takes the message back without sending it.
    pub fn into_message(self) -> I::Message {
        self.message
    }

    /// Sends the message if there is room now, and hands it back otherwise.
    ///
    /// # Errors
    /// [`Refused`], with the message: `Full` when there is no room now, `ActorStopped` when the
    /// actor has ended, and the other kinds that [`CallErrorKind`] lists.
    ///
    /// # Performance
    /// Outside a turn: one lock, a wake only if the other side sleeps, no allocation in steady
    /// state; consecutive tells to one remote actor take no lock, from the third one on. Inside a turn the messages are collected and published together, at the end of the
    /// turn at the latest. None of them then takes a lock of its own, neither for a local actor
    /// (from the second message on) nor for a remote one.
    #[inline]
    pub fn try_tell(self) -> Result<(), Refused<I::Message>> {
        match self.target.add(self.message) {
            Ok(()) => Ok(()),
            Err(message) => try_tell_alone(self.target, Priority::Ordinary, message),
        }
    }

    /// Sends the message, waiting for room.
    ///
    /// `Ok` means that the message is in the mailbox, or, for an actor of another process, with its
    /// session, which sends it in order and over cuts as long as this process lives. It is written
    /// at the end of the turn, or outside a turn by a task of the runtime, which is woken for it. If the thread blocks right
    /// after the call, or the turn lasts long, another thread writes it within 4 ms. A process that
    /// calls `std::process::exit` right after it takes the message along; `Node::flush` waits until
    /// the peers have everything, and `Node::close`, which `#[wigwag::main]` calls, does so for good.
    /// [`receipt`](Self::receipt) tells whether this one message was handled.
    ///
    /// How far a sender waits is its choice:
    ///
    /// - `tell().await`, until the message is sent and in its order;
    /// - `tell().sent().await`, until this message does not depend on this process any more:
    ///   [`Tell::sent`];
    /// - `node.flush().await`, the same for all that was sent so far, with one wait;
    /// - `receipt().await?.await`, until this message was handled, or certainly was not;
    /// - `ask().await`, until its reply is here.
    ///
    /// A task that tells one actor after the other yields now and then, as the budget of tokio says,
    /// also while each of them has room: after 128 times
    /// [`TELLS_PER_STEP`](crate::limits::TELLS_PER_STEP) tells.
    ///
    /// # Errors
    /// [`Refused`], with the message: `Timeout` when the time limit passes first, and what
    /// [`try_tell`](Self::try_tell) reports, except that `Full` is reported only by a mailbox that
    /// [refuses](crate::WhenFull) at once.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, the message is not sent and is dropped with it.
    /// Once it has returned `Ok` the message has been sent and cannot be taken back.
    ///
    /// # Panics
    /// When it has a time limit, has to wait, and is polled outside a tokio runtime.
    #[inline]
    pub fn tell(self) -> Tell<'a, I> {
        Tell::new(self, Priority::Ordinary)
    }

    /// Sends the message, blocking the calling thread while there is no room.
    ///
    /// # Errors
    /// Those of [`tell`](Self::tell); `BlockingInTurn` inside an actor or a `wigwag::spawn` task.
    ///
    /// # Panics
    /// Inside another task of a tokio runtime, as tokio's own blocking calls do. In `spawn_blocking`,
    /// `block_in_place` and threads of one's own it is allowed.
    #[track_caller]
    pub fn blocking_tell(self) -> Result<(), Refused<I::Message>> {
        self.tell().block()
    }
}

impl<'a, I: Interface, R: Answerable<I>> Call<'a, I, R> {
    /// Sends the message, waiting for room, and waits for the reply.
    ///
    /// # Limits
    /// Unless the call has a [time limit](Self::timeout) of its own, the whole wait is limited: inside
    /// a handler to [`HANDLER_WAIT_MAX`](crate::limits::HANDLER_WAIT_MAX), 5 s, then the error is
    /// `Overloaded`; elsewhere to [`ASK_WAIT_MAX`](crate::limits::ASK_WAIT_MAX), 30 s, then it is
    /// `Timeout`. [`without_limit`](Self::without_limit) removes the limit.
    /// Asks of an actor in another process have this time kept by the runtime of their session; while
    /// that one is blocked, they wait longer. A limit that the caller sets is kept by the runtime that
    /// polls the ask.
    ///
    /// # Errors
    /// [`AskError::Refused`](crate::AskError), with the message, when the ask was not sent;
    /// [`AskError::Failed`](crate::AskError) when it was sent and there is no reply. If the time is
    /// over while the session with the actor's process has no connection,
    /// [`CallError::disconnection`] says so.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits for room, the message is not sent. If it is dropped
    /// while it waits for the reply, the ask is cancelled: an actor that has not begun to handle it
    /// skips it, also one of another process, once it has heard of it. A handler that has begun
    /// continues, an `async` one too, and may check
    /// [`Responder::is_wanted`](crate::Responder::is_wanted); its reply is dropped. An actor of a
    /// peer of an earlier release handles the ask in any case.
    ///
    /// # Panics
    /// When it has a time limit, has to wait, and is polled outside a tokio runtime. Without a
    /// runtime there is no default limit; a runtime must have its timers enabled.
    #[inline]
    pub fn ask(self) -> Ask<'a, I, R> {
        let limit = TimeLimit::of_ask(self.timeout);
        Ask::new(AskTarget::Borrowed(self.target), self.message, limit, Priority::Ordinary)
    }

    /// Like [`ask`](Self::ask), but the future has a reference to the actor of its own, so it can be
    /// stored or moved into another task, thread or runtime, also while it waits. It keeps the actor
    /// alive as long as it lives.
    ///
    /// ```
    /// # use wigwag_actor::{Answerable, Call, CallError, Interface};
    /// # async fn total<I: Interface, R: Answerable<I>>(call: Call<'_, I, R>) -> Result<R, CallError>
    /// # where I::Message: Send {
    /// // `call` comes from a method of a reference, as in `counter.add(100)`.
    /// let asking = tokio::spawn(call.into_ask());
    /// # match asking.await {
    /// #     Ok(outcome) => outcome.map_err(|error| error.into_error()),
    /// #     Err(_) => unreachable!("it was not aborted"),
    /// # }
    /// # }
    /// ```
    ///
    /// # Performance
    /// One allocation and one more reference to the actor than [`ask`](Self::ask).
    pub fn into_ask(self) -> Ask<'static, I, R> {
        let limit = TimeLimit::of_ask(self.timeout);
        let target = AskTarget::Owned(Box::new(self.target.clone()));
        Ask::new(target, self.message, limit, Priority::Ordinary)
    }

    /// Sends the message if there is room now, and hands it back otherwise; the reply is awaited
    /// later. Many answers may be outstanding at once.
    ///
    /// # Errors
    /// Those of [`try_tell`](Self::try_tell).
    #[inline(always)]
    pub fn try_ask(self) -> Result<Answer<'a, I, R>, Refused<I::Message>> {
        try_ask(self, AskMode::Later)
    }

    /// Sends the message and blocks the calling thread until the reply arrives.
    ///
    /// # Errors
    /// Those of [`ask`](Self::ask); `BlockingInTurn` inside an actor or a `wigwag::spawn` task.
    ///
    /// # Panics
    /// Inside another task of a tokio runtime, as tokio's own blocking calls do. In `spawn_blocking`,
    /// `block_in_place` and threads of one's own it is allowed.
    #[track_caller]
    pub fn blocking_ask(self) -> Result<R, AskError<I::Message>> {
        self.ask().block()
    }
}

#[inline(always)]
fn try_ask<'a, I: Interface, R: Answerable<I>>(
    call: Call<'a, I, R>,
    mode: AskMode,
) -> Result<Answer<'a, I, R>, Refused<I::Message>> {
    let (target, mut message) = (call.target, Some(call.message));
    let asked = AskTarget::Borrowed(target);
    match Answer::send(&asked, mode, None, &mut message, &mut Ticket::default(), None) {
        Attempt::Sent(place) => Ok(Answer::new(&asked, place)),
        Attempt::Full => Err(full(target, message)),
        Attempt::Failed(error) => Err(refused(message, *error)),
    }
}

/// Sends a tell that cannot join the batch of the tells before it. A function of its own, so that
/// the common path of a busy turn stays short.
#[inline(never)]
fn try_tell_alone<I: Interface>(
    target: &Ref<I>,
    priority: Priority,
    message: I::Message,
) -> Result<(), Refused<I::Message>> {
    let mut message = Some(message);
    match target.tell(priority, &mut message, &mut Ticket::default(), None) {
        Attempt::Sent(()) => Ok(()),
        Attempt::Full => Err(full(target, message)),
        Attempt::Failed(error) => Err(refused(message, *error)),
    }
}

#[cold]
pub(crate) fn full<I: Interface>(
    target: &Ref<I>,
    message: Option<I::Message>,
) -> Refused<I::Message> {
    refused(message, CallError::new(CallErrorKind::Full, target.target()))
}

#[cold]
pub(crate) fn refused<M>(message: Option<M>, error: CallError) -> Refused<M> {
    Refused { message: message.expect("only Sent takes the message"), error }
}
