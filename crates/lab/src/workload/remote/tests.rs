use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;
use crate::participants::Participant;
use crate::process::timeline::WireTimeline;
use crate::relay::{RelayAccount, RelayCut};
use crate::workload::account::SenderCounts;
use crate::workload::remote::shape::{Origin, Shape};

const ORDER: Order = Order {
    messages: 1_000,
    seed: 7,
    rate: 0,
    cut_bytes: 0,
    is_first: false,
    answer_max: Duration::ZERO,
    warm_up: Duration::ZERO,
};

fn judged(cell: Cell, seen: SenderCounts, drove: &Value) -> Judgement {
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

fn sent() -> SenderCounts {
    SenderCounts::expected(ORDER.seed, 0, ORDER.messages)
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
    for cell in [Cell::Ask, Cell::Callback, Cell::NaiveAsk, Cell::RoundTrip] {
        let judged = judged(cell, sent(), &asked(due(), quick.clone()));
        assert!(judged.void.is_empty() && judged.flags.is_empty(), "{judged:?}");
    }
}

/// The participant reports the ordered number of messages without reading them.
#[test]
fn messages_counted_when_sent_and_never_processed_are_seen() {
    let unread = SenderCounts { count: 1_000, sum: 0, reordered: 0 };
    let judged = judged(Cell::Tell, unread, &json!({ "sent": 1_000 }));
    assert!(judged.void[0].contains("not the same"), "{judged:?}");
}

#[test]
fn a_client_that_stops_at_a_quarter_is_seen_whatever_it_claims() {
    let quarter = SenderCounts::expected(ORDER.seed, 0, 250);
    let judged = judged(Cell::Tell, quarter, &json!({ "sent": 1_000 }));
    assert_eq!(judged.verified.lost, 750);
    assert!(judged.void[0].contains("750 of 1000 messages were lost"), "{judged:?}");
}

/// One right reply a thousand times: the client finds nothing wrong with it.
#[test]
fn answers_from_a_cache_do_not_add_up() {
    let judged = judged(Cell::Ask, sent(), &asked(12_345 * 1_000, Value::Null));
    assert!(judged.void[0].contains("sum of the replies"), "{judged:?}");
}

/// The server never saw the asks: another process before it answered, and correctly.
#[test]
fn right_answers_without_the_server_are_seen_at_the_server() {
    let once = SenderCounts::expected(ORDER.seed, 0, 1);
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

/// A run through the relay: both ways over one device, and fewer cuts than were ordered.
#[test]
fn a_relay_doubles_the_wire_and_missing_cuts_are_reported() {
    let program = Path::new("none");
    let all = Participant::embedded(program);
    let wigwag = all.iter().find(|it| it.name() == "wigwag").unwrap();
    let said = |cell: Cell, cut_bytes: u64, cuts: usize, bytes: u64| {
        let entry = Entry { cell, participant: wigwag, partner: None, program };
        let cut = RelayCut { at_ms: 1.0, resumed_ms: Some(1.0) };
        let relayed =
            RelayAccount { bytes: 22_000, cuts: vec![cut; cuts], ..RelayAccount::default() };
        let mut wire = WireTimeline::new(Instant::now());
        wire.take(Instant::now(), bytes);
        let outcome = Outcome {
            seconds: 1.0,
            server: json!({ "senders": [sent()] }).to_string(),
            worker: json!({ "sent": 1_000 }).to_string(),
            wire: Some(Ok(wire)),
            relay: Some(relayed),
            ..Outcome::default()
        };
        assert_eq!(relayed::cut_bytes(2_000, &outcome, 1_000), 4_000);
        let judged = entry.judge(Order { cut_bytes, ..ORDER }, &outcome);
        (judged.void.join("; "), judged.flags.join("; "))
    };
    let cell = Cell::Relayed { asks: false, delay_ms: 10 };
    assert_eq!(said(cell, 0, 0, 8_000), (String::new(), String::new()));
    assert!(said(cell, 0, 0, 7_999).0.contains("7999 bytes went over the wire"));
    assert_eq!(said(Cell::Cuts, 2_000, 10, 8_000), (String::new(), String::new()));
    assert_eq!(said(Cell::Cuts, 2_000, 7, 8_000).1, "only 7 of 10 cuts took place");
    // The first run is the one that is measured, and has none.
    assert_eq!(said(Cell::Cuts, 0, 0, 8_000).1, "");
}

/// A participant whose sessions outlive a cut has the cell; others say why not.
#[test]
fn only_participants_that_resume_are_cut() {
    let all = Participant::embedded(Path::new("none"));
    let of = |name: &str| all.iter().find(|it| it.name() == name).unwrap();
    assert!(Cell::Cuts.is_for(of("wigwag")) && Cell::Cuts.why_absent(of("wigwag")).is_none());
    assert!(!Cell::Cuts.is_for(of("raw")));
    assert!(Cell::Cuts.why_absent(of("raw")).unwrap().contains("end with their connection"));
    assert!(
        !Cell::Cuts.is_for(of("broken-drop")) && Cell::Cuts.why_absent(of("broken-drop")).is_none()
    );
    for (asks, delay_ms) in [(false, 0), (true, 10)] {
        assert!(Cell::Relayed { asks, delay_ms }.is_for(of("raw")));
    }
}

/// A block that crossed the wire as fewer bytes than it is long was not sent as ordered.
#[test]
fn a_long_message_is_as_long_on_the_wire() {
    let program = Path::new("none");
    let all = Participant::embedded(program);
    let said = |shape: Shape, bytes: u64| {
        let cell = Cell::Shape { shape, from: Origin::Own };
        let entry = Entry { cell, participant: &all[0], partner: None, program };
        let mut wire = WireTimeline::new(Instant::now());
        wire.take(Instant::now(), bytes);
        let outcome = Outcome {
            seconds: 1.0,
            server: json!({ "senders": [sent()] }).to_string(),
            worker: json!({ "sent": 1_000 }).to_string(),
            wire: Some(Ok(wire)),
            ..Outcome::default()
        };
        entry.judge(ORDER, &outcome).void.join("; ")
    };
    for (shape, least) in [
        (Shape::Word, 4_000),
        (Shape::Text, 100_000),
        (Shape::Stream, 100_000),
        (Shape::Upload, 100_000),
        (Shape::Vec { kib: 16 }, 16_384_000),
        (Shape::Bytes { kib: 1 }, 1_024_000),
    ] {
        assert_eq!(said(shape, least), "");
        assert!(said(shape, least - 1).contains("bytes went over the wire"), "{shape:?}");
    }
}
