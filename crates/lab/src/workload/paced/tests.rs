use std::time::{Duration, Instant};

use super::*;
use crate::process::timeline::WireTimeline;
use crate::workload::account::LatencyBins;

/// Ten thousand a second for a second.
const ORDER: Order = Order {
    messages: 10_001,
    seed: 7,
    rate: 10_000,
    cut_bytes: 0,
    is_first: false,
    answer_max: Duration::ZERO,
    warm_up: Duration::ZERO,
};

/// A wire that carries 100 bytes for each ask, but nothing within `silent`, in milliseconds.
fn wire(silent: std::ops::Range<u64>, seconds: f64) -> WireTimeline {
    let began = Instant::now();
    let mut timeline = WireTimeline::new(began);
    for at in (50..=(seconds * 1e3) as u64).step_by(50) {
        let busy = if silent.contains(&at) { silent.start } else { at };
        timeline.take(began + Duration::from_millis(at), busy * 1_000);
    }
    timeline
}

fn looked(silent: std::ops::Range<u64>, seconds: f64, late: u64, bins: &[(f64, u64)]) -> Judgement {
    let outcome = Outcome { seconds, wire: Some(Ok(wire(silent, seconds))), ..Outcome::default() };
    let max = bins.iter().map(|(end, _)| *end).fold(0.0, f64::max);
    let latency_us = Some(LatencyBins { bins: bins.to_vec(), max });
    let drove =
        RemoteClientAccount { late: Some(late), latency_us, ..RemoteClientAccount::default() };
    let mut judged = Judgement::default();
    judge(&mut judged, ORDER, &outcome, &drove);
    judged
}

#[test]
fn asks_answered_in_time_are_right() {
    let judged = looked(0..0, 1.002, 3, &[(80.0, 10_000), (900.0, 1)]);
    assert!(judged.void.is_empty() && judged.flags.is_empty(), "{judged:?}");
    assert_eq!(judged.latency.unwrap().to_document().unwrap().p50, 80.0);
}

/// Its server stalled for 300 ms; from when it was sent, one ask took that long.
#[test]
fn a_client_that_measures_from_when_it_sent_is_found_out() {
    let judged = looked(301..600, 1.01, 0, &[(80.0, 10_000), (300_000.0, 1)]);
    assert_eq!(judged.void.len(), 1, "{judged:?}");
    assert!(judged.void[0].contains("from when its asks were due"), "{judged:?}");
    assert!(judged.void[0].ends_with("tells of 1"), "{judged:?}");
}

/// A stall that is told from when the asks were due: 3,000 of them waited, evenly up to 300 ms.
#[test]
fn a_reported_stall_is_accepted() {
    let bins = [(80.0, 7_001), (100_000.0, 1_000), (200_000.0, 1_000), (300_000.0, 1_000)];
    let judged = looked(301..600, 1.01, 3_000, &bins);
    assert!(judged.void.is_empty(), "{judged:?}");
    assert!(judged.flags[0].starts_with("30.0 % of its asks were sent"), "{judged:?}");
}

/// Nothing was due any more: the silence behind the last ask says nothing.
#[test]
fn a_silence_behind_the_last_ask_says_nothing() {
    let judged = looked(1_000..1_500, 1.4, 0, &[(80.0, 10_001)]);
    assert!(judged.void.is_empty(), "{judged:?}");
    assert!(judged.flags[0].contains("the rate was not held: 71."), "{judged:?}");
}

#[test]
fn an_end_before_the_last_ask_was_due_leaves_no_number() {
    let judged = looked(0..0, 0.8, 0, &[(80.0, 10_001)]);
    assert!(judged.void[0].contains("its last message was due at 1.000 s"), "{judged:?}");
    let none = looked(0..0, 1.0, 0, &[]);
    assert!(none.void[0].contains("hold 0 asks of 10001"), "{none:?}");
}
