//! The half of the application that is called: lanes, actors with a will of their own, answers.
//!
//! Calls are queued as they arrive. At random times an actor takes some out, answers at once or
//! later, or stops. The contents of the queues are compared with the granted credit.

use std::collections::VecDeque;
use std::iter;

use wigwag_link::credit::Grant;
use wigwag_link::recv_half::ChannelCalls;
use wigwag_link::{Code, SendHalf};
use wigwag_wire::call::{Calls, EncodedCall};

use crate::check::{Violation, must};
use crate::content::CallId;
use crate::setup::{Mutant, Side, Workload};
use crate::world::Shared;

mod actors;

/// The calls, each with its share of the units that all of them cost; the first gets what does not
/// divide.
pub fn calls_with_units<'a>(
    run: &ChannelCalls<'a>,
) -> impl Iterator<Item = (EncodedCall<'a>, u64)> + use<'a> {
    let share = run.units / run.calls as u64;
    let first = run.units - share * (run.calls as u64 - 1);
    Calls::new(run.bytes).zip(iter::once(first).chain(iter::repeat(share)))
}

#[derive(Debug)]
struct QueuedCall {
    call: CallId,
    units: u64,
    asker: Option<(u32, u32)>,
    cancelled: bool,
}

#[derive(Debug)]
struct InboundQueue {
    channel: u64,
    /// The channel is attached to this lane and to no later one.
    is_open: bool,
    calls: VecDeque<QueuedCall>,
    /// Units that lie in the lane, that the sender has used, that were taken out.
    queued: u64,
    used: u64,
    freed: u64,
    /// Calls handed to the actor.
    handled_calls: u64,
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
    workload: Workload,
    queues: Vec<InboundQueue>,
    /// Asks that their actor answers later.
    deferred: Vec<QueuedCall>,
    /// Answers for which the outbox had no room.
    unsent_answers: VecDeque<((u32, u32), Answer)>,
    mutant: Option<Mutant>,
    /// Occasions until the mutant strikes, for those that strike once.
    trigger_in: u64,
}

impl Server {
    /// The server of `side`, which has announced `limits`.
    pub fn new(side: Side, workload: Workload, mutant: Option<Mutant>, trigger_in: u64) -> Server {
        Server {
            side,
            workload,
            queues: Vec::new(),
            deferred: Vec::new(),
            unsent_answers: VecDeque::new(),
            mutant,
            trigger_in,
        }
    }

    /// True when a turn would get on.
    pub fn has_work(&self) -> bool {
        !self.deferred.is_empty()
            || !self.unsent_answers.is_empty()
            || self.queues.iter().any(|queue| !queue.calls.is_empty())
    }

    /// Nothing happens any more: each sender has more than half of its window again.
    pub fn check_credit_returned(&self, sender: &mut SendHalf) -> Result<(), Violation> {
        for queue in self.queues.iter().filter(|queue| queue.is_open) {
            let Some(grant) = sender.granted(queue.channel) else {
                return Err(Violation::new("an open channel has a grant", queue.channel));
            };
            let free = grant.announced().saturating_sub(queue.freed);
            must(free * 2 > grant.window(), "credit comes back", || {
                format!("channel {}: {free} of {} units", queue.channel, grant.window())
            })?;
        }
        Ok(())
    }

    /// Each living channel, with the units that its sender may use and the calls that were handled.
    pub fn channel_counts(&self, sender: &mut SendHalf) -> Vec<(u64, u64, u64)> {
        let open = self.queues.iter().filter(|queue| queue.is_open);
        let mut units =
            |queue: &InboundQueue| Some(sender.granted(queue.channel)?.announced() - queue.used);
        open.filter_map(|queue| Some((queue.channel, units(queue)?, queue.handled_calls))).collect()
    }

    /// The session goes on over another connection.
    pub fn resumed(&mut self, sender: &mut SendHalf) {
        if self.mutant != Some(Mutant::CreditByDelta) {
            return;
        }
        for queue in self.queues.iter().filter(|queue| queue.is_open) {
            sender.freed(queue.channel, queue.freed);
        }
    }

    /// True once, at an occasion that chance has chosen, for the planted error.
    pub fn triggers(&mut self, mutant: Mutant) -> bool {
        if self.mutant != Some(mutant) {
            return false;
        }
        self.trigger_in = self.trigger_in.wrapping_sub(1);
        self.trigger_in == u64::MAX
    }

    /// The caller of an ask does not wait any more.
    pub fn cancelled(&mut self, asker: (u64, u64)) {
        let queued = self.queues.iter_mut().flat_map(|queue| queue.calls.iter_mut());
        for queued in queued.chain(self.deferred.iter_mut()) {
            let meant = |(slot, generation): (u32, u32)| (slot.into(), generation.into()) == asker;
            queued.cancelled |= queued.asker.is_some_and(meant);
        }
    }

    /// A channel is open; gives the number of its lane.
    pub fn open(&mut self, channel: u64) -> usize {
        self.queues.push(InboundQueue {
            channel,
            is_open: true,
            calls: VecDeque::new(),
            queued: 0,
            used: 0,
            freed: 0,
            handled_calls: 0,
            grant: None,
        });
        self.queues.len() - 1
    }

    /// The sender is done with a channel. Queued calls are still handled.
    pub fn close(&mut self, at: usize, grant: Option<Grant>, sender: &mut SendHalf) {
        let queue = &mut self.queues[at];
        queue.is_open = false;
        queue.grant = grant;
        queue.close_if_empty(sender);
    }

    /// Calls have come for a lane.
    pub fn calls(
        &mut self,
        at: usize,
        run: &ChannelCalls<'_>,
        sender: &mut SendHalf,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        for (call, units) in calls_with_units(run) {
            self.call(at, &call, units, sender, shared)?;
        }
        self.check_credit(at, sender)
    }

    fn call(
        &mut self,
        at: usize,
        call: &EncodedCall<'_>,
        units: u64,
        sender: &mut SendHalf,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        if !self.queues[at].is_open {
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
        if self.triggers(Mutant::ForgetCall) {
            return Ok(());
        }
        let queue = &mut self.queues[at];
        queue.used += units;
        queue.queued += units;
        queue.calls.push_back(QueuedCall { call, units, asker, cancelled: false });
        Ok(())
    }

    fn check_credit(&self, at: usize, sender: &SendHalf) -> Result<(), Violation> {
        let queue = &self.queues[at];
        if !queue.is_open {
            return Ok(());
        }
        let Some(grant) = sender.grant_of(queue.channel) else {
            return Err(Violation::new("an open channel has a grant", queue.channel));
        };
        grant.check(queue.used).map_err(|error| Violation::new("used <= limit", error))?;
        let places = grant.window();
        let fits = queue.queued <= places && grant.announced() <= queue.freed + places;
        must(fits, "a lane has places for all that was granted", || {
            format!("{} queued, {places} places, {} granted", queue.queued, grant.announced())
        })
    }
}

impl InboundQueue {
    /// The last call of a channel that has ended was handled: its places are free.
    fn close_if_empty(&mut self, sender: &mut SendHalf) {
        if self.calls.is_empty()
            && let Some(grant) = self.grant.take()
        {
            sender.close_grant(grant);
        }
    }
}
