//! The half of the application that is called: lanes, actors with a will of their own, answers.
//!
//! Calls are put into lanes as they arrive; at random times an actor takes some out, answers at
//! once or later, or stops. What the lanes hold is compared with what was granted.

use std::collections::{BTreeMap, VecDeque};

use wigwag_link::frame::Frame;
use wigwag_link::limits::units;
use wigwag_link::{Code, Limits, SendHalf, write};

use crate::check::{Violation, must};
use crate::content::CallId;
use crate::setup::{Habits, Mutant, Side};
use crate::world::Shared;

mod actors;

/// A channel that the peer sends on.
#[derive(Clone, Copy, Debug)]
enum Inbound {
    /// Its lane.
    Open(usize),
    /// The actor is gone: calls are taken and thrown away, asks get the code.
    Refused(Code),
}

#[derive(Debug)]
struct Mail {
    call: CallId,
    units: u64,
    asker: Option<(u32, u32)>,
    cancelled: bool,
}

#[derive(Debug)]
struct Lane {
    channel: u64,
    /// The channel is attached to this lane and to no later one.
    living: bool,
    mail: VecDeque<Mail>,
    /// Units that lie in the lane, that the sender has used, that were taken out.
    queued: u64,
    used: u64,
    freed: u64,
    /// Calls handed to the actor.
    taken: u64,
}

#[derive(Debug)]
enum Answer {
    Reply(CallId),
    Error(Code),
}

/// The called half of one node.
#[derive(Debug)]
pub struct Server {
    side: Side,
    habits: Habits,
    limits: Limits,
    inbound: BTreeMap<u64, Inbound>,
    lanes: Vec<Lane>,
    /// Asks that their actor answers later.
    held: Vec<Mail>,
    /// Answers for which the outbox had no room.
    waiting: VecDeque<((u32, u32), Answer)>,
    mutant: Option<Mutant>,
    /// Occasions until the mutant strikes, for those that strike once.
    strike: u64,
}

impl Server {
    /// The server of `side`, which has announced `limits`.
    pub fn new(
        side: Side,
        habits: Habits,
        limits: Limits,
        mutant: Option<Mutant>,
        strike: u64,
    ) -> Server {
        Server {
            side,
            habits,
            limits,
            inbound: BTreeMap::new(),
            lanes: Vec::new(),
            held: Vec::new(),
            waiting: VecDeque::new(),
            mutant,
            strike,
        }
    }

    /// True when a turn would get on.
    pub fn has_work(&self) -> bool {
        !self.held.is_empty()
            || !self.waiting.is_empty()
            || self.lanes.iter().any(|lane| !lane.mail.is_empty())
    }

    /// Nothing happens any more: each sender has more than half of its window again.
    pub fn credit_is_back(&self, sender: &mut SendHalf) -> Result<(), Violation> {
        for lane in self.lanes.iter().filter(|lane| lane.living) {
            let Some(grant) = sender.granted(lane.channel) else {
                return Err(Violation::new("an open channel has a grant", lane.channel));
            };
            let free = grant.announced().saturating_sub(lane.freed);
            must(free * 2 > grant.window(), "credit comes back", || {
                format!("channel {}: {free} of {} units", lane.channel, grant.window())
            })?;
        }
        Ok(())
    }

    /// Each living channel, with the units that its sender may use and the calls that were handled.
    pub fn counts(&self, sender: &mut SendHalf) -> Vec<(u64, u64, u64)> {
        let living = self.lanes.iter().filter(|lane| lane.living);
        let mut units = |lane: &Lane| Some(sender.granted(lane.channel)?.announced() - lane.used);
        living.filter_map(|lane| Some((lane.channel, units(lane)?, lane.taken))).collect()
    }

    /// The session goes on over another connection.
    pub fn resumed(&mut self, sender: &mut SendHalf) {
        if self.mutant != Some(Mutant::CreditByDelta) {
            return;
        }
        for lane in self.lanes.iter().filter(|lane| lane.living) {
            sender.freed(lane.channel, lane.freed);
        }
    }

    /// True once, at an occasion that chance has chosen, for the planted error.
    pub fn strikes(&mut self, mutant: Mutant) -> bool {
        if self.mutant != Some(mutant) {
            return false;
        }
        self.strike = self.strike.wrapping_sub(1);
        self.strike == u64::MAX
    }

    /// A frame for the called half has come; `body` is the length of its body.
    pub fn receive(
        &mut self,
        frame: Frame<'_>,
        body: usize,
        sender: &mut SendHalf,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        match frame {
            Frame::Attach { channel, target, .. } => self.attach(channel, target, sender),
            Frame::Detach { channel } => {
                self.detach(channel, sender);
                Ok(())
            }
            Frame::Need { channel, limit_wanted } => {
                sender.need_received(channel, limit_wanted);
                Ok(())
            }
            Frame::Cancel { slot, generation } => {
                let mail = self.lanes.iter_mut().flat_map(|lane| lane.mail.iter_mut());
                for mail in mail.chain(self.held.iter_mut()) {
                    let (slot_of, generation_of) = mail.asker.unwrap_or_default();
                    let meant =
                        (u64::from(slot_of), u64::from(generation_of)) == (slot, generation);
                    mail.cancelled |= mail.asker.is_some() && meant;
                }
                Ok(())
            }
            Frame::Tell { channel, arguments, .. } => {
                self.call(channel, arguments, units(body), None, sender, shared)
            }
            Frame::Ask { channel, slot, generation, arguments, .. } => {
                let in_range = slot < self.limits.slots_max && generation <= u64::from(u32::MAX);
                must(in_range, "slots stay below slots_max", || format!("{slot}"))?;
                let asker = Some((slot as u32, generation as u32));
                self.call(channel, arguments, units(body), asker, sender, shared)
            }
            other => {
                Err(Violation::new("frames come where they are expected", format!("{other:?}")))
            }
        }
    }

    fn attach(
        &mut self,
        channel: u64,
        target: &[u8],
        sender: &mut SendHalf,
    ) -> Result<(), Violation> {
        let limit = sender
            .grant(channel, self.limits.initial_units)
            .map_err(|error| Violation::new("nobody breaks a rule", error))?;
        if target == b"nobody" {
            sender.withdraw(channel);
            let code = Code::NO_SUCH_ACTOR;
            self.inbound.insert(channel, Inbound::Refused(code));
            let detached = Frame::Detached { channel, code, accepted: 0 };
            sender.outbox.append(|out| write::any(out, &detached));
            return Ok(());
        }
        self.inbound.insert(channel, Inbound::Open(self.lanes.len()));
        self.lanes.push(Lane {
            channel,
            living: true,
            mail: VecDeque::new(),
            queued: 0,
            used: 0,
            freed: 0,
            taken: 0,
        });
        let attached = Frame::Attached { channel, limit, schema_hash: 1, codec: 0, reference: &[] };
        sender.outbox.append(|out| write::any(out, &attached));
        Ok(())
    }

    /// The sender is done. What lies in the lane is still handled. A DETACH that crossed our own
    /// DETACHED gets no second one: its number may be in use again.
    fn detach(&mut self, channel: u64, sender: &mut SendHalf) {
        let Some(Inbound::Open(at)) = self.inbound.get(&channel).copied() else {
            return;
        };
        self.inbound.remove(&channel);
        let lane = &mut self.lanes[at];
        lane.living = false;
        let accepted = lane.taken + lane.mail.len() as u64;
        sender.withdraw(channel);
        let detached = Frame::Detached { channel, code: Code::OK, accepted };
        sender.outbox.append(|out| write::any(out, &detached));
    }

    fn call(
        &mut self,
        channel: u64,
        arguments: &[u8],
        units: u64,
        asker: Option<(u32, u32)>,
        sender: &mut SendHalf,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let at = match self.inbound.get(&channel) {
            Some(Inbound::Open(at)) => *at,
            Some(Inbound::Refused(code)) => {
                let code = *code;
                asker.into_iter().for_each(|asker| self.answer(asker, Answer::Error(code), sender));
                return Ok(());
            }
            None => return Err(Violation::new("calls come on open channels", channel)),
        };
        let Some(call) = CallId::read_arguments(self.side.other(), arguments) else {
            return Err(Violation::new("arguments arrive as they were sent", channel));
        };
        shared.oracle.arrived(call)?;
        shared.note(self.side, "arrived", call.attachment, call.number);
        if self.strikes(Mutant::ForgetCall) {
            return Ok(());
        }
        let lane = &mut self.lanes[at];
        lane.used += units;
        lane.queued += units;
        lane.mail.push_back(Mail { call, units, asker, cancelled: false });
        let Some(grant) = sender.granted(channel) else {
            return Err(Violation::new("an open channel has a grant", channel));
        };
        grant.check(lane.used).map_err(|error| Violation::new("used <= limit", error))?;
        let places = grant.window();
        let fits = lane.queued <= places && grant.announced() <= lane.freed + places;
        must(fits, "a lane has places for all that was granted", || {
            format!("{} queued, {places} places, {} granted", lane.queued, grant.announced())
        })
    }
}
