//! The side of a session that knows actors and callers, as the [dispatcher](crate::dispatch) calls
//! it.
//!
//! A node, the simulator, the fuzz targets and the model test implement [`Application`] once each.

use alloc::vec::Vec;
use core::ops::DerefMut;

use bytes::Bytes;
use wigwag_wire::BufferSlice;

use crate::code::Code;
use crate::error::LinkError;
use crate::flow_control::credit::{ActorBound, Grant, StreamId};
use crate::frames::frame::Frame;
use crate::recv_half::{ChannelCalls, ItemRun, ReplyRun};
use crate::send_half::SendHalf;

/// The peer's request (ATTACH) for a channel to one of our actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attach<'a> {
    /// The actor.
    pub target: Target<'a>,
    /// The hash of the interface that the peer calls it by.
    pub schema_hash: u64,
    /// How the peer wants to encode arguments.
    pub codec: u8,
}

/// How an [`Attach`] names its actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target<'a> {
    /// By the name under which it is exported.
    Name(&'a [u8]),
    /// By the number that a reference to it has.
    Reference(u128),
    /// By the number of a reference that this node has sent on: the actor lives on a third node.
    Relayed(u128),
    /// The actor that the reference in the answer to an ask of the peer leads to, which has not come
    /// yet: its slot and generation.
    Answer(u32, u32),
}

/// An actor as ATTACHED describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActorReference {
    /// Its number, which no other actor of this node has.
    pub number: u64,
    /// The number by which a holder of a reference attaches to it; sent if the session knows
    /// references.
    pub reference: u128,
    /// The peer's actors may be linked to it; sent if the session knows links.
    pub may_link: bool,
}

/// An actor of the peer as the peer describes it in ATTACHED.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadReference {
    /// Its number, which no other actor of the peer has.
    pub number: u64,
    /// The number of references to it, from a peer that knows references.
    pub reference: Option<u128>,
    /// Actors of this node may be linked to it.
    pub may_link: bool,
}

/// Bytes of ATTACHED about an actor: both numbers, and a byte whose lowest bit permits links.
pub(crate) const ACTOR_BYTES: usize = 25;

impl ActorReference {
    /// The bytes in ATTACHED, and how many of them are sent.
    pub(crate) fn bytes(
        &self,
        knows_references: bool,
        knows_links: bool,
    ) -> ([u8; ACTOR_BYTES], usize) {
        let mut bytes = [0; ACTOR_BYTES];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..24].copy_from_slice(&self.reference.to_le_bytes());
        bytes[24] = u8::from(self.may_link);
        (bytes, if knows_links { ACTOR_BYTES } else { 8 + 16 * usize::from(knows_references) })
    }
}

impl ReadReference {
    /// Reads what the peer says; the later parts are missing from a peer that knows no references,
    /// or no links.
    pub fn read(bytes: &[u8]) -> Option<ReadReference> {
        let (number, rest) = bytes.split_first_chunk()?;
        let (number, may_link) = (u64::from_le_bytes(*number), false);
        if rest.is_empty() {
            return Some(ReadReference { number, reference: None, may_link });
        }
        let (reference, rest) = rest.split_first_chunk()?;
        let reference = Some(u128::from_le_bytes(*reference));
        match rest {
            [] => Some(ReadReference { number, reference, may_link }),
            [flags] => Some(ReadReference { number, reference, may_link: flags & 1 == 1 }),
            _ => None,
        }
    }
}

/// The actor that an [`Attach`] has found.
#[derive(Clone, Debug)]
pub struct Found<A> {
    /// The actor, as the application knows it.
    pub actor: A,
    /// The hash of its interface.
    pub schema_hash: u64,
    /// How arguments are to be encoded.
    pub codec: u8,
    /// The bound that it sets for its remote callers, if it has one.
    pub bound: Option<ActorBound>,
    /// The reference that the peer is told of; `None` if it is not known yet.
    pub reference: Option<ActorReference>,
}

/// The peer's answer (ATTACHED) to our request for a channel to one of its actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached<'a> {
    /// The units that the channel may use.
    pub limit: u64,
    /// The hash of the actor's interface.
    pub schema_hash: u64,
    /// How arguments are to be encoded.
    pub codec: u8,
    /// Bytes that are the same for every channel to one actor, and for no other; empty from a peer that
    /// does not say.
    pub reference: &'a [u8],
}

/// A report (REJECTED) of the tells of one method that the peer has not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejected<'a> {
    /// The method, by the peer's number; 0 stands for all methods without a count of their own.
    pub method: u64,
    /// Rejected tells since ATTACH.
    pub tells: u64,
    /// Why the first one was rejected.
    pub code: Code,
    /// The reason in words, for people.
    pub text: &'a [u8],
}

/// A call that came in parts.
#[derive(Clone, Debug)]
pub struct LongCall {
    /// The channel.
    pub channel: u64,
    /// The credit units that it costs.
    pub units: u64,
    /// The call, as [`ChannelCalls::bytes`] would hold it.
    pub frame: Bytes,
}

impl LongCall {
    /// The call as one of those that came in frames.
    pub fn run(&self) -> ChannelCalls<'_> {
        ChannelCalls { channel: self.channel, calls: 1, units: self.units, bytes: &self.frame }
    }
}

/// How a stream that is a value ends (ITEM_END).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemEnd {
    /// Its sender has sent everything, or has failed.
    Sent,
    /// Its reader leaves; the sender ends it.
    Left,
    /// Its receiver has not opened it, so there is nothing to end.
    Refused,
}

impl ItemEnd {
    /// Reads the `how` of ITEM_END.
    pub fn read(how: u8) -> Option<ItemEnd> {
        [ItemEnd::Sent, ItemEnd::Left, ItemEnd::Refused].get(usize::from(how)).copied()
    }

    /// The `how` of ITEM_END.
    pub fn how(self) -> u8 {
        self as u8
    }
}

/// The side of a session that knows actors and askers.
///
/// Methods are called in the order of the peer's frames. An error ends the batch where it stands.
pub trait Application {
    /// An actor that ATTACH has found.
    type Actor;
    /// The application's part of a channel that the peer calls on.
    type Channel;
    /// Exclusive access to the send half.
    type SendHalf<'a>: DerefMut<Target = SendHalf>
    where
        Self: 'a;
    /// The reason to read no further.
    type Error: From<LinkError>;

    /// Gives exclusive access to the send half.
    fn send_half(&mut self) -> Self::SendHalf<'_>;

    /// A batch begins: the send half has taken its ack. `has_room` says that calls have room again
    /// that had none, `is_settled` that everything we published is acknowledged.
    fn acknowledged(&mut self, has_room: bool, is_settled: bool);

    /// The memory of long messages that the peer has acknowledged. To free it takes a millisecond
    /// for 16 MiB, for which an application may have another thread.
    fn released(&mut self, _messages: Vec<BufferSlice>) {}

    /// A frame comes that is neither part of a run of calls or replies nor an item, before its meaning is
    /// looked at.
    fn frame(&mut self, _frame: &Frame<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Calls come that are handed over together, before they are paid for.
    #[inline(always)]
    fn calls_arrived(&mut self, _run: &ChannelCalls<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The batch has ended, or was left at an error. Calls that were put into channels may have been
    /// [published](Self::publish), or wait for those of the next batch.
    fn batch_ended(&mut self) {}

    /// The first batch has come over the connection that resumed the session, so the peer has the
    /// token that it was given there.
    fn token_confirmed(&mut self) {}

    /// Finds the actor for a new channel, or says why there is none.
    fn find(&mut self, attach: &Attach<'_>) -> Result<Found<Self::Actor>, Code>;

    /// The channel is open. `use_of` tells this use of its number from all others; see
    /// [`SendHalf::is_current`].
    fn open(&mut self, actor: Self::Actor, channel: u64, use_of: u64) -> Self::Channel;

    /// The peer is done with the channel. Calls that wait to be handled hold their places until the
    /// grant is [closed](SendHalf::close_grant); it is `None` when the actor has ended the channel.
    fn close(&mut self, channel: Self::Channel, grant: Option<Grant>);

    /// Calls have come that the peer has paid for.
    fn calls(
        &mut self,
        channel: &mut Self::Channel,
        run: &ChannelCalls<'_>,
    ) -> Result<(), Self::Error>;

    /// A call has come in parts, and the peer has paid for it.
    fn long_call(
        &mut self,
        channel: &mut Self::Channel,
        call: LongCall,
    ) -> Result<(), Self::Error> {
        self.calls(channel, &call.run())
    }

    /// The calls that have come on the channel are to be handled, and no more of them are added.
    fn publish(&mut self, _channel: &mut Self::Channel) {}

    /// Some of very many channels are [published](Self::publish) next, up to
    /// [`publishing_ends`](Self::publishing_ends): what they have in common may be done once.
    fn publishing_begins(&mut self) {}

    /// The channels since [`publishing_begins`](Self::publishing_begins) were published.
    fn publishing_ends(&mut self) {}

    /// Reads what [`calls`](Self::calls) needs of the channel, and nothing else: the cache misses of
    /// several channels overlap then. Returns anything that depends on what was read.
    fn prefetch_calls(&self, _channel: &Self::Channel) -> usize {
        0
    }

    /// Reads what [`publish`](Self::publish) needs, as [`prefetch_calls`](Self::prefetch_calls) does.
    fn prefetch_publish(&self, _channel: &Self::Channel) -> usize {
        0
    }

    /// An actor of the peer is linked to that of the channel. `link` is its number there, which no
    /// other link of the channel has, and `actor` the name of its type.
    fn linked(&mut self, _channel: &mut Self::Channel, _link: u64, _actor: &[u8]) {}

    /// A link has ended: the peer's actor has, with this reason, or it is undone if that is empty.
    /// Links of a channel that ends are undone without this.
    fn unlinked(&mut self, _channel: &mut Self::Channel, _link: u64, _reason: &[u8]) {}

    /// An ask of the method *describe* has come, with these arguments. Its units are to be given back.
    fn describe(
        &mut self,
        channel: &mut Self::Channel,
        asker: (u32, u32),
        arguments: &[u8],
        units: u64,
    );

    /// A call was paid for and reaches nobody: its units are to be given back.
    fn discarded(&mut self, channel: &mut Self::Channel, units: u64);

    /// An ask reaches nobody, and fails with this code. It is answered after this.
    fn ask_lost(&mut self, _asker: (u32, u32), _code: Code, _detail: &str) {}

    /// A call reaches nobody, for this reason: its arguments are never read.
    fn undelivered(&mut self, _arguments: &[u8], _code: Code) {}

    /// A tell reaches nobody, and its caller cannot be told.
    fn tell_lost(&mut self) {}

    /// The peer has dropped a reference that it was sent `times` times. False: it was not sent it
    /// that often.
    fn reference_released(&mut self, _reference: u128, _times: u64) -> bool {
        false
    }

    /// The peer does not wait for the answer to this ask any more. It is the last one from its slot,
    /// and may be answered already.
    fn cancelled(&mut self, _asker: (u64, u64)) {}

    /// A long answer to this ask begins to come. False: there is no such ask.
    fn may_be_answered(&mut self, _asker: (u32, u32)) -> bool {
        true
    }

    /// The answer to an ask has come. False: there is no such ask.
    fn reply(&mut self, asker: (u32, u32), value: &[u8]) -> Result<bool, Self::Error>;

    /// Answers have come to asks whose slots follow each other. False: one of them is not open.
    fn replies(&mut self, run: &ReplyRun<'_>) -> Result<bool, Self::Error> {
        for (slot, value) in (run.slot..).zip(run.values) {
            if !self.reply((slot, run.generation), value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Items of a stream have come. False: there is no such stream.
    ///
    /// # Errors
    /// The items before one of them have used up the credit of the stream.
    fn items(&mut self, _run: &ItemRun<'_>) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// The items of a stream of this side may use so many units. The stream may have ended.
    fn items_credited(&mut self, _stream: StreamId, _limit: u64) {}

    /// A stream that is a value has ended: one that this side reads if it was [sent](ItemEnd::Sent),
    /// and one that it sends otherwise. False: there was no such stream.
    fn items_ended(&mut self, _stream: u64, _how: ItemEnd, _code: Code, _text: &[u8]) -> bool {
        false
    }

    /// An ask has failed. False: there is no such ask.
    fn failed(&mut self, asker: (u32, u32), code: Code, text: &[u8]) -> Result<bool, Self::Error>;

    /// ATTACHED has come for a channel of ours. The send half has opened its window.
    fn attached(&mut self, channel: u64, attached: &Attached<'_>);

    /// CREDIT has come for a channel of ours: so many of its calls were handled. `has_risen` says
    /// that its window is larger than before.
    fn credited(
        &mut self,
        channel: u64,
        limit: u64,
        handled: u64,
        has_risen: bool,
    ) -> Result<(), Self::Error>;

    /// OUTCOMES has come for a channel of ours: so many of its tells were taken in their turn, and
    /// so many of these were rejected.
    fn outcomes(&mut self, _channel: u64, _tells: u64, _rejected: u64) {}

    /// REJECTED has come for a channel of ours.
    fn rejected(&mut self, _channel: u64, _rejected: &Rejected<'_>) {}

    /// REVOKE has come for a channel of ours, whose window was taken back to `limit`.
    fn revoked(&mut self, _channel: u64, _limit: u64) {}

    /// DETACHED has come for a channel of ours: calls on it fail with `code`. The channel's number
    /// is not free before this returns.
    fn detached(
        &mut self,
        channel: u64,
        code: Code,
        accepted: u64,
        reason: &[u8],
    ) -> Result<(), Self::Error>;

    /// The outbox has room for calls again.
    fn has_room(&mut self);

    /// The peer takes no new calls.
    fn draining(&mut self) {}
}
