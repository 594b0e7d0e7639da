//! The tally of the calls of one channel while its session lives.
//!
//! Tells and asks are counted apart. A tell has no answer, so the peer counts: how many tells it
//! has taken in their turn, and how many of these it has rejected. An ask is counted by the answer
//! that its caller got, so the counts are what the callers saw.

use std::sync::Arc;

use wigwag_actor::{CallErrorKind, DeliveryStatus};

use crate::events::Delivery;
use crate::limits::DESCRIBE;
use crate::limits::REJECTED_METHODS_MAX;
use crate::replies::ask_origin::AskOrigin;
use crate::replies::ask_origin::RingTally;
use crate::replies::asks::AskTable;
use crate::sync::{AtomicU64, Ordering};

/// Asks that were sent on a channel. A turn counts them without the session's lock, while the
/// channel counts the turn among its open ones.
#[derive(Debug, Default)]
pub(crate) struct AskCounters {
    /// All asks from slots of their own.
    asks: AtomicU64,
    /// Those among them that the node has sent for itself.
    internal: AtomicU64,
}

impl AskCounters {
    /// Counts an ask of `method` that was sent, for the channel `origin`, if it has a slot of its own.
    /// The asks of a pipeline are counted by their ring.
    #[inline(always)]
    pub(crate) fn count(
        &self,
        asks: &AskTable,
        (slot, _): (u32, u32),
        method: u32,
        origin: AskOrigin,
    ) {
        if slot < asks.rings.floor() {
            let is_internal = method == DESCRIBE;
            if !is_internal {
                asks.set_origin(slot, origin);
            }
            self.sent(is_internal);
        }
    }

    /// Counts an ask that was sent; an `internal` one was sent by the node for itself.
    fn sent(&self, is_internal: bool) {
        // Read under the lock of the session, after the turn was closed under that lock.
        self.asks.fetch_add(1, Ordering::Relaxed);
        if is_internal {
            self.internal.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The counts of a channel.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Calls published so far, and calls that a turn had not published when the session ended.
    pub(crate) called: u64,
    /// The tells among the calls that were not published.
    held_back: u64,
    pub(crate) asks: Arc<AskCounters>,
    /// Asks of pipelines, each counted when the pipeline ends.
    pipelined: u64,
    /// Asks that ended without having been handled, by their outcome.
    asks_failed: AsksFailed,
    /// Calls whose handlers have ended, as the peer reports them; a peer that does not count tells
    /// apart reports nothing else.
    handled: u64,
    /// Tells that the peer has taken in their turn, and those among them that it has rejected.
    tells_taken: u64,
    tells_rejected: u64,
    /// Methods of which the peer has rejected tells, with the number of tells that are known.
    rejected: Vec<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct AsksFailed {
    rejected: u64,
    unknown: u64,
    not_delivered: u64,
}

impl Tally {
    /// The peer has handled this many calls in total.
    pub(crate) fn handled(&mut self, calls: u64) {
        self.handled = self.handled.max(calls);
    }

    /// The published calls that the peer has not reported as handled.
    pub(crate) fn waiting(&self) -> u64 {
        self.called.saturating_sub(self.handled)
    }

    /// The peer has taken this many tells in total, and rejected some of them.
    pub(crate) fn outcomes(&mut self, tells: u64, rejected: u64) {
        if tells >= self.tells_taken {
            (self.tells_taken, self.tells_rejected) = (tells, rejected.min(tells));
        }
    }

    /// The peer has rejected `tells` tells of a method in total. Returns how many of them are new:
    /// never more than were sent, whatever the peer says.
    pub(crate) fn rejected(&mut self, method: u64, tells: u64) -> u64 {
        let tells = tells.min(self.called);
        if let Some((_, known)) = self.rejected.iter_mut().find(|(other, _)| *other == method) {
            let new = tells.saturating_sub(*known);
            *known += new;
            return new;
        }
        if self.rejected.len() >= REJECTED_METHODS_MAX {
            return 0;
        }
        self.rejected.push((method, tells));
        tells
    }

    /// An ask has failed with an error of this kind.
    pub(crate) fn ask_failed(&mut self, kind: CallErrorKind) {
        match DeliveryStatus::of(kind) {
            DeliveryStatus::Delivered => {}
            DeliveryStatus::NotDelivered => self.asks_failed.not_delivered += 1,
            DeliveryStatus::Rejected(_) => self.asks_failed.rejected += 1,
            DeliveryStatus::Unknown => self.asks_failed.unknown += 1,
        }
    }

    /// A pipeline has ended after `sent` asks, which are all answered.
    pub(crate) fn pipeline_ended(&mut self, sent: u64) {
        self.pipelined += sent;
    }

    /// A pipeline is left when the session ends.
    pub(crate) fn pipeline_left(&mut self, ring: &RingTally) {
        self.pipelined += ring.sent;
        self.asks_failed.unknown += ring.unknown;
        self.asks_failed.not_delivered += ring.not_delivered;
    }

    /// This many tells were encoded and not published when the session ended.
    pub(crate) fn hold_back(&mut self, tells: u64) {
        self.held_back += tells;
    }

    /// The outcome of the calls, of which `unsent` tells were published and never left; `None` if
    /// there were no calls. `counts_tells` says that the peer does.
    pub(crate) fn delivery(
        &self,
        target: &Arc<str>,
        unsent: u64,
        counts_tells: bool,
    ) -> Option<Delivery> {
        let counters = &self.asks;
        let all_asks = counters.asks.load(Ordering::Relaxed) + self.pipelined;
        let tells = self.called.saturating_sub(all_asks);
        let asks = all_asks - counters.internal.load(Ordering::Relaxed).min(all_asks);
        let AsksFailed { rejected, unknown, not_delivered } = self.asks_failed;
        let asks_delivered = asks.saturating_sub(rejected + unknown + not_delivered);
        let tells_unsent = (unsent + self.held_back).min(tells);
        let tells_sent = tells - tells_unsent;
        let (taken, tells_rejected) = if counts_tells {
            (self.tells_taken.min(tells_sent), self.tells_rejected)
        } else {
            // All asks may be among the handled calls.
            let asks_sent = asks.saturating_sub(not_delivered);
            (self.handled.saturating_sub(asks_sent).min(tells_sent), 0)
        };
        let tells_rejected = tells_rejected.min(taken);
        (tells + asks > 0).then(|| Delivery {
            target: target.clone(),
            delivered: taken - tells_rejected + asks_delivered,
            rejected: tells_rejected + rejected,
            unknown: tells_sent - taken + unknown,
            not_delivered: tells_unsent + not_delivered,
        })
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;
    use CallErrorKind as K;

    fn of(tally: &Tally, unsent: u64, counts_tells: bool) -> [u64; 4] {
        let found = tally.delivery(&"there".into(), unsent, counts_tells).expect("calls");
        [found.delivered, found.rejected, found.unknown, found.not_delivered]
    }

    #[test]
    fn every_call_has_one_outcome() {
        let mut tally = Tally::default();
        // Ten tells, one ask of the node itself, six asks, and three in a pipeline.
        (0..7).for_each(|ask| tally.asks.sent(ask == 0));
        tally.pipeline_ended(3);
        tally.called = 20;
        let failures = [K::BadArguments, K::Unknown, K::NotDelivered, K::Panicked, K::TooLarge];
        failures.into_iter().for_each(|kind| tally.ask_failed(kind));
        tally.outcomes(6, 2);
        tally.outcomes(5, 1);
        tally.hold_back(1);
        // Of the tells: 4 delivered, 2 rejected, 2 unknown, 2 not delivered.
        assert_eq!(of(&tally, 1, true), [4 + 6, 2 + 1, 2 + 1, 2 + 1]);
    }

    #[test]
    fn the_asks_of_the_node_itself_are_no_calls() {
        let tally = Tally { called: 1, ..Tally::default() };
        tally.asks.sent(true);
        assert_eq!(tally.delivery(&"there".into(), 0, true), None);
    }

    /// A peer without the feature counts calls, among which all asks may be.
    #[test]
    fn of_a_peer_that_does_not_count_tells_a_lower_bound_is_known() {
        let mut tally = Tally { called: 10, ..Tally::default() };
        (0..4).for_each(|_| tally.asks.sent(false));
        tally.handled(7);
        assert_eq!(of(&tally, 0, false), [4 + 3, 0, 3, 0]);
        tally.handled(3);
        tally.ask_failed(K::Unknown);
        assert_eq!(of(&tally, 0, false), [3 + 3, 0, 3 + 1, 0]);
    }

    #[test]
    fn a_peer_cannot_report_more_rejections_than_calls_or_fill_a_table() {
        let mut tally = Tally { called: 5, ..Tally::default() };
        assert_eq!([3, 3, 2, 4, u64::MAX].map(|tells| tally.rejected(1, tells)), [3, 0, 0, 1, 1]);
        for method in 2..1000 {
            tally.rejected(method, 1);
        }
        assert_eq!(tally.rejected.len(), REJECTED_METHODS_MAX);
        tally.outcomes(u64::MAX, u64::MAX);
        assert_eq!(of(&tally, 0, true), [0, 5, 0, 0]);
    }
}
