//! Waiting until the peers have what was sent.

use std::time::Duration;

use tokio::time::timeout;
use wigwag::{Actor, Node, NodeError, NodeOptions};
use wigwag_testkit::child;
use wigwag_testkit::ledger::{Ledger, in_time};
use wigwag_testkit::relay::Fault;

use super::sessions::NOWHERE;
use super::sessions::cuts::Stage;

/// Every wait ends almost at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

const CALLS: u64 = 1000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flush_ends_when_the_peer_has_what_was_sent_although_others_go_on_sending() {
    let stage = Stage::new().await;
    let there = format!("{}/ledger", stage.relay.address);
    let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    let busy = tokio::spawn({
        let ledger = ledger.clone();
        async move {
            for number in 0.. {
                ledger.note(1, number, String::new()).tell().await.unwrap();
            }
        }
    });
    let (node, told) = (stage.dialer.clone(), ledger.clone());
    let flushed = wigwag::spawn(async move {
        for number in 0..CALLS {
            told.note(0, number, String::new()).tell().await.unwrap();
        }
        node.flush().await
    });
    in_time(PATIENCE, flushed).await.unwrap().unwrap();
    // The peer has accepted every frame, so it needs no more from this side.
    stage.relay.lead_to(NOWHERE);
    stage.relay.strike(Fault::Reset);
    let inside = stage.listener.actor::<Ledger>(&own_address(&stage).await).await.unwrap();
    while in_time(PATIENCE, inside.noted(0).ask()).await.unwrap().0 < CALLS {}
    busy.abort();
}

/// A task tells and blocks its thread within the same turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_flush_waits_for_what_a_turn_has_sent_that_does_not_end() {
    let (service, client) = (Node::new(), Node::new());
    let ledger = Ledger::default().spawn();
    service.export("ledger", &ledger).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Ledger>(&format!("{bound}/ledger")).await.unwrap();
    let sent_before = client.statistics()[0].session.frames_sent;
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let (sent, mut is_sent) = tokio::sync::oneshot::channel();
    let turn = wigwag::spawn(async move {
        for number in 0..3 {
            there.note(0, number, String::new()).tell().await.unwrap();
        }
        sent.send(()).unwrap();
        blocked.recv().unwrap();
    });
    // Not awaited: the turn's own worker might run this task next, and it is blocked.
    while is_sent.try_recv().is_err() {
        tokio::task::yield_now().await;
    }
    in_time(PATIENCE, client.flush()).await.unwrap();
    let received = service.statistics()[0].session.frames_received;
    assert!(received > sent_before, "the flush waits for frames that are not published yet");
    release.send(()).unwrap();
    turn.await.unwrap();
}

/// The ledger at an address of its own node, without the relay.
async fn own_address(stage: &Stage) -> String {
    format!("{}/ledger", stage.listener.listen("tcp://127.0.0.1:0").await.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flush_waits_over_a_cut_and_reports_a_session_that_is_lost() {
    const KEPT: Duration = Duration::from_millis(300);
    let stage = Stage::with(NodeOptions::default().keep_sessions(KEPT)).await;
    let there = format!("{}/ledger", stage.relay.address);
    let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    in_time(PATIENCE, stage.dialer.flush()).await.unwrap();
    stage.relay.lead_to(NOWHERE);
    stage.relay.strike(Fault::Reset);
    ledger.note(0, 0, String::new()).tell().await.unwrap();
    assert!(timeout(KEPT, stage.dialer.flush()).await.is_err(), "the session is kept");
    let lost = in_time(PATIENCE, stage.dialer.flush()).await.unwrap_err();
    let NodeError::Lost { peer, others: 0, .. } = &lost else { panic!("{lost}") };
    assert!(there.starts_with(&**peer), "{lost}");
    // Reported once.
    in_time(PATIENCE, stage.dialer.flush()).await.unwrap();
}

/// The report stays for the next flush, also if nobody waited when the session ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_lost_before_is_reported_by_the_next_flush() {
    let stage = Stage::with(NodeOptions::default().keep_sessions(Duration::ZERO)).await;
    let there = format!("{}/ledger", stage.relay.address);
    let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    let never = ledger.never().ask().sent().await.unwrap();
    in_time(PATIENCE, stage.dialer.flush()).await.unwrap();
    stage.relay.strike(Fault::End);
    in_time(PATIENCE, never).await.unwrap_err();
    let lost = in_time(PATIENCE, stage.dialer.flush()).await.unwrap_err();
    assert!(matches!(lost, NodeError::Lost { others: 0, .. }), "{lost}");
}

/// Run by [`a_process_that_flushes_may_exit_at_once`] in a second process.
#[test]
fn exits_after_a_flush() {
    let Some(address) = child::role() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let node = Node::new();
        let ledger = node.actor::<Ledger>(&address).await.unwrap();
        for number in 0..CALLS {
            ledger.note(0, number, String::new()).tell().await.unwrap();
        }
        node.flush().await.unwrap();
        std::process::exit(0);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_flushes_may_exit_at_once() {
    let node = Node::new();
    let ledger = Ledger::default().spawn();
    node.export("ledger", &ledger).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let exits = move || child::run("flush::exits_after_a_flush", &format!("{bound}/ledger"));
    let status = tokio::task::spawn_blocking(exits);
    assert!(in_time(PATIENCE, status).await.unwrap().success());
    assert_eq!(in_time(PATIENCE, ledger.noted(0).ask()).await.unwrap().0, CALLS);
}
