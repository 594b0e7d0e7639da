//! The half of the application that is called: lanes, actors with a will of their own, answers.
//!
//! Calls are put into lanes as they arrive; at random times an actor takes some out, answers at
//! once or later, or stops. What the lanes hold is compared with what was granted.

use std::collections::VecDeque;

use wigwag_link::credit::Grant;
use wigwag_link::recv_half::ChannelCalls;
use wigwag_link::{Code, SendHalf};
use wigwag_wire::call::{Calls, EncodedCall};

use crate::check::{Violation, must};
use crate::content::CallId;
use crate::setup::{Habits, Mutant, Side};
use crate::world::Shared;

mod actors;

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
    /// The grant of a channel that has ended, until its last call is handled.
    grant: Option<Grant>,
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
    pub fn new(side: Side, habits: Habits, mutant: Option<Mutant>, strike: u64) -> Server {
        Server {
            side,
            habits,
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

    /// The caller of an ask does not wait any more.
    pub fn cancelled(&mut self, asker: (u64, u64)) {
        let mail = self.lanes.iter_mut().flat_map(|lane| lane.mail.iter_mut());
        for mail in mail.chain(self.held.iter_mut()) {
            let meant = |(slot, generation): (u32, u32)| (slot.into(), generation.into()) == asker;
            mail.cancelled |= mail.asker.is_some_and(meant);
        }
    }

    /// A channel is open; gives the number of its lane.
    pub fn open(&mut self, channel: u64) -> usize {
        self.lanes.push(Lane {
            channel,
            living: true,
            mail: VecDeque::new(),
            queued: 0,
            used: 0,
            freed: 0,
            taken: 0,
            grant: None,
        });
        self.lanes.len() - 1
    }

    /// The sender is done with a channel. What lies in the lane is still handled.
    pub fn close(&mut self, at: usize, grant: Option<Grant>, sender: &mut SendHalf) {
        let lane = &mut self.lanes[at];
        lane.living = false;
        lane.grant = grant;
        lane.close_if_empty(sender);
    }

    /// Calls have come for a lane.
    pub fn calls(
        &mut self,
        at: usize,
        run: &ChannelCalls<'_>,
        sender: &mut SendHalf,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let each = run.units / run.calls as u64;
        let mut units = run.units - each * (run.calls as u64 - 1);
        for call in Calls::new(run.bytes) {
            self.call(at, &call, std::mem::replace(&mut units, each), sender, shared)?;
        }
        self.judge_credit(at, sender)
    }

    fn call(
        &mut self,
        at: usize,
        call: &EncodedCall<'_>,
        units: u64,
        sender: &mut SendHalf,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        if !self.lanes[at].living {
            // Its sender did not know yet.
            let asker = call.asker.into_iter();
            asker.for_each(|asker| self.answer(asker, Answer::Error(Code::ACTOR_STOPPED), sender));
            return Ok(());
        }
        let asker = call.asker;
        let Some(call) = CallId::read_arguments(self.side.other(), call.arguments) else {
            return Err(Violation::new("arguments arrive as they were sent", at));
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
        Ok(())
    }

    fn judge_credit(&self, at: usize, sender: &SendHalf) -> Result<(), Violation> {
        let lane = &self.lanes[at];
        if !lane.living {
            return Ok(());
        }
        let Some(grant) = sender.grant_of(lane.channel) else {
            return Err(Violation::new("an open channel has a grant", lane.channel));
        };
        grant.check(lane.used).map_err(|error| Violation::new("used <= limit", error))?;
        let places = grant.window();
        let fits = lane.queued <= places && grant.announced() <= lane.freed + places;
        must(fits, "a lane has places for all that was granted", || {
            format!("{} queued, {places} places, {} granted", lane.queued, grant.announced())
        })
    }
}

impl Lane {
    /// The last call of a channel that has ended was handled: its places are free.
    fn close_if_empty(&mut self, sender: &mut SendHalf) {
        if self.mail.is_empty()
            && let Some(grant) = self.grant.take()
        {
            sender.close_grant(grant);
        }
    }
}
