//! What a node does with the frames that come, as section 3 to 7 of the protocol say it.

use wigwag_link::frame::{Frame, SEQUENCED};
use wigwag_link::limits::{TARGET_BYTES_MAX, units};
use wigwag_link::recv_half::Incoming;
use wigwag_link::{Code, LinkError, SendHalf, write};
use wigwag_wire::call::Calls;
use wigwag_wire::{Buffer, Time};

use super::log::Log;
use super::node::{Call, Inbound, Node};
use crate::fuzz::ensure;

/// Calls that are taken at once at most.
const RUN_CALLS_MAX: usize = 5;

/// Why a batch was not read to its end.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The peer broke a rule.
    Rule(LinkError),
    /// We did.
    Property(String),
}

impl From<LinkError> for Broken {
    fn from(error: LinkError) -> Broken {
        Broken::Rule(error)
    }
}

impl From<String> for Broken {
    fn from(why: String) -> Broken {
        Broken::Property(why)
    }
}

/// How a batch is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Road<'a> {
    /// What the other side has said, if it is known.
    pub(crate) log: Option<&'a Log>,
    /// The short roads are tried first.
    pub(crate) short: bool,
    /// Behind so many steps nobody reads on.
    pub(crate) steps: usize,
    pub(crate) now: Time,
}

impl Node {
    /// Reads a batch. False: it was not read to its end, because nobody reads any more.
    pub(crate) fn read(
        &mut self,
        incoming: &mut Incoming<'_>,
        sender: &mut SendHalf,
        road: Road<'_>,
    ) -> Result<bool, Broken> {
        for _ in 0..road.steps {
            if road.short && self.take_short(incoming, sender, road.log)? {
                continue;
            }
            let Some((frame, body)) = incoming.next_frame()? else {
                return Ok(true);
            };
            self.hear_frame(&frame, road.log)?;
            match frame {
                Frame::Pong { id } => {
                    // Senders here look for room whenever they want to say something.
                    sender.pong_received(id, road.now);
                }
                _ => self.take(&frame, units(body), sender)?,
            }
        }
        Ok(false)
    }

    /// Takes calls and replies by the roads that most of them go. False: something else is next.
    fn take_short(
        &mut self,
        incoming: &mut Incoming<'_>,
        sender: &mut SendHalf,
        log: Option<&Log>,
    ) -> Result<bool, Broken> {
        if let Some(run) = incoming.next_calls(RUN_CALLS_MAX) {
            if let Some(log) = log {
                log.hear(&mut self.heard, run.bytes)?;
            }
            let mut calls = 0;
            let each = run.units / run.calls as u64;
            let mut first = run.units - each * (run.calls as u64 - 1);
            for call in Calls::new(run.bytes) {
                let asker = call.asker.map(|(slot, use_of)| (slot.into(), use_of.into()));
                self.pay(run.channel, std::mem::replace(&mut first, each), asker, sender)?;
                calls += 1;
            }
            ensure(calls == run.calls, || format!("{} calls, and {calls} come out", run.calls))?;
            return Ok(true);
        }
        if let Some(run) = incoming.next_replies() {
            ensure(log.is_none(), || "a run of replies that nobody said".to_owned())?;
            for slot in (u64::from(run.slot)..).take(run.count as usize) {
                self.complete(slot, run.generation.into())?;
            }
            return Ok(true);
        }
        if let Some(reply) = incoming.next_reply() {
            let (slot, generation) = (reply.slot.into(), reply.generation.into());
            self.hear_frame(&Frame::Reply { slot, generation, value: reply.value }, log)?;
            self.complete(slot, generation)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// A frame that has a number must be the next one of the log.
    fn hear_frame(&mut self, frame: &Frame<'_>, log: Option<&Log>) -> Result<(), Broken> {
        let Some(log) = log else { return Ok(()) };
        let mut bytes = Buffer::new();
        write::any(&mut bytes, frame);
        if bytes.as_slice().first().is_some_and(|kind| kind & SEQUENCED != 0) {
            log.hear(&mut self.heard, bytes.as_slice())?;
        }
        Ok(())
    }

    fn take(&mut self, frame: &Frame<'_>, cost: u64, sender: &mut SendHalf) -> Result<(), Broken> {
        match *frame {
            Frame::Tell { channel, .. } => self.pay(channel, cost, None, sender)?,
            Frame::Ask { channel, slot, generation, .. } => {
                if slot >= self.ours.slots_max || generation > u32::MAX.into() {
                    let rule = "an ask's slot is below slots_max, its generation has 32 bits";
                    Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule })?;
                }
                self.pay(channel, cost, Some((slot, generation)), sender)?;
            }
            Frame::NotUnderstood { channel, asker, .. } => {
                self.pay(channel, cost, asker, sender)?;
            }
            Frame::Reply { slot, generation, .. } | Frame::Error { slot, generation, .. } => {
                self.complete(slot, generation)?;
            }
            Frame::Cancel { slot, generation } => {
                let lanes = self.inbound.iter_mut().flatten().flat_map(|open| &mut open.lane);
                lanes
                    .filter(|call| call.asker == Some((slot, generation)))
                    .for_each(|call| call.is_cancelled = true);
            }
            Frame::Ping { id, next_ms } => sender.ping_received(id, next_ms),
            Frame::Close { .. } => self.was_closed = true,
            Frame::Pong { .. }
            | Frame::Drain { .. }
            | Frame::Release { .. }
            | Frame::Revoked { .. }
            | Frame::Skipped { .. } => {}
            _ => self.take_credit(frame, sender)?,
        }
        Ok(())
    }

    fn take_credit(&mut self, frame: &Frame<'_>, sender: &mut SendHalf) -> Result<(), Broken> {
        match *frame {
            Frame::Credit { channel, limit, .. } | Frame::Attached { channel, limit, .. } => {
                let is_attached = matches!(frame, Frame::Attached { .. });
                let place = usize::try_from(channel).unwrap_or(usize::MAX);
                match self.outbound.get_mut(place) {
                    Some(Some(open)) => {
                        open.limit = open.limit.max(limit);
                        open.is_open |= is_attached;
                    }
                    _ if is_attached => Err(LinkError::protocol("ATTACHED without ATTACH"))?,
                    _ => {}
                }
                if is_attached {
                    sender.attached(channel, limit);
                } else if let Some(window) = sender.window(channel) {
                    window.raise(limit);
                }
            }
            Frame::Need { channel, limit_wanted } => {
                sender.need_received(channel, limit_wanted);
            }
            Frame::Revoke { channel, limit_wanted } => {
                let Some(limit) = sender.window(channel).map(|it| it.revoke(limit_wanted)) else {
                    return Ok(());
                };
                if let Some(Some(open)) = self.outbound.get_mut(channel as usize) {
                    open.limit = limit;
                }
                self.say(sender, &Frame::Revoked { channel, limit });
            }
            _ => self.take_channel(frame, sender)?,
        }
        Ok(())
    }

    fn take_channel(&mut self, frame: &Frame<'_>, sender: &mut SendHalf) -> Result<(), Broken> {
        match *frame {
            Frame::Attach { channel, how, target, codec, .. } => {
                let limit = sender.grant(channel, self.ours.initial_units)?;
                let place = channel as usize;
                let most = self.inbound.len().max(place + 1);
                self.inbound.resize_with(most, || None);
                self.inbound[place] = Some(Inbound { is_open: true, ..Inbound::default() });
                if how != 0 || codec != 0 || target.len() > TARGET_BYTES_MAX {
                    self.end_channel(sender, place, Code::NO_SUCH_ACTOR);
                    return Ok(());
                }
                let (schema_hash, reference) = (7, &b""[..]);
                let attached = Frame::Attached { channel, limit, schema_hash, codec, reference };
                self.say(sender, &attached);
            }
            Frame::Detach { channel } => {
                let place = usize::try_from(channel).unwrap_or(usize::MAX);
                match self.inbound.get(place) {
                    Some(Some(open)) if open.is_open => {
                        self.handle(sender, place, usize::MAX, 1);
                        self.end_channel(sender, place, Code::OK);
                    }
                    // It has crossed a DETACHED of ours.
                    Some(Some(_)) => {}
                    _ => Err(LinkError::protocol("DETACH without ATTACH"))?,
                }
                self.inbound[place] = None;
            }
            Frame::Detached { channel, .. } => {
                let place = usize::try_from(channel).unwrap_or(usize::MAX);
                match self.outbound.get_mut(place) {
                    Some(open @ Some(_)) => *open = None,
                    _ => Err(LinkError::protocol("DETACHED without ATTACH"))?,
                }
                sender.close_channel(channel);
            }
            ref other => return Err(format!("{other:?} was not expected here").into()),
        }
        Ok(())
    }

    /// A call has come: it is held against its credit and waits in its lane.
    fn pay(
        &mut self,
        channel: u64,
        units: u64,
        asker: Option<(u64, u64)>,
        sender: &mut SendHalf,
    ) -> Result<(), Broken> {
        let place = usize::try_from(channel).unwrap_or(usize::MAX);
        let Some(Some(open)) = self.inbound.get_mut(place) else {
            return Err(LinkError::protocol("a call on a channel that was never opened").into());
        };
        if open.is_open {
            open.used += units;
            let used = open.used;
            let Some(grant) = sender.granted(channel) else {
                return Err(format!("channel {channel} is open and has no grant").into());
            };
            if let Err(error) = grant.check(used) {
                open.used -= units;
                Err(error)?;
            }
            open.lane.push_back(Call { units, asker, is_cancelled: false });
        } else if let Some((slot, generation)) = asker {
            let code = Code::ACTOR_STOPPED;
            self.say(sender, &Frame::Error { slot, generation, code, text: &[], data: &[] });
        }
        Ok(())
    }

    /// The one completion of an ask has come.
    fn complete(&mut self, slot: u64, generation: u64) -> Result<(), Broken> {
        let place = usize::try_from(slot).unwrap_or(usize::MAX);
        match self.slots.get_mut(place) {
            Some(open) if open.is_open && open.generation == generation => {
                open.is_open = false;
                open.generation += 1;
                Ok(())
            }
            _ => Err(LinkError::protocol("a completion of an ask that is not open").into()),
        }
    }
}
