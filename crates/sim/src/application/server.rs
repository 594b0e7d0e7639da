//! The called half of the application: inbound queues, actors, answers.
//!
//! Calls are queued as they arrive. At random times an actor takes some out, answers at once or
//! later, or stops. The contents of the queues are compared with the granted credit.

use std::collections::VecDeque;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use wigwag_link::credit::{ActorBound, Grant};
use wigwag_link::recv_half::ChannelCalls;
use wigwag_link::{Code, SendHalf};
use wigwag_wire::call::{Calls, EncodedCall};

use crate::check::{Violation, must};
use crate::content::CallId;
use crate::setup::{Mutant, Side, Workload};
use crate::shared::Shared;

mod actors;

/// The units that remote callers together may have waiting for the actor that has a bound: fewer
/// than a few of the first windows, and than some calls cost.
const BOUND_UNITS: u64 = 24;

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
    /// The channel is attached to this inbound queue and to no later one.
    is_open: bool,
    calls: VecDeque<QueuedCall>,
    /// The units of the calls that wait in the queue.
    queued: u64,
    /// The units that the sender has used.
    used: u64,
    /// The units that were taken out.
    freed: u64,
    /// The number of calls passed to the actor.
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
    /// The number of occasions until a planted error that occurs once occurs.
    trigger_in: u64,
    /// The bound of the actor that has one, which several channels lead to.
    bound: ActorBound,
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
            bound: ActorBound::new(BOUND_UNITS, Arc::new(AtomicU64::new(BOUND_UNITS))),
        }
    }

    /// The bound of the actor that has one.
    pub fn bound(&self) -> ActorBound {
        self.bound.clone()
    }

    /// True when a turn could make progress.
    pub fn has_work(&self) -> bool {
        !self.deferred.is_empty()
            || !self.unsent_answers.is_empty()
            || self.queues.iter().any(|queue| !queue.calls.is_empty())
    }

    /// Checks, when all work is done, that each sender has more than half of its window again.
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

    /// The open channels, with the units that their senders may use and the calls that were
    /// handled.
    pub fn channel_counts(&self, sender: &mut SendHalf) -> Vec<(u64, u64, u64)> {
        let open = self.queues.iter().filter(|queue| queue.is_open);
        let mut units =
            |queue: &InboundQueue| Some(sender.granted(queue.channel)?.announced() - queue.used);
        open.filter_map(|queue| Some((queue.channel, units(queue)?, queue.handled_calls))).collect()
    }

    /// Notes that the session continues over another connection.
    pub fn resumed(&mut self, sender: &mut SendHalf) {
        if self.mutant != Some(Mutant::CreditByDelta) {
            return;
        }
        for queue in self.queues.iter().filter(|queue| queue.is_open) {
            sender.freed(queue.channel, queue.freed);
        }
    }

    /// True once, at a random occasion, for the planted error.
    pub fn triggers(&mut self, mutant: Mutant) -> bool {
        if self.mutant != Some(mutant) {
            return false;
        }
        self.trigger_in = self.trigger_in.wrapping_sub(1);
        self.trigger_in == u64::MAX
    }

    /// Cancels an ask whose caller waits no longer, if it has not begun.
    pub fn cancelled(&mut self, asker: (u64, u64)) {
        for queued in self.queues.iter_mut().flat_map(|queue| queue.calls.iter_mut()) {
            let meant = |(slot, generation): (u32, u32)| (slot.into(), generation.into()) == asker;
            queued.cancelled |= queued.asker.is_some_and(meant);
        }
    }

    /// Opens a channel; returns the number of its inbound queue.
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

    /// Closes a channel that the sender has detached from. Queued calls are still handled.
    pub fn close(&mut self, at: usize, grant: Option<Grant>, sender: &mut SendHalf) {
        let queue = &mut self.queues[at];
        queue.is_open = false;
        queue.grant = grant;
        queue.close_if_empty(sender);
    }

    /// Accepts calls for an inbound queue.
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
            // The sender did not know yet that the actor has stopped.
            let asker = call.asker.into_iter();
            asker.for_each(|asker| self.answer(asker, Answer::Error(Code::ACTOR_STOPPED), sender));
            return Ok(());
        }
        let asker = call.asker;
        let method = call.method;
        let Some(call) = CallId::read_arguments(self.side.other(), call.arguments) else {
            return Err(Violation::new("arguments arrive as they were sent", at));
        };
        must(method == call.method(), "each call arrives with its method", || {
            format!("{call:?} of method {method}")
        })?;
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

    fn check_credit(&self, at: usize, sender: &mut SendHalf) -> Result<(), Violation> {
        let queue = &self.queues[at];
        if !queue.is_open {
            return Ok(());
        }
        let Some(grant) = sender.granted(queue.channel) else {
            return Err(Violation::new("an open channel has a grant", queue.channel));
        };
        grant.check(queue.used).map_err(|error| Violation::new("used <= limit", error))?;
        let places = grant.capacity();
        let fits = queue.queued <= places && grant.announced() <= queue.freed + places;
        must(fits, "an inbound queue has places for all that was granted", || {
            format!("{} queued, {places} places, {} granted", queue.queued, grant.announced())
        })
    }
}

impl InboundQueue {
    /// Frees the grant of a channel that has ended, after its last call was handled.
    fn close_if_empty(&mut self, sender: &mut SendHalf) {
        if self.calls.is_empty()
            && let Some(grant) = self.grant.take()
        {
            sender.close_grant(grant);
        }
    }
}
