use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::contract::role::Payload;
use crate::participants::Participant;
use crate::participants::embedded::Embedded;
use crate::process::tree::Cost;

const EACH: u64 = 40;
const ORDER: Order = Order {
    messages: EACH * CONNECTIONS,
    seed: 7,
    rate: 0,
    cut_bytes: 0,
    is_first: false,
    answer_max: Duration::ZERO,
    warm_up: Duration::ZERO,
};

fn judged(cell: Cell, payload: Payload, server: &Value, client: &Value, busy: f64) -> Judgement {
    let (name, roles, cells, source_lines) = ("x", &[], &[], None);
    let (inside, sp, transports, lacks) = (&[], &[], &[], &[]);
    let it = Embedded {
        name,
        known_bad: false,
        roles,
        payload,
        cells,
        inside,
        sp,
        transports,
        resumes: false,
        lacks,
        source_lines,
    };
    let participant = Participant::Embedded { it, program: PathBuf::new() };
    let program = Path::new("none");
    let entry = Entry { cell, participant: &participant, partner: None, program };
    let outcome = Outcome {
        seconds: 1.0,
        server: server.to_string(),
        worker: client.to_string(),
        cost: Cost { cpu_seconds: 1.0, ..Cost::default() },
        witness_cpu_seconds: busy,
        ..Outcome::default()
    };
    entry.judge(ORDER, &outcome)
}

/// The account of the lab's own client when all is well, with the fields of `other`.
fn client(other: Value) -> Value {
    let mut client = json!({
        "replies": ORDER.messages, "wrong": 0, "surplus": 0, "early": 0, "broken": 0,
        "unanswered": 0, "unclosed": 0, "after_end": 0, "at_work": CONNECTIONS,
        "bytes_sent": ORDER.messages * TOKEN, "bytes_read": ORDER.messages * TOKEN,
        "rtt_us": { "p50": 900.0, "p90": 1_000.0, "p99": 1_500.0, "max": 4_000.0 },
    });
    client.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
    client
}

/// The account of the lab's own server, likewise.
fn server(other: Value) -> Value {
    let sum = EACH * u64::from(u32::from_le_bytes(PING));
    let bytes = ORDER.messages * TOKEN;
    let mut server = json!({
        "requests": ORDER.messages, "bytes_read": bytes, "bytes_written": bytes,
        "connections": vec![SenderCounts { count: EACH, sum, reordered: 0 }; CONNECTIONS as usize],
        "at_work": CONNECTIONS, "outstanding": 1, "resets": 0,
    });
    server.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
    server
}

fn requests(count: u64) -> Value {
    json!({ "requests": count })
}

#[test]
fn right_ones_are_right_and_their_times_are_kept() {
    let by_client =
        judged(Cell::Server, Payload::Tokens, &requests(ORDER.messages), &client(json!({})), 0.5);
    assert!(by_client.void.is_empty() && by_client.flags.is_empty(), "{by_client:?}");
    assert!(by_client.times.is_some());
    let replies = json!({ "replies": ORDER.messages, "wrong": 0 });
    let by_server = judged(Cell::Client, Payload::Fixed, &server(json!({})), &replies, 0.5);
    assert!(by_server.void.is_empty() && by_server.flags.is_empty(), "{by_server:?}");
}

#[test]
fn where_the_generator_is_the_limit_the_row_says_so_and_nothing_is_held_against_it() {
    let judged =
        judged(Cell::Server, Payload::Tokens, &requests(ORDER.messages), &client(json!({})), 0.96);
    assert!(judged.void.is_empty());
    assert_eq!(judged.flags, ["at least this: the lab's own side took 96 % of a processor"]);
}

/// Every reply was a right Pong. The replies that came too early, and its own count, give the
/// server away.
#[test]
fn a_server_that_reads_a_quarter_is_seen_though_every_reply_was_right() {
    let saw = client(json!({ "early": ORDER.messages / 2, "surplus": 300 }));
    let told = json!({ "requests": ORDER.messages, "bytes_read": ORDER.messages });
    let judged = judged(Cell::Server, Payload::Fixed, &told, &saw, 0.5);
    let void = judged.void.join("; ");
    for words in
        ["300 bytes came that nobody", "2000 replies were there before", "4000 bytes of 16000"]
    {
        assert!(void.contains(words), "{words}: {void}");
    }
    assert!(judged.times.is_none());
}

#[test]
fn a_client_that_reads_a_quarter_is_seen_at_the_witness() {
    let saw = server(json!({ "resets": 100, "outstanding": 256, "at_work": 2 }));
    let told = json!({ "replies": ORDER.messages, "wrong": 0, "bytes_read": ORDER.messages });
    let judged = judged(Cell::Client, Payload::Fixed, &saw, &told, 0.5);
    let void = judged.void.join("; ");
    for words in ["100 connections were reset", "256 requests in flight", "4000 bytes of 16000"] {
        assert!(void.contains(words), "{words}: {void}");
    }
}

#[test]
fn fewer_connections_at_work_than_were_ordered_are_flagged_on_either_side() {
    let words = "2 of 100 connections were at work when the first was half done";
    let two = client(json!({ "at_work": 2 }));
    let by_client = judged(Cell::Server, Payload::Tokens, &requests(ORDER.messages), &two, 0.1);
    assert_eq!((by_client.void.len(), by_client.flags), (0, vec![words.to_owned()]));
    let two = server(json!({ "at_work": 2 }));
    let by_server = judged(Cell::Client, Payload::Fixed, &two, &client(json!({})), 0.1);
    assert_eq!((by_server.void.len(), by_server.flags), (0, vec![words.to_owned()]));
}

#[test]
fn connections_left_open_and_late_messages_are_reported() {
    for (field, words) in [
        ("unanswered", "never answered"),
        ("broken", "ended before their work"),
        ("unclosed", "stayed open"),
        ("after_end", "answers the end"),
    ] {
        let saw = client(json!({ field: 1 }));
        let judged = judged(Cell::Server, Payload::Tokens, &requests(ORDER.messages), &saw, 0.1);
        let said = [judged.void, judged.flags].concat().join("; ");
        assert!(said.contains(words), "{field}: {said}");
    }
}
