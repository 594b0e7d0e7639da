//! What an actor says of itself, and calls by name: for tools that know no interface.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use wigwag_actor::schema::FIRST_METHOD;
use wigwag_actor::{Attempt, CallError, CallErrorKind, Slot, Ticket};
use wigwag_wire::small::Scratch;
use wigwag_wire::{Buffer, Decode, Reader};

use crate::send::channel::{Arguments, Channel};

/// The method that every actor has.
const DESCRIBE: u32 = 0;

/// A method as the actor describes it: name, (argument, type) in order, type of the reply.
pub type DescribedMethod = (String, Vec<(String, String)>, String);

/// What an actor says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its type.
    pub name: String,
    /// The hash over names, order and types.
    pub hash: u64,
    /// Its methods in order.
    pub methods: Vec<DescribedMethod>,
}

impl Described {
    /// The number of the method of that name.
    pub fn number(&self, name: &str) -> Option<u32> {
        let at = self.methods.iter().position(|(method, ..)| method == name)?;
        u32::try_from(at).ok()?.checked_add(FIRST_METHOD)
    }
}

/// A reference to an actor whose interface this program does not know. Arguments and replies are
/// MessagePack, made and read by the caller.
pub struct Dynamic {
    channel: Channel,
    described: Described,
}

impl Dynamic {
    pub(crate) async fn new(channel: Channel) -> Result<Dynamic, CallError> {
        let described = describe(&channel).await?;
        Ok(Dynamic { channel, described })
    }

    /// What the actor says of itself.
    pub fn described(&self) -> &Described {
        &self.described
    }

    /// Who is called.
    pub fn target(&self) -> &Arc<str> {
        &self.channel.target
    }

    /// Sends a tell, waiting for room. `arguments` is a MessagePack array.
    pub async fn tell(&self, method: &str, arguments: &[u8]) -> Result<(), CallError> {
        let number = self.number(method)?;
        let mut parked = ParkedSender { channel: &self.channel, ticket: Ticket::default() };
        poll_fn(|context| {
            let waker = Some(context.waker());
            let ticket = &mut parked.ticket;
            match self.channel.tell(None, number, &EncodedArguments(arguments), ticket, waker) {
                Attempt::Sent(()) => Poll::Ready(Ok(())),
                Attempt::Full => Poll::Pending,
                Attempt::Failed(error) => Poll::Ready(Err(*error)),
            }
        })
        .await
    }

    /// Asks, waiting for room and for the reply, which is one MessagePack value.
    pub async fn ask(&self, method: &str, arguments: &[u8]) -> Result<Bytes, CallError> {
        ask(&self.channel, self.number(method)?, &EncodedArguments(arguments)).await
    }

    fn number(&self, method: &str) -> Result<u32, CallError> {
        self.described.number(method).ok_or_else(|| {
            CallError::new(CallErrorKind::NoSuchMethod, &self.channel.target).with_detail(method)
        })
    }
}

/// Arguments that somebody else has encoded.
struct EncodedArguments<'a>(&'a [u8]);

impl Arguments for EncodedArguments<'_> {
    fn encode_small(&self, _: bool, _: &mut Scratch, _: usize) -> Option<usize> {
        None
    }

    fn encode(&self, _: bool, out: &mut Buffer) {
        out.extend(self.0);
    }
}

/// A place in the queue of a channel, given up when its holder goes away.
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
    let (name, hash, methods) = <(String, u64, Vec<DescribedMethod>)>::decode(&mut reader)
        .map_err(|error| {
            CallError::new(CallErrorKind::BadReply, &channel.target).with_detail(&error.to_string())
        })?;
    Ok(Described { name, hash, methods })
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
                match channel.ask(method, arguments, &mut parked.ticket, waker, true) {
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

/// An ask under way, cancelled when its asker goes away.
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
