//! More asks than an actor can do: how many are answered within their limit.
//!
//! The actor stands in front of a device that takes a fixed time for each call, one at a time, so
//! what it can do is known. An ask that is answered later than its limit is worth nothing to its
//! caller, and the device's time was spent for nothing. The figure is *goodput*: the answers within
//! the limit, a second.

use crate::figures::digest::Verified;
use crate::trial::Outcome;
use crate::workload::account::{RemoteClientAccount, RemoteServerAccount};
use crate::workload::entry::parse_account;
use crate::workload::{Judgement, Order};

/// Microseconds that the device takes for a call: far more than a call costs any participant, so
/// that the cell asks what becomes of those that are too many, and not how fast one is.
pub(super) const WORK_US: u64 = 500;
/// Milliseconds that a caller waits: a hundred calls of the device.
pub(super) const LIMIT_MS: u64 = 50;
/// Calls a second that the device can do.
pub(crate) const CAPACITY: u64 = 1_000_000 / WORK_US;
/// The rates that are ordered, in percent of the capacity.
pub(crate) const PERCENTS: [u32; 4] = [50, 100, 200, 500];
/// The device may be a few calls ahead of its clock.
const CAPACITY_TOLERANCE: f64 = 1.02;
/// The number of these calls in a short run.
const AHEAD_CALLS: f64 = 10.0;

/// Judges the accounts. The client alone knows which answers were in time; beside its word stands
/// how many calls the server has begun, and how many its device can have done.
pub(super) fn judge(order: Order, outcome: &Outcome) -> Result<Judgement, String> {
    let served: RemoteServerAccount = parse_account("server", &outcome.server)?;
    let drove: RemoteClientAccount = parse_account("client", &outcome.worker)?;
    let begun: u64 = served.senders.iter().map(|sender| sender.count).sum();
    let (replies, given_up) = (drove.replies.unwrap_or(0), drove.given_up.unwrap_or(0));
    let verified = Verified { sent: replies, received: replies, ..Verified::default() };
    let mut judged = Judgement { verified, answered: Some(replies), ..Judgement::default() };
    judged.demand(replies.checked_add(given_up) == Some(order.messages), || {
        let all = order.messages;
        format!("its client tells of {replies} replies and {given_up} given up, of {all} asks")
    });
    judged.demand(replies > 0, || "no ask was answered within its limit".to_owned());
    judged.demand(drove.wrong == Some(0), || "replies did not fit their requests".to_owned());
    judged.demand((replies..=order.messages).contains(&begun), || {
        format!("{replies} asks were answered, and its server has begun {begun}")
    });
    let possible = outcome.seconds * CAPACITY as f64 * CAPACITY_TOLERANCE + AHEAD_CALLS;
    judged.demand(begun as f64 <= possible, || {
        format!("{begun} calls begun in {:.3} s, where {possible:.0} can be", outcome.seconds)
    });
    Ok(judged)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn judged(replies: u64, given_up: u64, begun: u64, wrong: u64) -> Vec<String> {
        let order = Order { messages: 10_000, rate: 5 * CAPACITY, ..Order::default() };
        let outcome = Outcome {
            seconds: 1.0,
            server: json!({ "senders": [{ "count": begun, "sum": "0" }] }).to_string(),
            worker: json!({ "replies": replies, "given_up": given_up, "wrong": wrong }).to_string(),
            ..Outcome::default()
        };
        let judged = judge(order, &outcome).expect("accounts");
        assert_eq!(judged.answered, Some(replies));
        judged.void
    }

    #[test]
    fn impossible_figures_are_void() {
        assert!(judged(1_950, 8_050, 1_990, 0).is_empty());
        for (impossible, why) in [
            (judged(1_950, 8_051, 1_990, 0), "of 10000 asks"),
            (judged(0, 10_000, 0, 0), "no ask"),
            (judged(1_950, 8_050, 1_949, 0), "has begun 1949"),
            (judged(1_950, 8_050, 1_990, 1), "did not fit"),
            (judged(1_950, 8_050, 2_100, 0), "2100 calls begun"),
        ] {
            assert!(impossible.len() == 1 && impossible[0].contains(why), "{impossible:?}: {why}");
        }
        // More than were asked are more than the device can do, too.
        let [unasked, _] = &judged(1_950, 8_050, 10_001, 0)[..] else { panic!("two reasons") };
        assert!(unasked.contains("has begun 10001"), "{unasked}");
    }
}
