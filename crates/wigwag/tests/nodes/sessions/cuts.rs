//! Cuts while both directions are busy.

use std::sync::atomic::Ordering;
use std::time::Duration;

use wigwag::{Actor, Node, NodeOptions};
use wigwag_testkit::ledger::{Ledger, in_time, send};
use wigwag_testkit::relay::{Fault, Relay};

use super::PATIENCE;

/// Two nodes with a relay between them, each with an actor that the other calls.
pub(crate) struct Stage {
    pub(crate) relay: Relay,
    pub(crate) dialer: Node,
    pub(crate) listener: Node,
}

impl Stage {
    pub(crate) async fn new() -> Stage {
        Stage::with(NodeOptions::default()).await
    }

    /// Starts both nodes with `options`, each under its own name.
    pub(crate) async fn with(options: NodeOptions) -> Stage {
        Stage::over("tcp", options).await
    }

    /// [`with`](Self::with), over the transport `scheme`, of which the relay sees only the bytes.
    pub(crate) async fn over(scheme: &str, options: NodeOptions) -> Stage {
        let [dialer, listener] =
            ["dialer", "listener"].map(|name| Node::with(options.clone().name(name)));
        listener.export("ledger", &Ledger::default().spawn()).unwrap();
        let bound = listener.listen(&format!("{scheme}://127.0.0.1:0")).await.unwrap();
        let relay = Relay::to(bound.rest()).await;
        Stage { relay, dialer, listener }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_doubled_or_reordered_over_cuts() {
    let stage = Stage::new().await;
    send_over_cuts(&stage, &stage.relay.address).await;
    let cuts = stage.dialer.statistics()[0].session.cuts;
    let inside = stage.relay.seen.inside.load(Ordering::SeqCst);
    assert!(inside * 10 >= cuts * 3, "{inside} of {cuts} cuts fell inside a message");
    drop(stage.listener);
}

/// Sends to the listener at the relay's `address` from several tasks while the connection is cut, until
/// the session has resumed more than five times.
pub(crate) async fn send_over_cuts(stage: &Stage, address: &str) {
    let ledger = stage.dialer.actor::<Ledger>(&format!("{address}/ledger")).await.unwrap();
    let storm = async {
        for round in 0_u64.. {
            let before = stage.relay.bytes();
            while stage.relay.bytes() < before + 50_000 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let faults = [Fault::End, Fault::Tear, Fault::Reset, Fault::Tear];
            let connections = || stage.relay.seen.connections.load(Ordering::SeqCst);
            let struck = connections();
            stage.relay.strike(faults[round as usize % faults.len()]);
            // The next fault is for the next connection, or every other cut would be no tear.
            while connections() == struck {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    let sent = async {
        // The number of cuts in a round depends on the machine; one more round costs a second.
        let is_enough = || stage.dialer.statistics()[0].session.resumes > 5;
        for round in 0_u64.. {
            let senders = (4 * round..4 * round + 4)
                .map(|sender| tokio::spawn(send(ledger.clone(), sender, 20_000)));
            for sender in senders.collect::<Vec<_>>() {
                sender.await.unwrap();
            }
            if is_enough() {
                break;
            }
        }
    };
    tokio::select! {
        () = in_time(PATIENCE, sent) => {}
        () = storm => {}
    }
    let statistics = stage.dialer.statistics();
    let link = statistics[0].session;
    let connections = stage.relay.seen.connections.load(Ordering::SeqCst);
    eprintln!("{link:?}, {connections} connections");
    assert!(link.resumes > 5, "{link:?}");
}
