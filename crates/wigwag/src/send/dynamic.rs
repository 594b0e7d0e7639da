//! Untyped calls: asks an actor to describe itself, and calls its methods by name.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use wigwag_actor::schema::Description;
use wigwag_actor::{AskTiming, Attempt, CallError, CallErrorKind, Slot, Ticket};

use crate::limits::DESCRIBE;
use crate::limits::DESCRIPTION_BYTES_MAX;
use crate::send::channel::{AfterSend, Channel};
use crate::send::described::Described;
use crate::session::buffers::encoded::EncodedArguments;
use crate::session::rejected::MethodNames;

/// A reference to an actor whose interface this program does not know.
///
/// [`Node::dynamic`](crate::Node::dynamic) makes one. Methods are called by name; arguments and
/// replies are MessagePack, encoded and decoded by the caller. Tools use it, such as command lines
/// and gateways.
///
/// ```
/// use wigwag::{Actor, Node};
///
/// #[derive(Default)]
/// struct Counter {
///     total: u64,
/// }
///
/// #[wigwag::actor]
/// impl Counter {
///     pub fn add(&mut self, amount: u64) -> u64 {
///         self.total += amount;
///         self.total
///     }
/// }
///
/// # #[wigwag::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (service, client) = (Node::new(), Node::new());
/// service.export("counter", &Counter::default().spawn())?;
/// let bound = service.listen("tcp://127.0.0.1:0").await?;
///
/// let counter = client.dynamic(&format!("{bound}/counter")).await?;
/// let (method, arguments, reply) = &counter.described().methods[0];
/// assert_eq!((method.as_str(), arguments[0].0.as_str()), ("add", "amount"));
/// assert_eq!(reply, "u64");
/// // The arguments are an array of one element, 5; so is the reply, without the array.
/// assert_eq!(counter.ask("add", &[0x91, 5]).await?[..], [5]);
/// # Ok(()) }
/// ```
pub struct Dynamic {
    channel: Channel,
    described: Described,
}

impl Dynamic {
    pub(crate) async fn new(channel: Channel) -> Result<Dynamic, CallError> {
        let described = describe(&channel, true).await?;
        Ok(Dynamic { channel, described })
    }

    /// The interface of the actor, as it was when this reference was fetched.
    pub fn described(&self) -> &Described {
        &self.described
    }

    /// The address of the actor.
    pub fn target(&self) -> &Arc<str> {
        &self.channel.target
    }

    /// Sends a tell, and waits for room. `arguments` is one MessagePack array with an element for
    /// each argument.
    ///
    /// # Errors
    /// - [`NoSuchMethod`](CallErrorKind::NoSuchMethod) if the actor has no method of that name;
    /// - [`TooLarge`](CallErrorKind::TooLarge) if the peer accepts no message of that size;
    /// - [`ActorStopped`](CallErrorKind::ActorStopped), [`Draining`](CallErrorKind::Draining) or
    ///   [`NotDelivered`](CallErrorKind::NotDelivered) if nothing can be sent to the actor any
    ///   more.
    ///
    /// Wrong arguments are found out by the receiver only: it drops the tell, and reports it with a
    /// [session event](crate::session::SessionChange::Rejected).
    ///
    /// # Cancellation
    /// If dropped while it waits for room, nothing was sent.
    pub async fn tell(&self, method: &str, arguments: &[u8]) -> Result<(), CallError> {
        let number = self.number(method)?;
        let mut parked = ParkedSender { channel: &self.channel, ticket: Ticket::default() };
        poll_fn(|context| {
            let waker = Some(context.waker());
            let ticket = &mut parked.ticket;
            let (call, then) = ((number, &EncodedArguments(arguments)), AfterSend::Continue);
            match self.channel.send(None, None, call, ticket, waker, then) {
                Attempt::Sent(()) => Poll::Ready(Ok(())),
                Attempt::Full => Poll::Pending,
                Attempt::Failed(error) => Poll::Ready(Err(*error)),
            }
        })
        .await
    }

    /// Asks, and waits for room and for the reply, which is one MessagePack value. `arguments` is
    /// one MessagePack array with an element for each argument.
    ///
    /// # Errors
    /// - the errors of [`tell`](Dynamic::tell);
    /// - [`BadArguments`](CallErrorKind::BadArguments) if the method takes other arguments;
    /// - [`Unknown`](CallErrorKind::Unknown) if the session ends before the reply arrives.
    ///
    /// # Cancellation
    /// If dropped while it waits for room, nothing was sent. If dropped while it waits for the
    /// reply, the ask is cancelled: the handler may still run, and its reply is dropped.
    pub async fn ask(&self, method: &str, arguments: &[u8]) -> Result<Bytes, CallError> {
        ask(&self.channel, self.number(method)?, &EncodedArguments(arguments)).await
    }

    fn number(&self, method: &str) -> Result<u32, CallError> {
        self.described.number(method).ok_or_else(|| {
            CallError::new(CallErrorKind::NoSuchMethod, &self.channel.target).with_detail(method)
        })
    }
}

/// A sender's place in the queue of a channel, left on drop.
struct ParkedSender<'a> {
    channel: &'a Channel,
    ticket: Ticket,
}

impl Drop for ParkedSender<'_> {
    fn drop(&mut self) {
        if self.ticket.is_parked() {
            self.channel.session.stop_waiting(self.channel.number, &mut self.ticket);
        }
    }
}

/// Asks an actor to describe itself, with its doc comments or without.
pub(crate) async fn describe(
    channel: &Channel,
    with_comments: bool,
) -> Result<Described, CallError> {
    let arguments = EncodedArguments(Description::arguments(with_comments));
    let reply = ask(channel, DESCRIBE, &arguments).await?;
    let bad = |why: &str| CallError::new(CallErrorKind::BadReply, &channel.target).with_detail(why);
    if reply.len() > DESCRIPTION_BYTES_MAX {
        let bytes = reply.len();
        let why = format!("a description of {bytes} bytes, {DESCRIPTION_BYTES_MAX} are allowed");
        return Err(bad(&why));
    }
    let described = Described::read(&reply).map_err(|error| bad(&error.to_string()))?;
    let names = described.details.iter().map(|method| method.name.clone()).collect();
    channel.name_methods(MethodNames::Described(names));
    Ok(described)
}

async fn ask(
    channel: &Channel,
    method: u32,
    arguments: &EncodedArguments<'_>,
) -> Result<Bytes, CallError> {
    let mut parked = ParkedSender { channel, ticket: Ticket::default() };
    let mut pending = PendingAsk { channel, slot: None };
    poll_fn(|context: &mut Context<'_>| {
        let slot = match pending.slot {
            Some(slot) => slot,
            None => {
                let waker = Some(context.waker());
                let timing = AskTiming { now: true, within_ms: None };
                match channel.ask((method, arguments), &mut parked.ticket, waker, timing) {
                    Attempt::Sent(slot) => *pending.slot.insert(slot),
                    Attempt::Full => return Poll::Pending,
                    Attempt::Failed(error) => return Poll::Ready(Err(*error)),
                }
            }
        };
        let reply = channel.poll_reply(slot, context.waker());
        if reply.is_ready() {
            pending.slot = None;
        }
        reply
    })
    .await
}

/// An ask in flight, cancelled on drop.
struct PendingAsk<'a> {
    channel: &'a Channel,
    slot: Option<Slot>,
}

impl Drop for PendingAsk<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.channel.cancel(slot);
        }
    }
}
