//! Untyped calls: the description that an actor gives of itself, and calls by name.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use wigwag_actor::schema::FIRST_METHOD;
use wigwag_actor::{AskTiming, Attempt, CallError, CallErrorKind, Slot, Ticket};
use wigwag_wire::{Decode, Reader};

use crate::send::channel::{AfterSend, Channel, DESCRIBE};
use crate::send::description::MethodDescription;
use crate::session::buffers::encoded::EncodedArguments;
use crate::session::rejected::MethodNames;

/// One method of [`Described`]: its name, the name and type of each argument in order, and the type
/// of its reply.
pub type DescribedMethod = (String, Vec<(String, String)>, String);

/// The description that an actor gives of its interface; see the example at [`Dynamic`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The name of the actor's type.
    pub name: String,
    /// A hash over names, order and types. Two actors with the same hash have the same interface.
    pub hash: u64,
    /// The methods in order.
    pub methods: Vec<DescribedMethod>,
    /// The structs and enums that the methods use, each once, also those inside of others, to six
    /// levels. A type with an encoding of its own and one that contains itself are not described
    /// further, and a peer of an earlier release describes none.
    pub types: Vec<DescribedType>,
    /// The same, with all that is needed to match two versions.
    pub(crate) details: Vec<MethodDescription>,
}

/// A struct or an enum of [`Described`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DescribedType {
    /// Its name.
    pub name: String,
    /// The fields of the struct or the variants of the enum, in order; those of a tuple are named by
    /// their numbers.
    pub parts: Vec<DescribedPart>,
}

/// A field of a struct, or a variant of an enum.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DescribedPart {
    /// Its name.
    pub name: String,
    /// The type of a field, as written in the source; `None` for a variant.
    pub kind: Option<String>,
    /// The name and type of each field of a variant.
    pub fields: Vec<(String, String)>,
}

impl DescribedType {
    /// True for an enum, whose parts are variants.
    pub fn is_enum(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.kind.is_none())
    }
}

impl Described {
    /// The number of the method with this name; `None` if there is none.
    pub fn number(&self, name: &str) -> Option<u32> {
        let at = self.methods.iter().position(|(method, ..)| method == name)?;
        u32::try_from(at).ok()?.checked_add(FIRST_METHOD)
    }
}

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
        let described = describe(&channel).await?;
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

/// Asks an actor to describe itself.
pub(crate) async fn describe(channel: &Channel) -> Result<Described, CallError> {
    let reply = ask(channel, DESCRIBE, &EncodedArguments(&[0x90])).await?;
    let mut reader = Reader::new(&reply);
    let (name, hash, details) = <(String, u64, Vec<MethodDescription>)>::decode(&mut reader)
        .map_err(|error| {
            CallError::new(CallErrorKind::BadReply, &channel.target).with_detail(&error.to_string())
        })?;
    let names = details.iter().map(|method| method.name.clone()).collect();
    channel.name_methods(MethodNames::Described(names));
    let methods = details.iter().map(MethodDescription::public).collect();
    let types = used_types(&details);
    Ok(Described { name, hash, methods, types, details })
}

/// The types of all methods, each once.
fn used_types(methods: &[MethodDescription]) -> Vec<DescribedType> {
    let mut types = Vec::new();
    for described in methods.iter().flat_map(|method| &method.types) {
        if !types.contains(described) {
            types.push(described.clone());
        }
    }
    types
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
