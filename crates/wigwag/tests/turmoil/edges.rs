//! The network comes back at about the time at which the listener gives the session up: either both
//! sides resume it, or neither does.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::time::sleep;
use wigwag::{CallErrorKind, Node, NodeOptions, session::SessionChange};
use wigwag_testkit::ledger::{Ledger, in_time, send};

use crate::PATIENCE;
use crate::stage::{
    Diary, Draws, HOSTS, Outcome, find, is_cut, is_ended, network, node, place, seeds,
};

/// How long the listener keeps a session, in milliseconds.
const KEPT: u64 = 3000;

/// The time after the cut at which both sides know the state of the session: the dialer waits for 5
/// s more than the listener, and a dial takes 5 s at most.
const KNOWN_AFTER: Duration = Duration::from_millis(KEPT + 10_000);

/// A peer that still waits for its session dials at least once a second, and then knows the
/// outcome; a peer that wants a new session dials twice a second.
const FOUND_WITHIN: Duration = Duration::from_secs(2);

fn options() -> NodeOptions {
    let options = NodeOptions::default().heartbeat(Duration::from_millis(200));
    options.keep_sessions(Duration::from_millis(KEPT))
}

/// One side: asks while the network is down, then checks the outcomes of the asks and of the
/// session.
async fn side([name, peer]: [&str; 2], diary: Diary, met: Arc<Barrier>) -> Outcome {
    let node = node(name, options()).await?;
    diary.keep(&node);
    let there = place(peer, "ledger");
    let ledger = find::<Ledger>(&node, &there).await;
    in_time(PATIENCE, met.wait()).await;
    let asked = (0..60).map(|number| {
        let ledger = ledger.clone();
        tokio::spawn(async move {
            sleep(Duration::from_millis(number * 20)).await;
            ledger.count(number, 0).timeout(PATIENCE).ask().await
        })
    });
    let asked: Vec<_> = asked.collect();
    in_time(PATIENCE, diary.wait(is_cut)).await;
    sleep(KNOWN_AFTER).await;
    let is_over = diary.first(is_ended).is_some();
    for answer in asked {
        match in_time(PATIENCE, answer).await? {
            Ok(count) => assert_eq!(count, 1),
            Err(error) => {
                let known = [CallErrorKind::NotDelivered, CallErrorKind::Unknown];
                assert!(is_over && known.contains(&error.error().kind), "{error}");
            }
        }
    }
    in_time(PATIENCE, met.wait()).await;
    again(&node, &there).await;
    in_time(PATIENCE, met.wait()).await;
    Ok(())
}

/// The two nodes reach each other, whether or not the session survived.
async fn again(node: &Node, there: &str) {
    let ledger = in_time(KNOWN_AFTER, find::<Ledger>(node, there)).await;
    send(ledger, 1000, 100).await;
    assert_eq!(node.statistics().len(), 1, "{:?}", node.statistics());
}

async fn weather(seed: u64, met: Arc<Barrier>) -> Outcome {
    let mut draws = Draws(seed);
    met.wait().await;
    sleep(draws.pause(1, 1000)).await;
    turmoil::partition(HOSTS[0], HOSTS[1]);
    // The cut is noticed within 600 ms.
    sleep(draws.pause(KEPT - 500, KEPT + 2000)).await;
    turmoil::repair(HOSTS[0], HOSTS[1]);
    met.wait().await;
    met.wait().await;
    Ok(())
}

#[test]
fn both_go_on_or_neither_does() {
    let (mut went_on, mut ended) = (0, 0);
    seeds(30, |seed| {
        let mut simulation = network(seed, Duration::from_millis(20));
        let met = Arc::new(Barrier::new(HOSTS.len() + 1));
        let diaries: [Diary; 2] = Default::default();
        for (at, both) in [HOSTS, [HOSTS[1], HOSTS[0]]].into_iter().enumerate() {
            simulation.client(both[0], side(both, diaries[at].clone(), met.clone()));
        }
        simulation.client("weather", weather(seed, met));
        simulation.run().expect("both sides end well");
        // Later entries come from the end of the node itself.
        let first = |diary: &Diary| {
            let mut entries = diary.entries().into_iter().map(|(_, what)| what);
            entries.find(|what| {
                matches!(what, SessionChange::Ended { .. } | SessionChange::Resumed { .. })
            })
        };
        let outcomes = diaries.each_ref().map(|diary| first(diary).as_ref().map(is_ended));
        assert_eq!(outcomes[0], outcomes[1], "seed {seed}, {diaries:?}");
        if outcomes[0] == Some(true) { ended += 1 } else { went_on += 1 }
    });
    let both = went_on > 0 && ended > 0;
    assert!(both || went_on + ended == 1, "{went_on} sessions went on, {ended} ended");
}

/// Waits for the end of the session that the peer dialed, and dials the peer once the network is
/// back: the peer does not yet know that the session has ended.
async fn forgets(seed: u64, met: Arc<Barrier>) -> Outcome {
    let node = node(HOSTS[1], options()).await?;
    let diary = Diary::default();
    diary.keep(&node);
    in_time(PATIENCE, met.wait()).await;
    turmoil::partition(HOSTS[0], HOSTS[1]);
    in_time(PATIENCE, diary.wait(is_ended)).await;
    sleep(Draws(seed).pause(1, 4000)).await;
    turmoil::repair(HOSTS[0], HOSTS[1]);
    let there = place(HOSTS[0], "ledger");
    let ledger = in_time(FOUND_WITHIN, node.actor::<Ledger>(&there)).await?;
    send(ledger, 0, 100).await;
    in_time(PATIENCE, met.wait()).await;
    Ok(())
}

async fn remembers(met: Arc<Barrier>) -> Outcome {
    let node = node(HOSTS[0], options()).await?;
    find::<Ledger>(&node, &place(HOSTS[1], "ledger")).await;
    in_time(PATIENCE, met.wait()).await;
    in_time(PATIENCE, met.wait()).await;
    Ok(())
}

#[test]
fn a_node_that_has_given_a_session_up_reaches_a_peer_that_still_holds_to_it() {
    seeds(30, |seed| {
        let mut simulation = network(seed, Duration::from_millis(20));
        let met = Arc::new(Barrier::new(HOSTS.len()));
        simulation.client(HOSTS[0], remembers(met.clone()));
        simulation.client(HOSTS[1], forgets(seed, met));
        simulation.run().expect("the two have a new session");
    });
}
