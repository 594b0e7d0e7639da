//! The open session as its reader sees it: what each frame means (sections 3 to 7).
//!
//! A [`Dispatcher`] takes whole messages of the peer. It decides on sequence numbers, acks, credit,
//! channels and heartbeats, and calls the [`Application`] for what only the application knows:
//! actors, the slots of askers, tasks that wait. The send half is reached through the application,
//! because it is shared with everyone who sends and may be behind a lock; no lock is held between
//! two calls.
//!
//! A node, the simulator, the fuzz targets and the model test drive this same type.

use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use wigwag_wire::call::CallExtra;
use wigwag_wire::{Buffer, Reader, Time, varint};

use crate::application::{Application, Attach, Attached, ItemEnd, LongCall, Rejected};
use crate::assembly::{Assemblies, Assembly, FirstPart};
use crate::batch;
use crate::budget::Pools;
use crate::credit::StreamId;
use crate::error::LinkError;
use crate::features;
use crate::frame::{Frame, kind};
use crate::inbound::{Arrived, InboundChannels};
use crate::limits::{Limits, units};
use crate::opening::Opening;
use crate::outbox::Outbox;
use crate::outbox::long::source_of;
use crate::recv_half::{Incoming, RecvHalf};
use crate::resume::Claim;

/// The reading side of an open session; `C` is the application's part of an inbound channel.
#[derive(Debug)]
pub struct Dispatcher<C> {
    receiver: RecvHalf,
    channels: InboundChannels<C>,
    assemblies: Assemblies,
    /// Calls that are handed to the application at once.
    calls_max: usize,
    /// No batch has come yet over the connection that resumed the session.
    is_unconfirmed: bool,
    /// The batch that is read holds answers, or the end of something.
    has_answers: bool,
}

impl<C> Dispatcher<C> {
    /// The reading side of a session that begins. `ours` are the limits that we announced,
    /// `features` those that both sides offer; at most `calls_max` calls are handed over at once.
    pub fn new(ours: &Limits, features: u64, calls_max: usize) -> Dispatcher<C> {
        Dispatcher {
            receiver: RecvHalf::new(ours).with_features(features & features::OFFERED),
            channels: InboundChannels::new(ours, features),
            assemblies: Assemblies::new(ours.message_max),
            calls_max,
            is_unconfirmed: false,
            has_answers: false,
        }
    }

    /// Shares `pools` with other sessions: the memory that they keep for long messages is bounded
    /// over all of them.
    pub fn with_pools(mut self, pools: Arc<Pools>) -> Dispatcher<C> {
        self.assemblies.set_pools(pools);
        self
    }

    /// Frees memory that is kept for further long messages if none has come for a second.
    pub fn free_unused(&mut self, now: Time) {
        self.assemblies.free_unused(now);
    }

    /// No part of a long message can come before the next connection: memory that is kept for
    /// further ones is freed, and the time does not count as a lack of progress.
    pub fn connection_lost(&mut self) {
        self.assemblies.connection_lost();
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
        self.assemblies.clear();
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
        self.connection_lost();
        Ok(Opening::resumed(claim, self.recv_next(), token))
    }

    /// Takes one message of the peer, with its PAIR1 header. The calls of one that holds no answers
    /// may be left unpublished, to be published together with those of the next message: after the
    /// last message that is there, or after an error, the caller calls [`publish`](Self::publish).
    ///
    /// # Errors
    /// An error that names the rule that the peer has broken, and that the caller reports to the
    /// peer; [`LinkError::ClosedByPeer`] if the peer has closed the session; or the error with
    /// which the application stops. Calls and replies that the application has taken count as
    /// accepted.
    pub fn receive<A>(&mut self, message: &[u8], now: Time, app: &mut A) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        let outcome = self.read(message, now, app);
        match self.has_answers {
            true => self.channels.publish(app),
            false => self.channels.publish_gathered(app),
        }
        app.batch_ended();
        outcome
    }

    /// Publishes the calls that [`receive`](Self::receive) has left.
    pub fn publish<A>(&mut self, app: &mut A)
    where
        A: Application<Channel = C>,
    {
        self.channels.publish(app);
    }

    fn read<A>(&mut self, message: &[u8], now: Time, app: &mut A) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        self.read_batch(batch::without_pair1_header(message)?, now, app)?;
        self.assemblies.batch_read(now)?;
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
        let Dispatcher { receiver, channels, assemblies, calls_max, has_answers, .. } = self;
        *has_answers = false;
        let mut incoming = receiver.open(batch)?;
        let mut send = app.send_half();
        let has_room = send.outbox.acknowledge(incoming.ack)?;
        let released = send.outbox.take_released();
        send.outbox.check_written()?;
        let is_settled = send.outbox.is_settled();
        drop(send);
        if !released.is_empty() {
            app.released(released);
        }
        app.acknowledged(has_room, is_settled);
        loop {
            while let Some(run) = incoming.next_calls(*calls_max) {
                app.calls_arrived(&run)?;
                channels.calls(&run, app)?;
            }
            if let Some(run) = incoming.next_replies() {
                publish_before_answers(has_answers, channels, app);
                is_open(app.replies(&run)?)?;
                continue;
            }
            if let Some(run) = incoming.next_items() {
                publish_before_answers(has_answers, channels, app);
                match app.items(&run)? {
                    true => continue,
                    false => return Err(item_of_no_stream().into()),
                }
            }
            if let Some(reply) = incoming.next_reply() {
                publish_before_answers(has_answers, channels, app);
                is_open(app.reply((reply.slot, reply.generation), reply.value)?)?;
                continue;
            }
            let Some((frame, body)) = incoming.next_frame()? else {
                return Ok(());
            };
            channels.trace = incoming.take_trace();
            if is_answer(&frame) {
                publish_before_answers(has_answers, channels, app);
            }
            app.frame(&frame)?;
            if let Frame::Cancel { slot, generation } = frame
                && !incoming.may_be_open(slot, generation)
            {
                continue;
            }
            match frame {
                Frame::Parts { .. } | Frame::Part { .. } | Frame::PartsDrop { .. } => {
                    app.send_half().has_parts();
                    let Some(whole) = assemble(assemblies, channels, frame, app)? else { continue };
                    dispatch_whole(&mut incoming, channels, assemblies, whole, now, app)?;
                    continue;
                }
                Frame::Attach { channel, how, target, schema_hash, codec } => {
                    assemblies.forget(source_of(channel));
                    let is_unused = |slot, generation| incoming.is_unused(slot, generation);
                    let target = channels.target(how, target, is_unused);
                    let attach = target.map(|target| Attach { target, schema_hash, codec });
                    channels.attach(channel, attach, app)?;
                    continue;
                }
                Frame::Detach { channel } => assemblies.forget(source_of(channel)),
                _ => {}
            }
            dispatch(channels, frame, units(body), now, app)?;
        }
    }
}

/// Adds a part to its message. Returns the message if it is whole.
#[cold]
fn assemble<A: Application>(
    assemblies: &mut Assemblies,
    channels: &mut InboundChannels<A::Channel>,
    part: Frame<'_>,
    app: &mut A,
) -> Result<Option<Assembly>, A::Error> {
    match part {
        Frame::Parts { source, kind, total, bytes } => {
            let first = FirstPart { source, kind, total, bytes };
            assemblies.check(&first)?;
            match first.call() {
                Some((channel, units)) => channels.begin_call(channel, units, app)?,
                None => {
                    let mut numbers = Reader::new(bytes);
                    let slot = varint::take(&mut numbers).map_err(LinkError::from)?;
                    let generation = varint::take(&mut numbers).map_err(LinkError::from)?;
                    is_open(app.may_be_answered(narrow(slot, generation)?))?;
                }
            }
            Ok(assemblies.begin(&first)?)
        }
        Frame::Part { source, bytes } => Ok(assemblies.add(source, bytes)?),
        Frame::PartsDrop { source } => {
            let dropped = assemblies.drop_call(source)?;
            channels.drop_call(source.saturating_sub(1), dropped.units, app);
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Decides on a message that came in parts, as on a frame that came whole.
#[cold]
fn dispatch_whole<A: Application>(
    incoming: &mut Incoming<'_>,
    channels: &mut InboundChannels<A::Channel>,
    assemblies: &mut Assemblies,
    whole: Assembly,
    now: Time,
    app: &mut A,
) -> Result<(), A::Error> {
    let units = whole.units;
    let frame = incoming.parse(whole.kind(), whole.body())?;
    channels.trace = incoming.take_trace();
    let channel = match frame {
        Frame::Tell { channel, .. }
        | Frame::Ask { channel, .. }
        | Frame::AskWithin { channel, .. }
        | Frame::AskItems { channel, .. }
        | Frame::NotUnderstood { channel, .. } => Some(channel),
        _ => None,
    };
    if channel != whole.channel() {
        return Err(LinkError::protocol("a message in parts is of the source that it names").into());
    }
    app.frame(&frame)?;
    if let Some(channel) = channel {
        channels.call_is_whole(channel, units);
    }
    // Behind extras, a call is stored without them.
    if let Frame::Tell { channel, method: 1.., .. } | Frame::Ask { channel, method: 1.., .. } =
        frame
        && whole.kind() != kind::CALL_X
    {
        let frame = assemblies.share(whole);
        return channels.long_call(LongCall { channel, units, frame }, app);
    }
    dispatch(channels, frame, units, now, app)?;
    assemblies.reclaim(whole);
    Ok(())
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
            let (asker, extra) = (None, None);
            channels.call(&Arrived { channel, method, arguments, asker, extra }, units, app)?;
        }
        Frame::Ask { channel, slot, generation, method, arguments } => {
            let (asker, extra) = (Some(narrow(slot, generation)?), None);
            channels.call(&Arrived { channel, method, arguments, asker, extra }, units, app)?;
        }
        Frame::AskWithin { within_ms, channel, slot, generation, method, arguments } => {
            let asker = Some(narrow(slot, generation)?);
            let extra = Some(CallExtra::Deadline(begin_by(now, within_ms)));
            channels.call(&Arrived { channel, method, arguments, asker, extra }, units, app)?;
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
        Frame::Detach { channel } => channels.detach(channel, app),
        Frame::Attached { channel, limit, schema_hash, codec, reference } => {
            app.send_half().attached(channel, limit);
            app.attached(channel, &Attached { limit, schema_hash, codec, reference });
        }
        Frame::Detached { channel, code, accepted, reason } => {
            // Before the number is free: another thread may use it for a new channel at once.
            app.detached(channel, code, accepted, reason)?;
            app.send_half().detached(channel);
        }
        Frame::Credit { channel, limit, handled } => {
            let mut send = app.send_half();
            let has_risen = send.window(channel).is_some_and(|window| window.raise(limit));
            drop(send);
            app.credited(channel, limit, handled, has_risen)?;
        }
        Frame::Release { reference, times } if channels.knows_references() => {
            let reference = reference.try_into().map(u128::from_le_bytes);
            if !reference.is_ok_and(|reference| app.reference_released(reference, times)) {
                let rule = "a reference is released as often as it was sent, and no more";
                return Err(LinkError::protocol(rule).into());
            }
        }
        Frame::Outcomes { channel, tells, rejected } => app.outcomes(channel, tells, rejected),
        Frame::Rejected { channel, method, tells, code, text } => {
            app.rejected(channel, &Rejected { method, tells, code, text });
        }
        Frame::Need { channel, limit_wanted, units } => {
            app.send_half().need_received(channel, limit_wanted, units);
        }
        Frame::Revoke { channel, limit_wanted } => {
            let revoked = app.send_half().revoked(channel, limit_wanted)?;
            revoked.into_iter().for_each(|limit| app.revoked(channel, limit));
        }
        other => return dispatch_of_stream(channels, other, units, now, app),
    }
    Ok(())
}

/// The error for an item of a stream that is not open.
#[cold]
fn item_of_no_stream() -> LinkError {
    LinkError::protocol("an item of a stream that is not open")
}

/// Decides on a frame of a stream or of a link, or else on one that is about the session as a whole.
fn dispatch_of_stream<A: Application>(
    channels: &mut InboundChannels<A::Channel>,
    frame: Frame<'_>,
    units: u64,
    now: Time,
    app: &mut A,
) -> Result<(), A::Error> {
    match frame {
        Frame::AskItems { limit, channel, slot, generation, method, arguments } => {
            let asker = Some(narrow(slot, generation)?);
            let extra = Some(CallExtra::Items(limit));
            channels.call(&Arrived { channel, method, arguments, asker, extra }, units, app)?;
        }
        // Those of a stream that there may be were taken together.
        Frame::Item { .. } => return Err(item_of_no_stream().into()),
        Frame::ItemCredit { slot, generation, side, limit } => {
            // That of a stream that has ended may still be on its way, and of no other.
            if let Some(stream) = StreamId::read(slot, generation, side) {
                app.items_credited(stream, limit);
            }
        }
        Frame::ItemEnd { stream, how, code, text } => {
            let end = ItemEnd::read(how).map(|how| app.items_ended(stream, how, code, text));
            if end != Some(true) {
                return Err(LinkError::protocol("the end of a stream that is not open").into());
            }
        }
        Frame::Link { channel, link, actor } => channels.link(channel, link, actor, app)?,
        Frame::Unlink { channel, link, reason } => channels.unlink(channel, link, reason, app)?,
        of_session => return dispatch_of_session(of_session, now, app),
    }
    Ok(())
}

/// Decides on a frame that is about the session as a whole.
fn dispatch_of_session<A: Application>(
    frame: Frame<'_>,
    now: Time,
    app: &mut A,
) -> Result<(), A::Error> {
    match frame {
        Frame::Ping { id, next_ms } => app.send_half().ping_received(id, next_ms),
        Frame::Pong { id } if app.send_half().pong_received(id, now) => app.has_room(),
        Frame::Drain { .. } => app.draining(),
        Frame::Close { code, rule, detail } => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let (rule, detail) = (text(rule), text(detail));
            return Err(LinkError::ClosedByPeer { code, rule, detail }.into());
        }
        // None of the others needs an answer.
        _ => {}
    }
    Ok(())
}

/// The time by which an ask begins, if its caller waits `within_ms` from now on.
///
/// The last tenth is kept for its handling and for the way back. Where more is asked than an actor
/// can do, the oldest call that waits has nearly no time left, always: begun then, it is answered
/// too late, and so is the next. `lab run remote`, cell *overload 500 %*, of an actor that can do
/// 2,000 calls a second: 2.0 k/s are answered in time, and 1.3 k/s without the tenth.
fn begin_by(now: Time, within_ms: u64) -> Time {
    let within = Duration::from_millis(within_ms);
    now + (within - within / 10)
}

/// Slot and generation, which have 32 bits each.
fn narrow(slot: u64, generation: u64) -> Result<(u32, u32), LinkError> {
    match (u32::try_from(slot), u32::try_from(generation)) {
        (Ok(slot), Ok(generation)) => Ok((slot, generation)),
        _ => Err(not_open()),
    }
}

/// True for a frame that answers something, or ends it: neither a call nor what is said of credit.
fn is_answer(frame: &Frame<'_>) -> bool {
    !matches!(
        frame,
        Frame::Tell { .. }
            | Frame::Ask { .. }
            | Frame::AskWithin { .. }
            | Frame::AskItems { .. }
            | Frame::Need { .. }
            | Frame::Credit { .. }
            | Frame::Outcomes { .. }
    )
}

/// Publishes the calls that have come before the first answer of a batch: the task that waits for it
/// may look for what they have done.
#[inline]
fn publish_before_answers<C, A>(
    has_answers: &mut bool,
    channels: &mut InboundChannels<C>,
    app: &mut A,
) where
    A: Application<Channel = C>,
{
    if !core::mem::replace(has_answers, true) {
        channels.publish(app);
    }
}

/// Fails if the ask that was answered is not open.
#[inline(always)]
fn is_open(is_open: bool) -> Result<(), LinkError> {
    if is_open { Ok(()) } else { Err(not_open()) }
}

#[cold]
fn not_open() -> LinkError {
    LinkError::protocol("an answer to a question that is not open")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_begins_before_the_last_tenth_of_its_time() {
        let now = Time::from_nanos(7);
        for (within_ms, by_us) in [(0, 0), (1, 900), (50, 45_000), (60_000, 54_000_000)] {
            assert_eq!(begin_by(now, within_ms) - now, Duration::from_micros(by_us));
        }
        assert_eq!(begin_by(now, u64::MAX), Time::from_nanos(u64::MAX), "it never comes");
    }
}
