//! A listener that considers a session open although its dialer never learned of it and has given
//! up.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::time::sleep;
use wigwag::NodeOptions;
use wigwag_testkit::ledger::{Ledger, in_time, send};

use crate::PATIENCE;
use crate::stage::{Draws, HOSTS, Outcome, find, network, node, place, seeds};

/// The most time that one dial takes; the dialer dials only once here.
const GIVEN_UP: Duration = Duration::from_secs(6);

/// A dialer that has a session may be waiting for an answer that was lost; it dials again after 5
/// s.
const FOUND_WITHIN: Duration = Duration::from_secs(7);

fn options() -> NodeOptions {
    NodeOptions::default().heartbeat(Duration::from_millis(200))
}

/// Dials once, in a network that may lose the answer.
async fn dials_once(seed: u64, met: Arc<Barrier>) -> Outcome {
    let node = node(HOSTS[0], options()).await?;
    in_time(PATIENCE, met.wait()).await;
    let there = place(HOSTS[1], "ledger");
    let cut = async {
        sleep(Draws(seed).pause(1, 100)).await;
        turmoil::partition_oneway(HOSTS[1], HOSTS[0]);
        sleep(GIVEN_UP).await;
        turmoil::repair_oneway(HOSTS[1], HOSTS[0]);
    };
    // The seed decides whether the dial succeeds, and which of the two then has a session.
    let (_, ()) = tokio::join!(node.actor::<Ledger>(&there), cut);
    in_time(PATIENCE, met.wait()).await;
    in_time(PATIENCE, met.wait()).await;
    Ok(())
}

/// Looks up the dialer's actor after the dialer has given up.
async fn looks_for_it(met: Arc<Barrier>) -> Outcome {
    let node = node(HOSTS[1], options()).await?;
    in_time(PATIENCE, met.wait()).await;
    in_time(PATIENCE, met.wait()).await;
    let there = place(HOSTS[0], "ledger");
    let ledger = in_time(FOUND_WITHIN, find::<Ledger>(&node, &there)).await;
    send(ledger, 0, 100).await;
    assert_eq!(node.statistics().len(), 1, "{:?}", node.statistics());
    in_time(PATIENCE, met.wait()).await;
    Ok(())
}

#[test]
fn a_session_that_was_never_confirmed_stands_in_nobodys_way() {
    seeds(30, |seed| {
        let mut simulation = network(seed, Duration::from_millis(20));
        let met = Arc::new(Barrier::new(HOSTS.len()));
        simulation.client(HOSTS[0], dials_once(seed, met.clone()));
        simulation.client(HOSTS[1], looks_for_it(met));
        simulation.run().expect("the two have a session");
    });
}
