//! A network that breaks again and again while both sides have work.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::time::sleep;
use wigwag::{LinkStatistics, Node, NodeOptions};

use crate::PATIENCE;
use crate::ledger::{LedgerRef, in_time, send};
use crate::stage::{Draws, HOSTS, Outcome, find, network, node, seeds};

/// Tasks that send from each side.
const SENDERS: u64 = 3;
/// What each of them sends before it looks whether all has come.
const MESSAGES: u64 = 300;
/// How often it does so.
const ROUNDS: u64 = 25;

/// What happens to the network between the two hosts.
#[derive(Clone, Copy)]
enum Fault {
    /// What is on its way is lost, and so is what is sent.
    Partition,
    /// All waits, and comes after all.
    Hold,
    /// What one side sends is lost.
    OneWay,
}

impl Fault {
    async fn strike(self, draws: &mut Draws) {
        // A short one is over before anybody notices, a long one outlasts a handshake.
        let most = if draws.between(0, 3) == 0 { 7000 } else { 300 };
        let duration = draws.pause(1, most);
        let [one, other] = HOSTS;
        match self {
            Fault::Partition => {
                turmoil::partition(one, other);
                sleep(duration).await;
                turmoil::repair(one, other);
            }
            Fault::Hold => {
                turmoil::hold(one, other);
                sleep(duration).await;
                turmoil::release(one, other);
            }
            Fault::OneWay => {
                let (from, to) =
                    if draws.between(0, 1) == 0 { (one, other) } else { (other, one) };
                turmoil::partition_oneway(from, to);
                sleep(duration).await;
                turmoil::repair_oneway(from, to);
            }
        }
    }
}

/// The weather: never more than one fault at a time, and never a long time without.
async fn weather(faults: &[Fault], seed: u64) -> Outcome {
    let mut draws = Draws(seed);
    loop {
        sleep(draws.pause(20, 800)).await;
        let which = draws.between(0, faults.len() as u64 - 1) as usize;
        faults[which].strike(&mut draws).await;
    }
}

async fn rounds(ledger: LedgerRef, sender: u64) {
    for round in 0..ROUNDS {
        send(ledger.clone(), sender * ROUNDS + round, MESSAGES).await;
    }
}

/// One side: finds the other, sends, and stays until the other has sent.
async fn side(name: &str, peer: &str, done: Arc<Barrier>) -> Result<LinkStatistics, Box<dyn std::error::Error>> {
    let options = NodeOptions::default().heartbeat(Duration::from_millis(100));
    let node = node(name, options).await?;
    let ledger = find(&node, peer).await;
    let senders = (0..SENDERS).map(|sender| tokio::spawn(rounds(ledger.clone(), sender)));
    let senders: Vec<_> = senders.collect();
    for sender in senders {
        sender.await?;
    }
    in_time(PATIENCE, done.wait()).await;
    Ok(only_session(&node))
}

fn only_session(node: &Node) -> LinkStatistics {
    let statistics = node.statistics();
    assert_eq!(statistics.len(), 1, "{statistics:?}");
    statistics[0].link
}

/// Both sides send over a network with such faults; gives how often sessions were cut, all together.
fn storm(count: u64, faults: &'static [Fault]) {
    let (mut cuts, mut repeated) = (0, 0);
    seeds(count, |seed| {
        let mut simulation = network(seed, Duration::from_millis(20));
        let done = Arc::new(Barrier::new(HOSTS.len()));
        let (send, seen) = std::sync::mpsc::channel();
        for (name, peer) in [(HOSTS[0], HOSTS[1]), (HOSTS[1], HOSTS[0])] {
            let (done, send) = (done.clone(), send.clone());
            simulation.client(name, async move {
                send.send(side(name, peer, done).await?)?;
                Ok(())
            });
        }
        simulation.host("weather", move || weather(faults, seed));
        simulation.run().expect("both sides end well");
        for link in seen.try_iter() {
            cuts += link.cuts;
            repeated += link.frames_repeated;
        }
    });
    eprintln!("{cuts} cuts, {repeated} frames sent once more");
    assert!(cuts > count, "the weather was too fine: {cuts} cuts");
}

#[test]
fn whatever_breaks_nothing_is_lost_doubled_or_reordered() {
    storm(6, &[Fault::Partition, Fault::Hold]);
}

#[test]
fn one_direction_is_enough_to_break_and_nothing_is_lost() {
    storm(6, &[Fault::OneWay]);
}

#[test]
fn what_waits_and_comes_late_is_accepted_once() {
    storm(6, &[Fault::Hold]);
}
