//! The open session as its reader sees it: what each frame means (sections 3 to 7).
//!
//! A [`Dispatcher`] takes whole messages of the peer. It decides on sequence numbers, acks, credit,
//! channels and heartbeats, and calls the [`Application`] for what only that knows: actors, the
//! slots of askers, tasks that wait. The send half is reached through the application, because it is
//! shared with everyone who sends and may be behind a lock; no lock is held between two calls.
//!
//! A node, the simulator and the fuzz targets drive this same type.

use alloc::string::String;
use core::ops::DerefMut;

use wigwag_wire::{Buffer, Time};

use crate::batch;
use crate::code::Code;
use crate::error::LinkError;
use crate::features;
use crate::frame::Frame;
use crate::inbound::InboundChannels;
use crate::limits::{Limits, units};
use crate::opening::Opening;
use crate::outbox::Outbox;
use crate::recv_half::{ChannelCalls, RecvHalf, ReplyRun};
use crate::resume::Claim;
use crate::send_half::SendHalf;
use crate::write;

/// The peer's wish for a channel to one of our actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attach<'a> {
    /// The name of the actor.
    pub target: &'a [u8],
    /// The hash of the interface that the peer calls it by.
    pub schema_hash: u64,
    /// How the peer wants to encode arguments.
    pub codec: u8,
}

/// The actor that an [`Attach`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found<A> {
    /// The actor, as the application knows it.
    pub actor: A,
    /// The hash of its interface.
    pub schema_hash: u64,
    /// How arguments are to be encoded.
    pub codec: u8,
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

    /// A frame comes that is neither part of a run of calls nor of replies, before its meaning is
    /// looked at.
    fn frame(&mut self, _frame: &Frame<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Calls come that are handed over together, before they are paid for.
    #[inline(always)]
    fn calls_arrived(&mut self, _run: &ChannelCalls<'_>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The batch has ended, or was left at an error. What was put into channels has been
    /// [published](Self::publish).
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
    fn close(&mut self, channel: Self::Channel, grant: Option<crate::credit::Grant>);

    /// Calls have come that the peer has paid for.
    fn calls(
        &mut self,
        channel: &mut Self::Channel,
        run: &ChannelCalls<'_>,
    ) -> Result<(), Self::Error>;

    /// The calls of this batch on the channel are complete.
    fn publish(&mut self, _channel: &mut Self::Channel) {}

    /// An ask of the method *describe* has come. Its units are to be given back.
    fn describe(&mut self, channel: &mut Self::Channel, asker: (u32, u32), units: u64);

    /// A call was paid for and reaches nobody: its units are to be given back.
    fn discarded(&mut self, channel: &mut Self::Channel, units: u64);

    /// A tell reaches nobody, and its caller cannot be told.
    fn tell_lost(&mut self) {}

    /// The peer does not wait for the answer to an ask any more.
    fn cancelled(&mut self, _asker: (u64, u64)) {}

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

    /// An ask has failed. False: there is no such ask.
    fn failed(&mut self, asker: (u32, u32), code: Code, text: &[u8]) -> Result<bool, Self::Error>;

    /// ATTACHED has come for a channel of ours, whose window is open.
    fn attached(&mut self, channel: u64, limit: u64, schema_hash: u64, codec: u8);

    /// CREDIT has come for a channel of ours: so many of its calls were handled. `has_risen` says
    /// that its window is larger than before.
    fn credited(
        &mut self,
        channel: u64,
        limit: u64,
        handled: u64,
        has_risen: bool,
    ) -> Result<(), Self::Error>;

    /// REVOKE has come for a channel of ours, whose window was taken back to `limit`.
    fn revoked(&mut self, _channel: u64, _limit: u64) {}

    /// DETACHED has come for a channel of ours: calls on it fail with `code`.
    fn detached(&mut self, channel: u64, code: Code, accepted: u64) -> Result<(), Self::Error>;

    /// There is room for calls again that there was not.
    fn has_room(&mut self);

    /// The peer takes no new calls.
    fn draining(&mut self) {}
}

/// The reading side of an open session; `C` is the application's part of an inbound channel.
#[derive(Debug)]
pub struct Dispatcher<C> {
    receiver: RecvHalf,
    channels: InboundChannels<C>,
    /// Calls that are handed to the application at once.
    calls_max: usize,
    /// No batch has come yet over the connection that resumed the session.
    is_unconfirmed: bool,
}

impl<C> Dispatcher<C> {
    /// The reading side of a session that begins. `ours` are the limits that we announced,
    /// `features` those that both sides offer; at most `calls_max` calls are handed over at once.
    pub fn new(ours: &Limits, features: u64, calls_max: usize) -> Dispatcher<C> {
        Dispatcher {
            receiver: RecvHalf::new(ours).with_features(features & features::OFFERED),
            channels: InboundChannels::new(ours),
            calls_max,
            is_unconfirmed: false,
        }
    }

    /// The number of the next frame that was not accepted yet.
    pub fn recv_next(&self) -> u64 {
        self.receiver.recv_next()
    }

    /// Frames that came again after a cut and were skipped.
    pub fn repeated(&self) -> u64 {
        self.receiver.repeated()
    }

    /// Drops the application's part of every inbound channel: the session is over.
    pub fn clear(&mut self) {
        self.channels.clear();
    }

    /// Lets a dialer whose claim was proved resume the session: gives the message to send it.
    ///
    /// The old connection must not be read from any more, so that the number in the message stays
    /// true.
    ///
    /// # Errors
    /// The claim names a frame that was never sent, or one that was acknowledged before.
    pub fn readmit(
        &mut self,
        claim: &Claim,
        token: u128,
        outbox: &Outbox,
    ) -> Result<Buffer, LinkError> {
        outbox.check_resume(claim.recv_next)?;
        self.is_unconfirmed = true;
        Ok(Opening::resumed(claim, self.recv_next(), token))
    }

    /// Takes one message of the peer, with its PAIR1 header.
    ///
    /// # Errors
    /// The peer has broken a rule, which it is to be told, or has closed the session
    /// ([`LinkError::ClosedByPeer`]); or the application wants no more. What was given out until then
    /// counts as accepted.
    pub fn receive<A>(&mut self, message: &[u8], now: Time, app: &mut A) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        let outcome = self.read(message, now, app);
        self.channels.publish(app);
        app.batch_ended();
        outcome
    }

    fn read<A>(&mut self, message: &[u8], now: Time, app: &mut A) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        self.read_batch(batch::without_pair1_header(message)?, now, app)?;
        if core::mem::take(&mut self.is_unconfirmed) {
            app.token_confirmed();
        }
        let recv_next = self.receiver.recv_next();
        app.send_half().accepted(recv_next, message.len(), now);
        Ok(())
    }

    #[inline]
    fn read_batch<A>(&mut self, batch: &[u8], now: Time, app: &mut A) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        let Dispatcher { receiver, channels, calls_max, .. } = self;
        let mut incoming = receiver.open(batch)?;
        let mut send = app.send_half();
        let has_room = send.outbox.acknowledge(incoming.ack)?;
        send.outbox.check_written()?;
        let is_settled = send.outbox.is_settled();
        drop(send);
        app.acknowledged(has_room, is_settled);
        loop {
            while let Some(run) = incoming.next_calls(*calls_max) {
                app.calls_arrived(&run)?;
                channels.calls(&run, app)?;
            }
            if let Some(run) = incoming.next_replies() {
                is_open(app.replies(&run)?)?;
                continue;
            }
            if let Some(reply) = incoming.next_reply() {
                is_open(app.reply((reply.slot, reply.generation), reply.value)?)?;
                continue;
            }
            let Some((frame, body)) = incoming.next_frame()? else {
                return Ok(());
            };
            app.frame(&frame)?;
            dispatch(channels, frame, units(body), now, app)?;
        }
    }
}

/// Decides on one frame that costs `units` if it is a call.
fn dispatch<A: Application>(
    channels: &mut InboundChannels<A::Channel>,
    frame: Frame<'_>,
    units: u64,
    now: Time,
    app: &mut A,
) -> Result<(), A::Error> {
    match frame {
        Frame::Tell { channel, method, arguments } => {
            channels.call(channel, method, arguments, None, units, app)?;
        }
        Frame::Ask { channel, slot, generation, method, arguments } => {
            let asker = Some(narrow(slot, generation)?);
            channels.call(channel, method, arguments, asker, units, app)?;
        }
        Frame::NotUnderstood { tag, channel, asker } => {
            let asker = match asker {
                Some((slot, generation)) => Some(narrow(slot, generation)?),
                None => None,
            };
            channels.not_understood(tag, channel, asker, units, app)?;
        }
        Frame::Reply { slot, generation, value } => {
            is_open(app.reply(narrow(slot, generation)?, value)?)?;
        }
        Frame::Error { slot, generation, code, text, .. } => {
            is_open(app.failed(narrow(slot, generation)?, code, text)?)?;
        }
        Frame::Cancel { slot, generation } => app.cancelled((slot, generation)),
        Frame::Attach { channel, how, target, schema_hash, codec } => {
            // No references are given out in this version, so only names (0) can be meant.
            let attach = (how == 0).then_some(Attach { target, schema_hash, codec });
            channels.attach(channel, attach, app)?;
        }
        Frame::Detach { channel } => channels.detach(channel, app),
        Frame::Attached { channel, limit, schema_hash, codec, .. } => {
            app.send_half().attached(channel, limit);
            app.attached(channel, limit, schema_hash, codec);
        }
        Frame::Detached { channel, code, accepted } => {
            app.send_half().detached(channel);
            app.detached(channel, code, accepted)?;
        }
        Frame::Credit { channel, limit, handled } => {
            let mut send = app.send_half();
            let has_risen = send.window(channel).is_some_and(|window| window.raise(limit));
            drop(send);
            app.credited(channel, limit, handled, has_risen)?;
        }
        Frame::Need { channel, limit_wanted } => {
            app.send_half().need_received(channel, limit_wanted);
        }
        Frame::Revoke { channel, limit_wanted } => {
            let revoked = app.send_half().revoked(channel, limit_wanted)?;
            revoked.into_iter().for_each(|limit| app.revoked(channel, limit));
        }
        Frame::Ping { id, next_ms } => app.send_half().ping_received(id, next_ms),
        Frame::Pong { id } => {
            if app.send_half().pong_received(id, now) {
                app.has_room();
            }
        }
        Frame::Drain { .. } => app.draining(),
        Frame::Close { code, rule, detail } => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (rule, detail) = (text(rule), text(detail));
            return Err(LinkError::ClosedByPeer { code, rule, detail }.into());
        }
        // None of these needs an answer.
        Frame::Revoked { .. } | Frame::Release { .. } | Frame::Skipped { .. } => {}
    }
    Ok(())
}

/// Slot and generation, which have 32 bits each.
fn narrow(slot: u64, generation: u64) -> Result<(u32, u32), LinkError> {
    match (u32::try_from(slot), u32::try_from(generation)) {
        (Ok(slot), Ok(generation)) => Ok((slot, generation)),
        _ => Err(not_open()),
    }
}

/// The one completion of an ask has come.
#[inline(always)]
fn is_open(is_open: bool) -> Result<(), LinkError> {
    if is_open { Ok(()) } else { Err(not_open()) }
}

#[cold]
fn not_open() -> LinkError {
    LinkError::protocol("an answer to a question that is not open")
}

/// Tells the caller that a call reached nobody, if it has asked.
#[cold]
pub(crate) fn undeliverable<A: Application>(
    asker: Option<(u32, u32)>,
    code: Code,
    detail: &str,
    app: &mut A,
) {
    match asker {
        Some(asker) => {
            app.send_half().outbox.append(|out| write::error(out, asker, code, detail));
        }
        None => app.tell_lost(),
    }
}
