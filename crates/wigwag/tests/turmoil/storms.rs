//! A network that fails again and again while both sides are busy.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Barrier;
use tokio::time::sleep;
use wigwag::{NodeOptions, session::SessionStatistics};
use wigwag_testkit::ledger::{Ledger, LedgerRef, in_time, send};

use crate::PATIENCE;
use crate::stage::{Draws, HOSTS, Outcome, find, network, node, place, seeds};

/// Sending tasks on each side.
const SENDERS: u64 = 3;
/// Messages that a task sends before it checks that all have arrived and pauses for a moment.
const MESSAGES: u64 = 200;

/// A fault of the network between the two hosts.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    /// Packets under way are lost, and so are packets sent meanwhile.
    Partition,
    /// All packets are held, and delivered afterwards.
    Hold,
    /// Packets of one side are lost.
    OneWay,
}

impl Fault {
    async fn strike(self, duration: Duration, draws: &mut Draws) {
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
                let (from, to) = if draws.between(0, 1) == 0 { (one, other) } else { (other, one) };
                turmoil::partition_oneway(from, to);
                sleep(duration).await;
                turmoil::repair_oneway(from, to);
            }
        }
    }
}

/// The faults of a run, with their frequency and duration.
#[derive(Clone, Copy)]
pub(crate) struct Weather {
    faults: &'static [Fault],
    strikes: u64,
    /// The longest time without a fault, in milliseconds.
    calm: u64,
    /// The maximum duration of three faults in four.
    short: u64,
    /// The maximum duration of the remaining quarter.
    long: u64,
}

impl Weather {
    /// Long faults outlast a handshake; short ones may be over before either side notices.
    pub(crate) const fn of(faults: &'static [Fault]) -> Weather {
        Weather { faults, strikes: 25, calm: 800, short: 500, long: 7000 }
    }

    /// Strikes with one fault at a time, then marks the storm as over.
    async fn rage(self, seed: u64, course: Arc<Course>) -> Outcome {
        let mut draws = Draws(seed);
        course.begin().await;
        for _ in 0..self.strikes {
            sleep(draws.pause(1, self.calm)).await;
            let fault = self.faults[draws.between(0, self.faults.len() as u64 - 1) as usize];
            let most = if draws.between(0, 3) == 0 { self.long } else { self.short };
            fault.strike(draws.pause(1, most), &mut draws).await;
        }
        course.is_over.store(true, Ordering::SeqCst);
        Ok(())
    }
}

/// State that both sides and the weather task share.
pub(crate) struct Course {
    begin: Barrier,
    is_over: AtomicBool,
    end: Barrier,
}

impl Course {
    fn new() -> Arc<Course> {
        let (begin, end) = (Barrier::new(HOSTS.len() + 1), Barrier::new(HOSTS.len()));
        Arc::new(Course { begin, is_over: AtomicBool::new(false), end })
    }

    /// Passed when the two nodes have found each other.
    pub(crate) async fn begin(&self) {
        self.begin.wait().await;
    }

    /// True once no further fault will come.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Passed when both sides have sent everything.
    pub(crate) async fn end(&self) {
        self.end.wait().await;
    }
}

/// Sends for as long as the storm lasts; every round uses a sender number of its own.
async fn rounds(ledger: LedgerRef, sender: u64, seed: u64, course: Arc<Course>) {
    let mut draws = Draws(seed + sender);
    let mut round = 0;
    while !course.is_over() {
        send(ledger.clone(), round * SENDERS + sender, MESSAGES).await;
        sleep(draws.pause(0, 100)).await;
        round += 1;
    }
}

/// One side: finds the other, sends, and stays until the other has sent everything.
async fn side(
    [name, peer]: [&'static str; 2],
    seed: u64,
    course: Arc<Course>,
) -> turmoil::Result<SessionStatistics> {
    // Where handshakes hardly get through, a storm of a minute may have none that does.
    let options =
        NodeOptions::default().heartbeat(Duration::from_millis(100)).keep_sessions(PATIENCE);
    let node = node(name, options).await?;
    let ledger = find::<Ledger>(&node, &place(peer, "ledger")).await;
    in_time(PATIENCE, course.begin()).await;
    let sending = |sender| rounds(ledger.clone(), sender, seed, course.clone());
    let senders: Vec<_> = (0..SENDERS).map(|sender| tokio::spawn(sending(sender))).collect();
    for sender in senders {
        in_time(PATIENCE, sender).await?;
    }
    in_time(PATIENCE, course.end()).await;
    let statistics = node.statistics();
    assert_eq!(statistics.len(), 1, "{statistics:?}");
    Ok(statistics[0].session)
}

/// Runs `side` on both hosts in the given weather, for `count` seeds.
pub(crate) fn storm<F>(
    count: u64,
    weather: Weather,
    side: impl Fn([&'static str; 2], u64, Arc<Course>) -> F,
) where
    F: Future<Output = turmoil::Result<SessionStatistics>> + 'static,
{
    seeds(count, |seed| {
        let mut simulation = network(seed, Duration::from_millis(20));
        let course = Course::new();
        let cuts = Rc::new(Cell::new(0));
        for both in [HOSTS, [HOSTS[1], HOSTS[0]]] {
            let side = side(both, seed, course.clone());
            let cuts = cuts.clone();
            simulation.client(both[0], async move {
                let link = side.await?;
                cuts.set(cuts.get() + link.cuts);
                Ok(())
            });
        }
        simulation.client("weather", weather.rage(seed, course));
        simulation.run().expect("both sides end well");
        assert!(cuts.get() > 0, "the weather was too fine");
    });
}

#[test]
fn no_fault_loses_doubles_or_reorders_anything() {
    storm(6, Weather::of(&[Fault::Partition, Fault::Hold, Fault::OneWay]), side);
}

#[test]
fn one_direction_is_enough_to_break_and_nothing_is_lost() {
    storm(6, Weather::of(&[Fault::OneWay]), side);
}

#[test]
fn held_and_late_packets_are_accepted_once() {
    storm(6, Weather::of(&[Fault::Hold]), side);
}

/// A handshake takes five packets of a few milliseconds each: most do not get through, and wherever
/// one was broken off, the next one still succeeds.
#[test]
fn handshakes_that_break_halfway_do_no_harm() {
    let faults = &[Fault::Partition, Fault::OneWay, Fault::Hold];
    storm(6, Weather { faults, strikes: 1000, calm: 60, short: 30, long: 150 }, side);
}
