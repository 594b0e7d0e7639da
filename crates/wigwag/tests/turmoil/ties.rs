//! Two nodes that dial each other at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::time::sleep;
use wigwag::NodeOptions;
use wigwag_testkit::ledger::{Ledger, in_time, send};

use crate::PATIENCE;
use crate::stage::{Draws, HOSTS, Outcome, network, node, place, seeds};

/// The longest packet delay. A node that dials within this time of the other's dial has not seen
/// that dial yet.
const SLOWEST: u64 = 20;

/// Dials from several tasks, a moment after both sides are ready; then partitions the network.
async fn side([name, peer]: [&str; 2], seed: u64, met: Arc<Barrier>) -> Outcome {
    let options = NodeOptions::default().heartbeat(Duration::from_millis(100));
    let node = node(name, options).await?;
    let mut draws = Draws(seed ^ u64::from(name == HOSTS[0]));
    in_time(PATIENCE, met.wait()).await;
    let there = place(peer, "ledger");
    let dialing = (0..3_u64).map(|sender| {
        let (node, there, pause) = (node.clone(), there.clone(), draws.pause(0, SLOWEST));
        tokio::spawn(async move {
            sleep(pause).await;
            let ledger = in_time(PATIENCE, node.actor::<Ledger>(&there)).await.unwrap();
            send(ledger.clone(), sender, 100).await;
            ledger
        })
    });
    let dialing: Vec<_> = dialing.collect();
    let mut ledgers = Vec::new();
    for dialed in dialing {
        ledgers.push(dialed.await?);
    }
    in_time(PATIENCE, met.wait()).await;
    assert_eq!(node.statistics().len(), 1, "{:?}", node.statistics());
    in_time(PATIENCE, met.wait()).await;
    turmoil::partition(name, peer);
    sleep(draws.pause(200, 1000)).await;
    turmoil::repair(name, peer);
    for (ledger, sender) in ledgers.into_iter().zip(10..) {
        send(ledger, sender, 100).await;
    }
    in_time(PATIENCE, met.wait()).await;
    let statistics = node.statistics();
    assert_eq!(statistics.len(), 1, "{statistics:?}");
    assert!(statistics[0].session.resumes > 0, "it was cut: {statistics:?}");
    in_time(PATIENCE, met.wait()).await;
    Ok(())
}

#[test]
fn two_that_dial_each_other_at_once_have_one_session() {
    seeds(200, |seed| {
        let mut simulation = network(seed, Duration::from_millis(SLOWEST));
        let met = Arc::new(Barrier::new(HOSTS.len()));
        for both in [HOSTS, [HOSTS[1], HOSTS[0]]] {
            simulation.client(both[0], side(both, seed, met.clone()));
        }
        simulation.run().expect("both sides have one session");
    });
}
