//! A network that breaks again and again while both sides have work.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::time::sleep;
use wigwag::{LinkStatistics, NodeOptions};

use crate::PATIENCE;
use crate::ledger::{Ledger, LedgerRef, in_time, send};
use crate::stage::{Draws, HOSTS, Outcome, find, network, node, place, seeds};

/// Tasks that send from each side.
const SENDERS: u64 = 3;
/// What each of them sends before it looks whether all has come and rests a little.
const MESSAGES: u64 = 200;
/// Faults of one storm.
const STRIKES: u64 = 25;

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
        let most = if draws.between(0, 3) == 0 { 7000 } else { 500 };
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

/// The weather: one fault at a time and never a long time without, and then it is over.
async fn weather(faults: &[Fault], seed: u64, is_over: Arc<AtomicBool>) -> Outcome {
    let mut draws = Draws(seed);
    for _ in 0..STRIKES {
        sleep(draws.pause(20, 800)).await;
        let which = draws.between(0, faults.len() as u64 - 1) as usize;
        faults[which].strike(&mut draws).await;
    }
    is_over.store(true, Ordering::SeqCst);
    Ok(())
}

/// Sends for as long as the storm takes; every round as a sender of its own.
async fn rounds(ledger: LedgerRef, sender: u64, seed: u64, is_over: Arc<AtomicBool>) {
    let mut draws = Draws(seed + sender);
    let mut round = 0;
    while !is_over.load(Ordering::SeqCst) {
        send(ledger.clone(), round * SENDERS + sender, MESSAGES).await;
        sleep(draws.pause(0, 100)).await;
        round += 1;
    }
}

/// One side: finds the other, sends, and stays until the other has sent.
async fn side(
    [name, peer]: [&str; 2],
    seed: u64,
    is_over: Arc<AtomicBool>,
    done: Arc<Barrier>,
) -> turmoil::Result<LinkStatistics> {
    let options = NodeOptions::default().heartbeat(Duration::from_millis(100));
    let node = node(name, options).await?;
    let ledger = find::<Ledger>(&node, &place(peer, "ledger")).await;
    let sending = |sender| rounds(ledger.clone(), sender, seed, is_over.clone());
    let senders: Vec<_> = (0..SENDERS).map(|sender| tokio::spawn(sending(sender))).collect();
    for sender in senders {
        in_time(PATIENCE, sender).await?;
    }
    in_time(PATIENCE, done.wait()).await;
    let statistics = node.statistics();
    assert_eq!(statistics.len(), 1, "{statistics:?}");
    Ok(statistics[0].link)
}

/// Both sides send over a network with such faults.
fn storm(count: u64, faults: &'static [Fault]) {
    seeds(count, |seed| {
        let mut simulation = network(seed, Duration::from_millis(20));
        let (done, is_over) = (Arc::new(Barrier::new(HOSTS.len())), Arc::default());
        let cuts = Rc::new(Cell::new(0));
        for both in [HOSTS, [HOSTS[1], HOSTS[0]]] {
            let side = side(both, seed, Arc::clone(&is_over), done.clone());
            let cuts = cuts.clone();
            simulation.client(both[0], async move {
                let link = side.await?;
                eprintln!("seed {seed}, {}: {link:?}", both[0]);
                cuts.set(cuts.get() + link.cuts);
                Ok(())
            });
        }
        simulation.client("weather", weather(faults, seed, is_over));
        simulation.run().expect("both sides end well");
        assert!(cuts.get() > 0, "the weather was too fine");
    });
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
