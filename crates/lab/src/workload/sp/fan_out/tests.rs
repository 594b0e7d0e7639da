use serde_json::{Value, json};

use super::*;
use crate::process::tree::Cost;

const ORDER: Order = Order {
    messages: 1_001,
    seed: 7,
    rate: 1_000,
    cut_bytes: 0,
    is_first: false,
    answer_max: Duration::ZERO,
    warm_up: Duration::ZERO,
};

/// A receiver that saw the numbers for which `saw` holds.
fn receiver(saw: impl Fn(u64) -> bool) -> Value {
    let mut bytes = [0_u8; 126];
    let (mut count, mut sum) = (0, 0_u64);
    for (number, payload) in (0..).zip(payloads(ORDER)) {
        if saw(number) {
            bytes[number as usize / 8] |= 1 << (number % 8);
            count += 1;
            sum += u64::from(payload);
        }
    }
    let numbers: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "count": count, "sum": sum.to_string(), "reordered": 0, "numbers": numbers })
}

fn outcome(receivers: &[Value]) -> Outcome {
    let count: u64 = receivers.iter().filter_map(|one| one["count"].as_u64()).sum();
    let latency = json!({ "bins": [[50.0, count]], "max": 49.0 });
    let account = json!({ "receivers": receivers, "corrupt": 0, "latency_us": latency });
    Outcome {
        seconds: 1.004,
        server: json!({ "sent": 1_001, "late": 0 }).to_string(),
        worker: account.to_string(),
        cost: Cost { grown_bytes: Some(0), ..Cost::default() },
        deaths: Some(9),
        ..Outcome::default()
    }
}

fn judged(source: Source, third: Third, outcome: &Outcome) -> Judgement {
    judge(ORDER, outcome, (source, third)).expect("accounts")
}

/// Verdict and reasons of two receivers of PUB.
fn said(receivers: &[Value]) -> (String, String) {
    let judged = judged(Source::Pub, Third::Slow, &outcome(receivers));
    (judged.void.join("; "), judged.flags.join("; "))
}

#[test]
fn a_cell_is_held_against_the_one_whose_third_peer_is_well() {
    for (faulty, well) in [
        ("pub 2 KiB tcp, slow peer", "pub 2 KiB tcp, 3 peers"),
        ("push 2 KiB tcp, dying peer", "push 2 KiB tcp, 3 peers"),
    ] {
        assert_eq!(reference(faulty).as_deref(), Some(well));
        assert_eq!(reference(well), None);
    }
    assert_eq!(reference("push 4 KiB tcp"), None);
    assert!(is_published("pub 2 KiB tcp, 3 peers") && !is_published("push 2 KiB tcp, 3 peers"));
}

#[test]
fn messages_that_all_receivers_got_once_and_in_order_are_valid() {
    let all = receiver(|_| true);
    let judged = judged(Source::Pub, Third::Dying, &outcome(&[all.clone(), all]));
    assert!(judged.void.is_empty() && judged.flags.is_empty(), "{judged:?}");
    assert_eq!((judged.verified.sent, judged.verified.received), (2_002, 2_002));
    assert_eq!((judged.answered, judged.latency.is_some()), (Some(2_002), true));
}

#[test]
fn messages_missed_by_a_sub_are_a_remark_and_a_number() {
    let (all, some) = (receiver(|_| true), receiver(|number| number % 10 != 3));
    let judged = judged(Source::Pub, Third::Slow, &outcome(&[all, some]));
    assert!(judged.void.is_empty(), "{judged:?}");
    assert!(judged.flags[0].contains("missed 100 of 2002"), "{judged:?}");
    assert_eq!((judged.verified.lost, judged.verified.received), (100, 1_902));
}

#[test]
fn a_message_that_came_twice_out_of_order_or_changed_has_no_number() {
    let with = |name: &str, value: Value| {
        let mut one = receiver(|number| number > 0);
        one[name] = value;
        said(&[receiver(|_| true), one]).0
    };
    assert_eq!(with("count", json!(1_000)), "");
    assert!(with("count", json!(1_001)).contains("twice"));
    assert!(with("sum", json!("5")).contains("not the same"));
    assert!(with("reordered", json!(1)).contains("out of order"));
    // Numbers that were not counted, or claimed and never seen.
    assert!(with("count", json!(999)).contains("not the same"));
    let claims = receiver(|_| true)["numbers"].clone();
    assert!(with("numbers", claims).contains("not the same"));
    let mut torn = outcome(&[receiver(|_| true), receiver(|_| true)]);
    torn.worker = torn.worker.replace("\"corrupt\":0", "\"corrupt\":4");
    let judged = judged(Source::Pub, Third::Well, &torn);
    assert!(judged.void.join("; ").contains("4 messages were not as long"), "{judged:?}");
}

#[test]
fn an_account_that_cannot_be_is_none() {
    let one = receiver(|_| true);
    assert!(said(std::slice::from_ref(&one)).0.contains("has 1 receivers"));
    assert!(said(&[one.clone(), receiver(|_| false)]).0.contains("got nothing"));
    let mut unsent = one.clone();
    // Number 1,001 is the second bit of the last byte.
    unsent["numbers"] = json!("ff".repeat(125) + "03");
    let mut short = one.clone();
    short["numbers"] = json!("ff".repeat(125));
    for (bad, why) in [(unsent, "never sent"), (short, "two digits")] {
        let error = judge(ORDER, &outcome(&[one.clone(), bad]), (Source::Pub, Third::Well));
        assert!(error.as_ref().is_err_and(|said| said.contains(why)), "{error:?}");
    }
}

/// PUSH gives each message to one peer, and what the third one got is not known.
#[test]
fn a_message_of_push_goes_to_one_receiver() {
    let [first, second, third] = [0, 1, 2].map(|rest| receiver(move |number| number % 3 == rest));
    let apart = judged(Source::Push, Third::Slow, &outcome(&[first.clone(), second]));
    assert!(apart.void.is_empty() && apart.flags.is_empty(), "{apart:?}");
    assert_eq!((apart.verified.sent, apart.verified.received), (668, 668));
    let again = judged(Source::Push, Third::Slow, &outcome(&[third, receiver(|at| at > 995)]));
    assert!(again.void.join("; ").contains("1 messages arrived that were not sent, or twice"));
    assert!(first["count"] == 334);
}

/// Messages that waited for a peer that died may go to another one, behind later messages.
#[test]
fn order_is_only_reported_where_push_loses_a_peer() {
    let [mut first, second] = [0, 1].map(|rest| receiver(move |number| number % 3 == rest));
    first["reordered"] = json!(2);
    let of = |third| judged(Source::Push, third, &outcome(&[first.clone(), second.clone()]));
    let dying = of(Third::Dying);
    assert!(dying.void.is_empty() && dying.flags[0].contains("2 messages"), "{dying:?}");
    assert!(of(Third::Slow).void[0].contains("2 messages"));
}

#[test]
fn a_sender_that_waits_or_hoards_or_leaves_a_peer_unserved_is_found_out() {
    let all = receiver(|_| true);
    let fair = outcome(&[all.clone(), all]);
    let flags = |outcome: Outcome| judged(Source::Pub, Third::Dying, &outcome).flags.join("; ");
    let slower = flags(Outcome { seconds: 1.1, ..fair.clone() });
    assert!(slower.contains("rate was not held"), "{slower}");
    let cost = Cost { grown_bytes: Some(17 << 20), ..Cost::default() };
    assert!(flags(Outcome { cost, ..fair.clone() }).contains("grew by 17 MiB"));
    let lived = flags(Outcome { deaths: Some(1), ..fair.clone() });
    assert!(lived.contains("only 1 peers died in 1.0 s"), "{lived}");
    let void = |outcome: Outcome| judged(Source::Pub, Third::Dying, &outcome).void.join("; ");
    let early = void(Outcome { seconds: 0.9, ..fair.clone() });
    assert!(early.contains("its last message was due at 1.000 s"), "{early}");
    assert!(
        void(Outcome { cost: Cost::default(), ..fair.clone() }).contains("memory could be read")
    );
    let fewer = Outcome { server: json!({ "sent": 1_000, "late": 0 }).to_string(), ..fair };
    assert!(void(fewer).contains("tells of 1000 messages"));
}
