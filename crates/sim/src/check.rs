//! The promises that hold for every seed: a simple model, which records each call at four points.
//!
//! A call is *sent* when its frame is published, *arrives* when it is put into its inbound queue,
//! is *handled* when an actor has taken it out, and an ask is *completed* once. For each attachment
//! the later lists are prefixes of the earlier ones; at a normal end they are equal. An ask that
//! was cancelled before its turn is taken out too, but not begun, and its caller is told so. The
//! model knows nothing of frames, credit or numbers on the wire.

use core::fmt;
use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};

use crate::content::CallId;
use crate::setup::Side;

/// A promise that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise.
    pub rule: &'static str,
    /// The observation that breaks it.
    pub detail: String,
}

impl Violation {
    /// A broken promise.
    pub fn new(rule: &'static str, detail: impl ToString) -> Violation {
        Violation { rule, detail: detail.to_string() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.detail)
    }
}

/// Returns an error unless `holds`.
pub fn must(
    holds: bool,
    rule: &'static str,
    detail: impl FnOnce() -> String,
) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation::new(rule, detail())) }
}

/// The counts of one run, over both nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Calls published.
    pub sent: u64,
    /// Calls that an actor took out of its inbound queue.
    pub handled: u64,
    /// Asks among those published.
    pub asks: u64,
    /// Asks that got their reply or error.
    pub completed: u64,
}

#[derive(Debug, Default)]
struct AttachmentModel {
    sent: u64,
    arrived: u64,
    handled: u64,
    /// The asks by number, and whether they were completed.
    asks: BTreeMap<u64, bool>,
    /// The asks that were taken out and not begun.
    skipped: BTreeSet<u64>,
    /// The number of calls after which the actor stopped.
    stopped: Option<u64>,
}

/// The model of both nodes.
#[derive(Debug, Default)]
pub struct Oracle {
    attachments: BTreeMap<(Side, u64), AttachmentModel>,
}

impl Oracle {
    fn of(&mut self, call: CallId) -> &mut AttachmentModel {
        self.attachments.entry((call.caller, call.attachment)).or_default()
    }

    /// Records that a call was published.
    pub fn sent(&mut self, call: CallId, is_ask: bool) -> Result<(), Violation> {
        let attachment = self.of(call);
        let in_order = call.number == attachment.sent;
        must(in_order, "a sender numbers its calls", || format!("{call:?}"))?;
        attachment.sent += 1;
        if is_ask {
            attachment.asks.insert(call.number, false);
        }
        Ok(())
    }

    /// Records that a call was put into its inbound queue.
    pub fn arrived(&mut self, call: CallId) -> Result<(), Violation> {
        let attachment = self.of(call);
        let in_order = call.number == attachment.arrived && call.number < attachment.sent;
        let seen = attachment.arrived;
        must(in_order, "calls arrive once and in order", || format!("{call:?} after {seen}"))?;
        attachment.arrived += 1;
        Ok(())
    }

    /// Records that an actor took a call out of its inbound queue.
    pub fn handled(&mut self, call: CallId) -> Result<(), Violation> {
        let attachment = self.of(call);
        let in_order = call.number == attachment.handled && call.number < attachment.arrived;
        let seen = attachment.handled;
        must(in_order, "calls are handled once and in order", || format!("{call:?} after {seen}"))?;
        attachment.handled += 1;
        Ok(())
    }

    /// Records that the call that was taken out last is an ask that the actor has not begun.
    pub fn skipped(&mut self, call: CallId) -> Result<(), Violation> {
        let attachment = self.of(call);
        let is_open = attachment.asks.get(&call.number) == Some(&false);
        must(is_open, "only open asks are skipped", || format!("{call:?}"))?;
        attachment.skipped.insert(call.number);
        Ok(())
    }

    /// Records that the reply or the error of an ask was received. `was_begun`: what its caller was
    /// told, if anything.
    pub fn completed(&mut self, call: CallId, was_begun: Option<bool>) -> Result<(), Violation> {
        let is_skipped = self.of(call).skipped.contains(&call.number);
        let is_true = was_begun.is_none_or(|begun| begun != is_skipped);
        must(is_true, "a caller is told whether its ask was begun", || {
            format!("{call:?}: told {was_begun:?}, skipped {is_skipped}")
        })?;
        let before = self.of(call).asks.insert(call.number, true);
        must(before == Some(false), "an ask is completed once", || format!("{call:?}: {before:?}"))
    }

    /// Checks the receiver's report that the first `count` calls were handled.
    pub fn reported_handled(&mut self, call: CallId, count: u64) -> Result<(), Violation> {
        let handled = self.of(call).handled;
        must(count <= handled, "nobody claims calls that were not handled", || {
            format!("{call:?}: {count} claimed, {handled} handled")
        })
    }

    /// Records the receiver's report that its actor has stopped after `accepted` calls.
    pub fn reported_stopped(&mut self, call: CallId, accepted: u64) -> Result<(), Violation> {
        let attachment = self.of(call);
        attachment.stopped = Some(accepted);
        let handled = attachment.handled;
        must(handled == accepted, "who stops says how many calls were handed over", || {
            format!("{call:?}: {accepted} said, {handled} handled")
        })
    }

    /// Checks, for a session that has finished its work, the attachments from `ids` on: all calls
    /// that were sent have arrived.
    pub fn check_all_done(&self, ids: Range<u64>) -> Result<(), Violation> {
        let mine = self.attachments.iter().filter(|((_, id), _)| ids.contains(id));
        for (key, attachment) in mine {
            let expected = attachment.stopped.unwrap_or(attachment.sent);
            must(attachment.handled == expected, "everything ends", || {
                format!("{key:?}: {} of {expected} calls handled", attachment.handled)
            })?;
            let open: Vec<&u64> = attachment
                .asks
                .iter()
                .filter(|(_, done)| !**done)
                .map(|(number, _)| number)
                .collect();
            must(open.is_empty(), "every ask is answered", || {
                format!("{key:?}: open are {open:?}")
            })?;
        }
        Ok(())
    }

    /// Checks the sender's report, after a cut, that this call was certainly not delivered.
    pub fn not_delivered(&mut self, call: CallId) -> Result<(), Violation> {
        let arrived = self.of(call).arrived;
        must(call.number >= arrived, "what is called not delivered never arrived", || {
            format!("{call:?}, of which {arrived} arrived")
        })
    }

    /// Checks the sender's report, after a cut, that this call was certainly handled.
    pub fn delivered(&mut self, call: CallId) -> Result<(), Violation> {
        let handled = self.of(call).handled;
        must(call.number < handled, "what is called delivered was handled", || {
            format!("{call:?}, of which {handled} handled")
        })
    }

    /// The counts so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for attachment in self.attachments.values() {
            totals.sent += attachment.sent;
            totals.handled += attachment.handled;
            totals.asks += attachment.asks.len() as u64;
            totals.completed += attachment.asks.values().filter(|done| **done).count() as u64;
        }
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(number: u64) -> CallId {
        CallId { caller: Side::Dialer, attachment: 1, number }
    }

    fn sent(count: u64) -> Oracle {
        let mut oracle = Oracle::default();
        (0..count).for_each(|number| oracle.sent(call(number), number == 0).expect("in order"));
        oracle
    }

    #[test]
    fn a_call_that_is_lost_duplicated_or_early_is_detected() {
        assert!(sent(3).arrived(call(1)).is_err(), "lost");
        let mut oracle = sent(3);
        oracle.arrived(call(0)).expect("first");
        assert!(oracle.arrived(call(0)).is_err(), "doubled");
        assert!(oracle.handled(call(1)).is_err(), "early");
        assert!(oracle.check_all_done(0..9).is_err(), "not all handled");
    }

    #[test]
    fn an_ask_is_completed_once() {
        let mut oracle = sent(2);
        assert!(oracle.completed(call(1), None).is_err(), "that was a tell");
        assert!(oracle.completed(call(0), Some(true)).is_ok());
        assert!(oracle.completed(call(0), Some(true)).is_err());
    }

    #[test]
    fn a_caller_that_is_told_wrongly_whether_its_ask_was_begun_is_detected() {
        for is_skipped in [true, false] {
            let mut oracle = sent(2);
            assert!(oracle.skipped(call(1)).is_err(), "a tell");
            if is_skipped {
                oracle.skipped(call(0)).expect("an open ask");
            }
            assert!(oracle.completed(call(0), Some(is_skipped)).is_err());
            oracle.completed(call(0), Some(!is_skipped)).expect("the truth");
        }
    }
}
