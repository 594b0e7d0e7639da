//! Limits on one identity, each crossed by one of two.

use std::time::Duration;

use wigwag::access::{Access, IdentityLimits, Peers, Principal};
use wigwag::lifecycle::Alive;
use wigwag::{Actor, CallErrorKind, Node, NodeOptions};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Code, Identity};
use wigwag_testkit::ledger::{Ledger, in_time};
use wigwag_testkit::raw::{Raw, identity};

use super::super::sessions::PATIENCE;
use super::{fetch, holder, key, kind, refusal, vault_at};

fn limited(limits: IdentityLimits) -> Access {
    Access::new().allow_all_actors(Peers::Any).limit(Principal::key("limited"), limits)
}

#[tokio::test]
async fn an_identity_has_as_many_sessions_as_it_may() {
    let [key, other] = ["limited", "other"].map(key);
    let access = limited(IdentityLimits::default().sessions(2));
    let (_node, address, _vault) = vault_at("tcp://127.0.0.1:0", &[&key, &other], access).await;
    let dialers: [Node; 3] = std::array::from_fn(|_| holder(&key));
    fetch(&dialers[0], &address).await.unwrap();
    fetch(&dialers[1], &address).await.unwrap();
    assert_eq!(refusal(fetch(&dialers[2], &address).await), Code::TOO_MANY);
    assert!(fetch(&holder(&other), &address).await.is_ok());
    dialers[0].close(PATIENCE).await;
    in_time(PATIENCE, async { while fetch(&dialers[2], &address).await.is_err() {} }).await;
}

/// As a service keeps the callbacks of its clients until it next uses them.
#[tokio::test]
async fn a_session_that_has_ended_counts_no_more_although_references_to_its_actors_are_kept() {
    let key = key("limited");
    let access = limited(IdentityLimits::default().sessions(1));
    let (node, address, _vault) = vault_at("tcp://127.0.0.1:0", &[&key], access).await;
    let mut kept = Vec::new();
    for _ in 0..3 {
        let dialer = holder(&key);
        dialer.export("callback", &Ledger::default().spawn()).unwrap();
        // The node learns of the end of the session before in its own time.
        in_time(PATIENCE, async { while fetch(&dialer, &address).await.is_err() {} }).await;
        kept.push(node.find::<Ledger>("callback").await.unwrap());
        dialer.close(PATIENCE).await;
    }
}

/// The answer to an OPEN of the node `who`: the code of REFUSED, or Ok for OPENED.
async fn answer_to(address: &str, who: Identity) -> (Raw, Code) {
    let mut raw = Raw::dial(address).await;
    let answer = raw.answer_to_open(who).await.unwrap();
    let code = match answer[..] {
        [4, ..] => Code::OK,
        [7, low, high, ..] => Code(u16::from_le_bytes([low, high])),
        _ => panic!("{answer:?}"),
    };
    (raw, code)
}

#[tokio::test]
async fn a_peer_at_its_limit_of_sessions_is_led_to_the_session_that_it_has() {
    let limits = IdentityLimits::default().sessions(1);
    let access = Access::new().allow_all_actors(Peers::Any).limit(Peers::Any, limits);
    let (_node, address, _vault) = vault_at("tcp://127.0.0.1:0", &[], access).await;
    let [who, other] = [identity(), identity()];
    // A session over which nothing has come gives its place to the next one of the same peer.
    let (_silent, code) = answer_to(&address, who).await;
    assert_eq!(code, Code::OK);
    let (mut used, code) = answer_to(&address, who).await;
    assert_eq!(code, Code::OK);
    let attach = Frame::Attach { channel: 0, how: 0, target: b"vault", schema_hash: 0, codec: 0 };
    used.tell(&[attach]).await;
    used.until(kind::ATTACHED).await;
    assert_eq!(answer_to(&address, who).await.1, Code::EXISTS);
    assert_eq!(answer_to(&address, other).await.1, Code::TOO_MANY);
}

#[tokio::test]
async fn an_identity_has_as_many_channels_as_it_may_over_all_sessions() {
    let [key, other] = ["limited", "other"].map(key);
    let access = limited(IdentityLimits::default().channels(2));
    let (node, address, _vault) = vault_at("tcp://127.0.0.1:0", &[&key, &other], access).await;
    node.export("ledger", &Ledger::default().spawn()).unwrap();
    let [first, second, other] = [holder(&key), holder(&key), holder(&other)];
    let _vault = fetch(&first, &address).await.unwrap();
    let _ledger = first.actor::<Ledger>(&format!("{address}/ledger")).await.unwrap();
    let refused = fetch(&second, &address).await.err().unwrap();
    assert_eq!(refused.call_error(), Some(CallErrorKind::Overloaded), "{refused}");
    assert!(fetch(&other, &address).await.is_ok());
}

/// Calls beyond the first windows need credit, which the identity has no more of.
#[tokio::test]
async fn an_identity_has_as_much_credit_as_it_may() {
    let [key, other] = ["limited", "other"].map(key);
    let access = limited(IdentityLimits::default().credit_bytes(0));
    let keys = [key.clone(), other.clone()];
    let node = Node::with(NodeOptions::default().accept_keys(keys).access(access));
    let slow = Ledger::default().spawn();
    node.export("slow", &slow).unwrap();
    let address = node.listen("tcp://127.0.0.1:0").await.unwrap();
    slow.handle().unwrap().suspend();
    let mut accepted = Vec::new();
    for key in [&key, &other] {
        let dialer = holder(key);
        let ledger = dialer.actor::<Ledger>(&format!("{address}/slow")).await.unwrap();
        let mut sent = 0;
        let filling = async {
            while sent < 10_000 {
                ledger.note(0, sent, String::new()).tell().await.unwrap();
                sent += 1;
            }
        };
        // Bounded by a time without progress: the window of the other one grows beyond 10,000.
        let _ = tokio::time::timeout(Duration::from_secs(2), filling).await;
        accepted.push((dialer, ledger, sent));
    }
    let [limited, other] = [accepted[0].2, accepted[1].2];
    assert!(limited < 200 && other == 10_000, "{limited} and {other}");
    slow.handle().unwrap().resume();
}

#[tokio::test]
async fn an_identity_begins_as_many_calls_a_second_as_it_may() {
    let [key, other] = ["limited", "other"].map(key);
    let access = limited(IdentityLimits::default().calls_per_second(20));
    let (node, address, there) = vault_at("tcp://127.0.0.1:0", &[&key, &other], access).await;
    let [limited, other] = [holder(&key), holder(&other)];
    let (vault, free) = (fetch(&limited, &address).await, fetch(&other, &address).await);
    let (vault, free) = (vault.unwrap(), free.unwrap());
    let began = std::time::Instant::now();
    let mut refused = 0;
    for _ in 0..200 {
        match vault.look().ask().await {
            Ok(_) => {}
            error => {
                assert_eq!(kind(error), CallErrorKind::Overloaded);
                refused += 1;
            }
        }
        free.look().ask().await.unwrap();
    }
    let most = 20 + (began.elapsed().as_secs_f64() * 20.0) as u64 + 1;
    assert!((20..=most).contains(&(200 - refused)), "{refused} of 200 were refused");
    // Tells too, and the peer is told.
    let before = node.statistics().iter().map(|it| it.session.tells_undeliverable).sum::<u64>();
    for _ in 0..500 {
        vault.add(1).tell().await.unwrap();
    }
    // Its answer comes behind the tells, whatever it is.
    let _ = vault.look().ask().await;
    let after = node.statistics().iter().map(|it| it.session.tells_undeliverable).sum::<u64>();
    let opened = there.open().ask().await.unwrap() - 1;
    assert_eq!(opened + (after - before), 500);
    assert!(after > before);
}
