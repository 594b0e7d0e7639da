//! Silent peers: a node first pings a silent peer, then treats the connection as cut.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use wigwag::{Actor, Node, NodeOptions, session::SessionChange};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Identity, Limits};
use wigwag_testkit::ledger::{Ledger, in_time, send};
use wigwag_testkit::raw::{Raw, identity};
use wigwag_testkit::relay::Fault;

use super::cuts::Stage;

/// A short heartbeat interval, so that tests need not wait.
const BEAT: Duration = Duration::from_millis(100);

fn hasty() -> Node {
    Node::with(NodeOptions::default().heartbeat(BEAT).keep_sessions(Duration::ZERO))
}

#[tokio::test]
async fn a_silent_peer_is_asked_and_then_cut_off() {
    let node = hasty();
    node.export("ledger", &Ledger::default().spawn()).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut raw = Raw::dial(&bound.to_string()).await;
    let limits = Limits { heartbeat_ms: 100, ..Limits::default() };
    raw.open(Identity { limits, ..identity() }).await;
    for _ in 0..3 {
        let ping = raw.until(kind::PING).await;
        let Frame::Ping { id, next_ms } = ping.frame() else { unreachable!() };
        assert_eq!(next_ms, 100);
        raw.tell(&[Frame::Pong { id }]).await;
    }
    let silent = Instant::now();
    let end = in_time(5 * 3 * BEAT, async { while raw.frame().await.is_some() {} });
    end.await;
    // The cut does not come too early either, as far as a clock shared with other processes can
    // tell.
    assert!(silent.elapsed() >= 2 * BEAT, "{:?}", silent.elapsed());
}

/// Two nodes without traffic keep their connection.
#[tokio::test]
async fn nodes_at_rest_hear_each_others_signs_of_life() {
    let (dialer, listener) = (hasty(), hasty());
    listener.export("ledger", &Ledger::default().spawn()).unwrap();
    let bound = listener.listen("tcp://127.0.0.1:0").await.unwrap();
    let ledger = dialer.actor::<Ledger>(&format!("{bound}/ledger")).await.unwrap();
    let batches = || dialer.statistics()[0].session.batches_received;
    let before = batches();
    // Each heartbeat is one batch or two; ten of them take three times the allowed silence.
    in_time(Duration::from_secs(30), async {
        while batches() < before + 20 {
            tokio::time::sleep(BEAT).await;
        }
    })
    .await;
    assert_eq!(ledger.count(0, 0).ask().await.unwrap(), 1);
    assert_eq!(dialer.statistics()[0].session.cuts, 0);
}

/// A heartbeat interval that two nodes can keep under load: a node that stalls for two such
/// intervals counts as silent, and its connection is cut as if it had gone dead.
const SLOW_BEAT: Duration = Duration::from_millis(500);

/// One direction or both go dead while messages are under way: neither side is told, and all
/// arrive.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_when_a_connection_goes_dead() {
    for fault in [Fault::Silence, Fault::HalfSilence] {
        let stage = Stage::with(NodeOptions::default().heartbeat(SLOW_BEAT)).await;
        let there = format!("{}/ledger", stage.relay.address);
        let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
        let mut events = stage.dialer.session_events();
        let sending = tokio::spawn(send(ledger, 0, 30_000));
        while stage.relay.bytes() < 100_000 {
            tokio::task::yield_now().await;
        }
        stage.relay.strike(fault);
        let struck = Instant::now();
        let cut = in_time(5 * 3 * SLOW_BEAT, events.next()).await.unwrap();
        assert!(matches!(cut.what, SessionChange::Cut { .. }), "{cut:?}");
        let resumed = in_time(5 * 3 * SLOW_BEAT, events.next()).await.unwrap();
        eprintln!("{fault:?}: {:?} after {:?}", resumed.what, struck.elapsed());
        assert!(matches!(resumed.what, SessionChange::Resumed { .. }), "{resumed:?}");
        in_time(super::PATIENCE, sending).await.unwrap();
        // One connection for the cut, and one for each further cut that a machine under load may
        // add.
        let cuts = stage.dialer.statistics()[0].session.cuts;
        assert!(cuts >= 1);
        assert_eq!(stage.relay.seen.connections.load(Ordering::SeqCst), 1 + cuts);
    }
}
