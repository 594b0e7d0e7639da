//! Asks at a fixed rate, held against what the lab saw itself: its clock, and the bytes on the
//! wire.
//!
//! Latency begins when an ask is due. A client that measures from when it sent it tells of a stall
//! as one slow ask, for it has sent no other meanwhile; this is called coordinated omission. The
//! lab does not see single asks, but it sees when the wire is silent. All asks that were due in a
//! silence were answered behind it, so it is known how many must have waited, and how long.

use crate::process::timeline::Silence;
use crate::trial::Outcome;
use crate::workload::account::RemoteClientAccount;
use crate::workload::account::latency::LatencyHistogram;
use crate::workload::{Judgement, Order};

/// Below this share of the rate it was not held.
const HELD: f64 = 0.98;
/// GO, the start of the client's loop and its account take so long, in seconds.
const BESIDE_SECONDS: f64 = 0.005;
/// The share of late asks above which the client did not keep up.
const LATE_SHARE_MAX: f64 = 0.01;
/// An ask and its reply have so many bytes at least: its payload, which only the client knows.
const ASK_BYTES_MIN: u64 = 4;
/// Silences with fewer asks in them prove nothing.
const ASKS_MIN: f64 = 50.0;

/// Checks a client's report of its asks, and takes the times from it.
pub(super) fn judge(
    judged: &mut Judgement,
    order: Order,
    outcome: &Outcome,
    drove: &RemoteClientAccount,
) {
    let (late, bins) = (drove.late.unwrap_or(0), drove.latency_us.clone().unwrap_or_default());
    let histogram = match LatencyHistogram::read(bins, late, order.messages) {
        Ok(histogram) => histogram,
        Err(why) => return judged.void.push(format!("what its client tells of latencies: {why}")),
    };
    if let Some(Ok(wire)) = &outcome.wire
        && let Some(silence) = wire.longest_silence()
        && let Some(hidden) = hidden(&silence, order, outcome.seconds, &histogram)
    {
        judged.void.push(hidden);
    }
    judge_latency(judged, order, outcome.seconds, histogram);
}

/// Takes latencies that are what they are said to be, and says how far the rate was held.
pub(super) fn judge_latency(
    judged: &mut Judgement,
    order: Order,
    seconds: f64,
    histogram: LatencyHistogram,
) {
    judge_rate(judged, order, seconds);
    if histogram.late_share() > LATE_SHARE_MAX {
        judged.flags.push(format!(
            "{:.1} % of its asks were sent more than 1 ms after they were due: its latency is in \
             part that of the one who sends",
            100.0 * histogram.late_share()
        ));
    }
    judged.latency = Some(histogram);
}

/// Whether the rate was held: not too fast, and not too slow either.
pub(super) fn judge_rate(judged: &mut Judgement, order: Order, seconds: f64) {
    let last_due = order.messages.saturating_sub(1) as f64 / order.rate.max(1) as f64;
    judged.demand(seconds >= last_due, || {
        format!("it was done after {seconds:.3} s, and its last message was due at {last_due:.3} s")
    });
    let held = last_due / (seconds - BESIDE_SECONDS).max(1e-9);
    if held < HELD {
        judged.flags.push(format!(
            "the rate was not held: {:.1} % of {} messages a second",
            100.0 * held,
            order.rate
        ));
    }
}

/// How many must have waited through a silence, if the client tells of less than half of them.
fn hidden(
    silence: &Silence,
    order: Order,
    seconds: f64,
    histogram: &LatencyHistogram,
) -> Option<String> {
    let rate = order.rate as f64;
    let last_due = order.messages.saturating_sub(1) as f64 / rate;
    // Its loop began somewhere between GO and what is left before the end.
    let from = silence.from.max(seconds - last_due);
    let half = (silence.to - from) / 2.0;
    // Those that were due in the first half of it waited through the second.
    let due = (last_due.min(silence.to - half) - from) * rate;
    let waited = due - (silence.bytes / ASK_BYTES_MIN) as f64;
    let tells = histogram.at_least(half * 1e6) as f64;
    (half > 0.0 && waited >= ASKS_MIN && tells < waited / 2.0).then(|| {
        format!(
            "its client did not measure from when its asks were due: nothing went over the wire \
             for {:.0} ms, in which {waited:.0} asks must have waited {:.0} ms or longer, and it \
             tells of {tells}",
            (silence.to - silence.from) * 1e3,
            half * 1e3
        )
    })
}

#[cfg(test)]
mod tests;
