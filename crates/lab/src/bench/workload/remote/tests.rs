use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::bench::participant::Participant;

const ORDER: Order = Order {
    messages: 1_000,
    seed: 7,
    rate: 0,
    cut_bytes: 0,
    is_first: false,
    answer_max: Duration::ZERO,
};

fn judged(cell: Cell, seen: Seen, drove: &Value) -> Judged {
    let program = Path::new("none");
    let all = Participant::embedded(program);
    let entry = Entry { cell, participant: &all[0], partner: None, program };
    let served = json!({ "senders": [seen] });
    let outcome = Outcome {
        seconds: 1.0,
        server: served.to_string(),
        worker: drove.to_string(),
        ..Outcome::default()
    };
    entry.judge(ORDER, &outcome)
}

fn sent() -> Seen {
    Seen::expected(ORDER.seed, 0, ORDER.messages)
}

/// The sum of the replies that are due: number and payload of each.
fn due() -> u64 {
    sent().sum + ORDER.messages * (ORDER.messages - 1) / 2
}

fn asked(sum: u64, rtt: Value) -> Value {
    json!({ "replies": 1_000, "wrong": 0, "sum": sum.to_string(), "rtt_us": rtt })
}

#[test]
fn right_ones_are_right() {
    assert!(judged(Cell::Tell, sent(), &json!({ "sent": 1_000 })).void.is_empty());
    let quick = json!({ "p50": 900.0, "p90": 950.0, "p99": 990.0, "max": 2_000.0 });
    for cell in [Cell::Ask, Cell::NaiveAsk, Cell::RoundTrip] {
        let judged = judged(cell, sent(), &asked(due(), quick.clone()));
        assert!(judged.void.is_empty() && judged.flags.is_empty(), "{judged:?}");
    }
}

/// It counts what it was told there would be, and never looked at it.
#[test]
fn what_was_counted_when_it_was_sent_and_never_processed_is_seen() {
    let unread = Seen { count: 1_000, sum: 0, reordered: 0 };
    let judged = judged(Cell::Tell, unread, &json!({ "sent": 1_000 }));
    assert!(judged.void[0].contains("not the same"), "{judged:?}");
}

#[test]
fn a_client_that_stops_at_a_quarter_is_seen_whatever_it_claims() {
    let quarter = Seen::expected(ORDER.seed, 0, 250);
    let judged = judged(Cell::Tell, quarter, &json!({ "sent": 1_000 }));
    assert_eq!(judged.verified.lost, 750);
    assert!(judged.void[0].contains("750 of 1000 messages were lost"), "{judged:?}");
}

/// The same right reply a thousand times: the client finds nothing wrong with it.
#[test]
fn answers_from_a_cache_do_not_add_up() {
    let judged = judged(Cell::Ask, sent(), &asked(12_345 * 1_000, Value::Null));
    assert!(judged.void[0].contains("sum of the replies"), "{judged:?}");
}

/// The server never saw the asks: somebody before it answered, and rightly.
#[test]
fn right_answers_without_the_server_are_seen_at_the_server() {
    let once = Seen::expected(ORDER.seed, 0, 1);
    let judged = judged(Cell::Ask, once, &asked(due(), Value::Null));
    assert!(judged.void[0].contains("999 of 1000 messages were lost"), "{judged:?}");
}

#[test]
fn round_trips_that_stall_or_wait_for_an_acknowledgement_are_flagged() {
    let said = |rtt: Value, seconds: f64| {
        let program = Path::new("none");
        let all = Participant::embedded(program);
        let entry = Entry { cell: Cell::RoundTrip, participant: &all[0], partner: None, program };
        let server = json!({ "senders": [sent()] }).to_string();
        let worker = asked(due(), rtt).to_string();
        let judged = entry.judge(ORDER, &Outcome { seconds, server, worker, ..Outcome::default() });
        assert!(judged.void.is_empty(), "{judged:?}");
        judged.flags.join("; ")
    };
    let nagle = json!({ "p50": 41_000.0, "p90": 41_500.0, "p99": 42_000.0, "max": 44_000.0 });
    assert!(said(nagle, 41.0).contains("delayed acknowledgement"));
    let stall = json!({ "p50": 600.0, "p90": 650.0, "p99": 700.0, "max": 300_000.0 });
    assert!(said(stall, 0.9).contains("a stall of 300 ms"));
}

#[test]
fn times_that_cannot_be_leave_no_number() {
    let faster = json!({ "p50": 9_000.0, "p90": 9_100.0, "p99": 9_200.0, "max": 9_300.0 });
    assert!(judged(Cell::RoundTrip, sent(), &asked(due(), faster)).void[0].contains("cannot be"));
    let none = judged(Cell::RoundTrip, sent(), &asked(due(), Value::Null));
    assert!(none.void[0].contains("no times"), "{none:?}");
}
