//! What a link does with the frames that come in.
//!
//! Calls for the same actor go into its lane as they are, a run at a time, and are decoded when the
//! actor comes to them; replies are put into the slots of their askers. What is paid here for each
//! message is a look at its head, all else is paid per run or per batch. Nothing here waits for
//! anything but bytes.

use std::sync::{Arc, Weak};
use std::task::Waker;

use wigwag_actor::limits::RUN_CALLS_MAX;
use wigwag_actor::{CallErrorKind, Exported, InboundQueue, InboundQueueOwner};
use wigwag_link::frame::Frame;
use wigwag_link::limits::units;
use wigwag_link::receiver::{CallRun, ReplyRun};
use wigwag_link::{Code, Limits, LinkError, Receiver, write};
use wigwag_wire::call::Calls;
use wigwag_wire::{Buffer, Framing, ReadBuf, Time};

use crate::answering::Answering;
use crate::exports::Exports;
use crate::lanes::ChannelOwner;
use crate::link::{Link, PAIR1_HEADER};
use crate::slot::Completed;

/// A channel that the peer sends on.
pub(crate) enum Inbound {
    Open(Open),
    /// Refused: calls are accepted and thrown away, asks get the code. The peer may still use this many
    /// units, which it had before it heard.
    Refused(Code, u64),
}

pub(crate) struct Open {
    pub(crate) actor: Arc<dyn Exported>,
    pub(crate) lane: Box<dyn InboundQueue>,
    pub(crate) owner: Arc<ChannelOwner>,
    /// Units that the peer has used since ATTACH, and the limit that we last knew it to have.
    pub(crate) used: u64,
    pub(crate) limit: u64,
    /// The lane holds calls that are not published yet.
    pub(crate) dirty: bool,
}

/// The state of the reading side.
pub(crate) struct Reading {
    pub(crate) link: Weak<Link>,
    pub(crate) receiver: Receiver,
    pub(crate) ours: Limits,
    pub(crate) exports: Arc<Exports>,
    pub(crate) channels: Vec<Option<Inbound>>,
    /// Channels whose lanes are dirty.
    pub(crate) dirty: Vec<usize>,
    pub(crate) attaches: u64,
    /// No batch has come yet over the connection that resumed the session.
    pub(crate) is_unconfirmed: bool,
    answering: Answering,
}

/// The method that every actor has: it is answered with the schema.
const DESCRIBE: u32 = 0;

/// A call by itself: one that is not for the actor, or whose extras were read and taken off.
struct Single<'a> {
    channel: u64,
    method: u32,
    arguments: &'a [u8],
    units: u64,
    /// Slot and generation of an ask.
    asker: Option<(u32, u32)>,
}

impl Open {
    /// Pays for calls. False when nobody is there any more who could be called: the actor has
    /// stopped, and the peer did not know yet.
    #[inline]
    fn pay(&mut self, link: &Link, channel: u64, units: u64) -> Result<bool, LinkError> {
        self.used += units;
        if self.used <= self.limit { Ok(true) } else { self.ask_the_grant(link, channel) }
    }

    /// Looks up what the peer was granted meanwhile.
    #[cold]
    fn ask_the_grant(&mut self, link: &Link, channel: u64) -> Result<bool, LinkError> {
        let mut sending = link.sending();
        let Some(grant) = sending.sender.granted(channel) else {
            // The actor has stopped. The peer may use the credit that it was told of until it hears.
            let known = self.owner.withdrawn().map_or(self.limit, |grant| grant.announced());
            return if self.used <= known {
                Ok(false)
            } else {
                Err(wigwag_link::credit::exceeded())
            };
        };
        grant.check(self.used)?;
        self.limit = grant.announced();
        Ok(true)
    }
}

impl Reading {
    pub(crate) fn new(
        link: Weak<Link>,
        receiver: Receiver,
        ours: &Limits,
        exports: Arc<Exports>,
    ) -> Reading {
        Reading {
            link,
            receiver,
            ours: *ours,
            exports,
            channels: Vec::new(),
            dirty: Vec::new(),
            attaches: 0,
            is_unconfirmed: false,
            answering: Answering::default(),
        }
    }

    /// The link is over: what it holds of the actors, and they of it, goes.
    pub(crate) fn let_go(&mut self) {
        self.dirty.clear();
        self.channels.clear();
    }

    pub(crate) fn read(
        &mut self,
        link: &Link,
        framing: Framing,
        input: &mut ReadBuf,
        now: Time,
    ) -> Result<(), LinkError> {
        let too_long = || LinkError::Misbehaved {
            code: Code::LIMIT_EXCEEDED,
            rule: "a batch is longer than batch_max, or its framing is broken",
        };
        let most = usize::try_from(self.ours.batch_max).unwrap_or(usize::MAX);
        while let Some(message) = framing.cut(input, most).map_err(|_| too_long())? {
            let outcome = self.read_message(link, &message, now);
            self.publish();
            self.answering.publish(link);
            outcome?;
        }
        Ok(())
    }

    fn read_message(&mut self, link: &Link, message: &[u8], now: Time) -> Result<(), LinkError> {
        // mangos sends hop count 0, NNG 1; more means a device in the middle, which would mix
        // sessions.
        let batch = match message.split_first_chunk::<4>() {
            Some((&PAIR1_HEADER | [0, 0, 0, 0], batch)) => batch,
            _ => return Err(LinkError::protocol("a session has no device on its way")),
        };
        // The receiver is taken out for as long as the batch borrows it.
        let mut receiver = std::mem::replace(&mut self.receiver, Receiver::new(&self.ours));
        let before = receiver.recv_next();
        let outcome = self.read_batch(link, &mut receiver, batch);
        self.receiver = receiver;
        outcome?;
        if std::mem::take(&mut self.is_unconfirmed) {
            link.resuming.confirm();
        }
        let recv_next = self.receiver.recv_next();
        let mut sending = link.sending();
        sending.statistics.bytes_received += message.len() as u64;
        sending.statistics.batches_received += 1;
        sending.statistics.frames_received += recv_next - before;
        sending.sender.accepted(recv_next, message.len(), now);
        let draining = sending.draining;
        drop(sending);
        if draining {
            // Somebody may wait for the last answer, and it may have been in here.
            link.progress.notify_waiters();
        }
        Ok(())
    }

    fn read_batch(
        &mut self,
        link: &Link,
        receiver: &mut Receiver,
        batch: &[u8],
    ) -> Result<(), LinkError> {
        let mut incoming = receiver.open(batch)?;
        self.acknowledged(link, incoming.ack)?;
        // Answers that are in here were asked for before, so their slots are set aside by now.
        let floor = link.asks.rings.floor();
        loop {
            while let Some(run) = incoming.next_calls(RUN_CALLS_MAX) {
                self.calls(link, &run)?;
            }
            if let Some(run) = incoming.next_replies() {
                self.replies(link, &run, floor)?;
                continue;
            }
            if let Some(reply) = incoming.next_reply() {
                let asker = (reply.slot, reply.generation);
                self.reply(link, asker, reply.value, floor)?;
                continue;
            }
            let Some((frame, body)) = incoming.next_frame()? else {
                return Ok(());
            };
            let units = units(body);
            match frame {
                Frame::Tell { channel, method, arguments } => {
                    let method = u32::try_from(method).unwrap_or(u32::MAX);
                    self.single(link, &Single { channel, method, arguments, units, asker: None })?;
                }
                Frame::Ask { channel, slot, generation, method, arguments } => {
                    let asker = Some(self.asker(slot, generation)?);
                    let method = u32::try_from(method).unwrap_or(u32::MAX);
                    self.single(link, &Single { channel, method, arguments, units, asker })?;
                }
                Frame::Reply { slot, generation, value } => {
                    let asker = asked(slot, generation)?;
                    self.reply(link, asker, value, floor)?;
                }
                Frame::Error { slot, generation, code, text, .. } => {
                    let asker = asked(slot, generation)?;
                    let text = String::from_utf8_lossy(text).into_owned().into();
                    let failure = (CallErrorKind::from_code(code.0), text);
                    if asker.0 >= floor {
                        asked_for(self.answering.fail(&link.asks, asker, Err(failure)))?;
                    } else {
                        completed(link, asker.0, link.asks.fail(asker, || Box::new(failure)))?;
                    }
                }
                Frame::NotUnderstood { tag, channel, asker } => {
                    self.not_understood(link, tag, channel, asker, units)?;
                }
                other => self.control(link, other)?,
            }
        }
    }

    /// The value of an ask, wherever its slot is.
    #[inline(always)]
    fn reply(
        &mut self,
        link: &Link,
        asker: (u32, u32),
        value: &[u8],
        floor: u32,
    ) -> Result<(), LinkError> {
        if asker.0 >= floor {
            return asked_for(self.answering.complete(&link.asks, asker, value));
        }
        completed(link, asker.0, link.asks.complete(asker, value))
    }

    fn replies(&mut self, link: &Link, run: &ReplyRun<'_>, floor: u32) -> Result<(), LinkError> {
        if run.slot >= floor {
            return asked_for(self.answering.complete_run(&link.asks, run));
        }
        for (slot, value) in (run.slot..).zip(run.values) {
            self.reply(link, (slot, run.generation), value, floor)?;
        }
        Ok(())
    }

    fn acknowledged(&mut self, link: &Link, ack: u64) -> Result<(), LinkError> {
        let mut sending = link.sending();
        let room = sending.sender.outbox.acknowledge(ack)?;
        sending.sender.outbox.check_written()?;
        let fronts = if room { sending.fronts() } else { Vec::new() };
        let settled = sending.sender.outbox.is_settled();
        drop(sending);
        fronts.into_iter().for_each(Waker::wake);
        if settled {
            link.progress.notify_waiters();
        }
        Ok(())
    }

    fn asker(&self, slot: u64, generation: u64) -> Result<(u32, u32), LinkError> {
        let slot = u32::try_from(slot).ok().filter(|slot| u64::from(*slot) < self.ours.slots_max);
        match (slot, u32::try_from(generation)) {
            (Some(slot), Ok(generation)) => Ok((slot, generation)),
            _ => Err(LinkError::Misbehaved {
                code: Code::LIMIT_EXCEEDED,
                rule: "a slot's number is below slots_max, its generation below 2^32",
            }),
        }
    }

    /// Puts calls into their lane. The road of nearly every frame: no lock, no allocation.
    #[inline]
    fn calls(&mut self, link: &Link, run: &CallRun<'_>) -> Result<(), LinkError> {
        let at = usize::try_from(run.channel).unwrap_or(usize::MAX);
        let Some(Some(Inbound::Open(open))) = self.channels.get_mut(at) else {
            return self.call_nobody(link, run);
        };
        if !open.pay(link, run.channel, run.units)? {
            undeliverable(link, Calls::new(run.bytes), Code::ACTOR_STOPPED, "");
            return Ok(());
        }
        open.lane.accept(run.bytes, run.calls, run.units);
        if !open.dirty {
            open.dirty = true;
            self.dirty.push(at);
        }
        Ok(())
    }

    /// *describe*, which is answered here, and calls whose frame says more than the call.
    #[cold]
    fn single(&mut self, link: &Link, call: &Single<'_>) -> Result<(), LinkError> {
        let at = usize::try_from(call.channel).unwrap_or(usize::MAX);
        if let (Some(Some(Inbound::Open(open))), DESCRIBE, Some((slot, generation))) =
            (self.channels.get_mut(at), call.method, call.asker)
        {
            if open.pay(link, call.channel, call.units)? {
                // The schema is known here; the actor need not be woken for it.
                open.owner.freed(call.units);
                open.owner.reply(slot, generation, open.actor.schema());
            } else {
                undeliverable_call(link, call.asker, Code::ACTOR_STOPPED, "");
            }
            return Ok(());
        }
        let mut frame = Buffer::new();
        let arguments = |out: &mut Buffer| out.extend(call.arguments);
        match call.asker {
            None => write::tell(&mut frame, call.channel, call.method, arguments),
            Some(asker) => write::ask(&mut frame, call.channel, asker, call.method, arguments),
        };
        let (channel, bytes) = (call.channel, frame.as_slice());
        self.calls(link, &CallRun { channel, calls: 1, units: call.units, bytes })
    }

    /// A call with an extra that must be understood and is not: it has paid, and nobody gets it.
    #[cold]
    fn not_understood(
        &mut self,
        link: &Link,
        tag: u64,
        channel: u64,
        asker: Option<(u64, u64)>,
        units: u64,
    ) -> Result<(), LinkError> {
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        match self.channels.get_mut(at) {
            Some(Some(Inbound::Open(open))) => {
                if open.pay(link, channel, units)? {
                    open.owner.freed(units);
                }
            }
            nobody => pay_nobody(nobody, units).map(drop)?,
        }
        let asker = match asker {
            Some((slot, generation)) => Some(self.asker(slot, generation)?),
            None => None,
        };
        let detail = format!("extra {tag} is not known here");
        undeliverable_call(link, asker, Code::BAD_ARGUMENTS, &detail);
        Ok(())
    }

    #[cold]
    fn call_nobody(&mut self, link: &Link, run: &CallRun<'_>) -> Result<(), LinkError> {
        let at = usize::try_from(run.channel).unwrap_or(usize::MAX);
        let code = pay_nobody(self.channels.get_mut(at), run.units)?;
        undeliverable(link, Calls::new(run.bytes), code, "");
        Ok(())
    }

    /// Hands over what was accepted.
    pub(crate) fn publish(&mut self) {
        for at in self.dirty.drain(..) {
            if let Some(Some(Inbound::Open(open))) = self.channels.get_mut(at) {
                open.dirty = false;
                open.lane.publish();
            }
        }
    }
}

/// Pays for calls on a channel that was refused or is over: the code that their askers are told.
#[cold]
fn pay_nobody(channel: Option<&mut Option<Inbound>>, units: u64) -> Result<Code, LinkError> {
    let Some(Some(Inbound::Refused(code, left))) = channel else {
        return Err(LinkError::protocol("a call on a channel that was never attached"));
    };
    *left = left.checked_sub(units).ok_or_else(wigwag_link::credit::exceeded)?;
    Ok(*code)
}

/// Calls that reach no actor.
#[cold]
fn undeliverable(link: &Link, calls: Calls<'_>, code: Code, detail: &str) {
    calls.for_each(|call| undeliverable_call(link, call.asker, code, detail));
}

/// A call that reaches no actor: an asker is told, a tell is counted.
#[cold]
fn undeliverable_call(link: &Link, asker: Option<(u32, u32)>, code: Code, detail: &str) {
    let mut sending = link.sending();
    match asker {
        Some(asker) => {
            sending.sender.outbox.append(|out| write::error(out, asker, code, detail));
        }
        None => sending.statistics.tells_undeliverable += 1,
    }
}

/// Slot and generation that a reply names.
fn asked(slot: u64, generation: u64) -> Result<(u32, u32), LinkError> {
    match (u32::try_from(slot), u32::try_from(generation)) {
        (Ok(slot), Ok(generation)) => Ok((slot, generation)),
        _ => Err(not_open()),
    }
}

/// An answer for a pipeline has come.
#[inline(always)]
fn asked_for(found: bool) -> Result<(), LinkError> {
    if found { Ok(()) } else { Err(not_open()) }
}

/// The one completion of an ask has come.
#[inline(always)]
fn completed(link: &Link, number: u32, what: Completed) -> Result<(), LinkError> {
    match what {
        Completed::In(None) => Ok(()),
        other => completed_otherwise(link, number, other),
    }
}

#[cold]
fn completed_otherwise(link: &Link, number: u32, what: Completed) -> Result<(), LinkError> {
    match what {
        Completed::In(waker) => waker.into_iter().for_each(Waker::wake),
        Completed::Unwanted => link.free_slot(number),
        Completed::NotOpen => return Err(not_open()),
    }
    Ok(())
}

#[cold]
fn not_open() -> LinkError {
    LinkError::protocol("an answer to a question that is not open")
}
