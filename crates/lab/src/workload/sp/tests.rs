use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::participants::Participant;

const ORDER: Order = Order {
    messages: 1_000,
    seed: 7,
    rate: 0,
    cut_bytes: 0,
    is_first: false,
    answer_max: std::time::Duration::ZERO,
    warm_up: std::time::Duration::ZERO,
};

const PUSH: SpCell = SpCell { pattern: Pattern::Push, transport: Transport::Ipc, size: 4 << 10 };

fn judged(cell: SpCell, server: &Value, worker: &Value) -> Judgement {
    let program = Path::new("none");
    let all = Participant::embedded(program);
    let entry = Entry { cell: Cell::Sp(cell), participant: &all[0], partner: None, program };
    let (server, worker) = (server.to_string(), worker.to_string());
    entry.judge(ORDER, &Outcome { seconds: 1.0, server, worker, ..Outcome::default() })
}

fn sent(sender: u32, count: u64) -> SenderCounts {
    SenderCounts::expected(ORDER.seed, sender, count)
}

#[test]
fn the_names_of_all_cells_differ_and_those_of_one_pattern_and_length_begin_alike() {
    let mut names: Vec<String> = cells(false).into_iter().map(SpCell::name).collect();
    let count = names.len();
    assert_eq!(count, 61);
    for name in [
        "req 111 B shm-spin",
        "push 1 MiB ipc",
        "push 16 B ipc, many at once",
        "push 4 KiB tcp, 8 threads",
        "push 64 KiB wss",
    ] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// Every trial has at least one message for each sender, and a first one is soon over.
#[test]
fn a_first_trial_has_few_bytes_and_messages_for_every_sender() {
    for cell in cells(false) {
        let (first, most) = cell.messages();
        assert!(first >= u64::from(cell.senders()) && first <= most, "{}", cell.name());
        assert!(first * cell.size <= 20 << 20, "{}", cell.name());
    }
}

#[test]
fn intact_messages_are_right_in_two_processes_and_in_one() {
    let one = json!({ "senders": [sent(0, 1_000)], "corrupt": 0, "sent": 1_000 });
    let inproc = SpCell { transport: Transport::Inproc, ..PUSH };
    let judged_inproc = judged(inproc, &Value::Null, &one);
    assert!(judged_inproc.void.is_empty(), "{judged_inproc:?}");
    let threads = SpCell { pattern: Pattern::Threads(2), ..PUSH };
    let two = json!({ "senders": [sent(0, 500), sent(1, 500)], "corrupt": 0 });
    let judged_two = judged(threads, &two, &json!({ "sent": 1_000 }));
    assert!(judged_two.void.is_empty() && judged_two.flags.is_empty(), "{judged_two:?}");
}

#[test]
fn lost_reordered_and_torn_messages_have_no_number() {
    let void = |counts: SenderCounts, corrupt: u64| {
        let server = json!({ "senders": [counts], "corrupt": corrupt });
        judged(PUSH, &server, &json!({ "sent": 1_000 })).void.join("; ")
    };
    assert!(void(sent(0, 999), 0).contains("1 of 1000 messages were lost"));
    assert!(void(SenderCounts { reordered: 2, ..sent(0, 1_000) }, 0).contains("out of order"));
    assert!(void(sent(0, 1_000), 3).contains("3 messages were not as long, or not filled"));
    assert_eq!(void(sent(0, 1_000), 0), "");
}

/// A reply has the payload of its request with every bit inverted: an echo does not add up.
#[test]
fn an_echo_is_no_reply() {
    let cell = SpCell { pattern: Pattern::Request, ..PUSH };
    let payloads = sent(0, 1_000).sum;
    let of = |sum: u64| {
        let server = json!({ "senders": [sent(0, 1_000)], "corrupt": 0 });
        let rtt = json!({ "p50": 900.0, "p90": 950.0, "p99": 990.0, "max": 2_000.0 });
        let worker = json!({ "replies": 1_000, "wrong": 0, "sum": sum.to_string(), "rtt_us": rtt });
        judged(cell, &server, &worker)
    };
    let right = of(1_000 * u64::from(u32::MAX) - payloads);
    assert!(right.void.is_empty() && right.times.is_some(), "{right:?}");
    assert!(of(payloads).void[0].contains("sum of the replies"));
}
