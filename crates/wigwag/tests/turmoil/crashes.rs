//! A listener whose process or machine dies while calls are under way, and comes back.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{sleep, timeout};
use wigwag::{
    Actor, CallErrorKind, NodeOptions,
    session::{Delivery, SessionChange},
};
use wigwag_testkit::ledger::in_time;

use crate::PATIENCE;
use crate::stage::{
    Diary, Draws, HOSTS, Outcome, find, is_ended, network, node, now, place, seeds,
};

/// A node learns that its session is over within this time after its peer has restarted and
/// listens.
const KNOWN_WITHIN: Duration = Duration::from_secs(3);

/// The ground truth about the sent numbers: those that the first life of the listener handled,
/// whether or not its answers arrived.
#[derive(Clone, Default)]
struct Truth(Arc<Mutex<BTreeSet<u64>>>);

impl Truth {
    fn handled(&self) -> BTreeSet<u64> {
        self.0.lock().unwrap().clone()
    }
}

/// An actor that records the numbers it handles.
struct Witness {
    truth: Truth,
}

#[wigwag::actor]
impl Witness {
    pub fn see(&mut self, number: u64) -> u64 {
        self.truth.0.lock().unwrap().insert(number);
        number
    }
}

/// The results that the dialer has seen.
#[derive(Debug, Default)]
struct Told {
    /// The outcome of each ask; the numbers in between were tells.
    asks: Vec<(u64, Result<u64, CallErrorKind>)>,
    /// Calls that were sent.
    sent: u64,
    ended: Duration,
    deliveries: Vec<Delivery>,
}

/// The time at which each life of the listener began to listen.
type Starts = Arc<Mutex<Vec<Duration>>>;

/// The listener: a new life each time its host is started.
async fn listen(truth: Truth, starts: Starts) -> Outcome {
    // Numbers that a later life handles are not part of the first life's record.
    let is_first = starts.lock().unwrap().is_empty();
    let truth = if is_first { truth } else { Truth::default() };
    let node = node(HOSTS[1], NodeOptions::default()).await?;
    node.export("witness", &Witness { truth }.spawn())?;
    starts.lock().unwrap().push(now());
    pending().await
}

/// The dialer: calls until the session is over, collects the outcomes, then calls the new life.
async fn dial(truth: Truth, diary: Diary, told: Arc<Mutex<Told>>) -> Outcome {
    let node = node(HOSTS[0], NodeOptions::default()).await?;
    diary.keep(&node);
    let there = place(HOSTS[1], "witness");
    let witness = find::<Witness>(&node, &there).await;
    let (mut answers, mut number) = (Vec::new(), 0);
    loop {
        let sent = if number % 3 == 0 {
            witness.see(number).tell().await.is_ok()
        } else {
            let asked = witness.see(number).timeout(PATIENCE).ask().sent().await;
            asked.map(|answer| answers.push((number, answer))).is_ok()
        };
        if !sent {
            break;
        }
        number += 1;
        sleep(Duration::from_millis(3)).await;
    }
    let mut asks = Vec::new();
    for (number, answer) in answers {
        asks.push((number, in_time(PATIENCE, answer).await.map_err(|error| error.kind)));
    }
    let (ended, deliveries) = end(&diary).await;
    let handled = truth.handled();
    *told.lock().unwrap() = Told { asks, sent: number, ended, deliveries };
    let anew = timeout(KNOWN_WITHIN, find::<Witness>(&node, &there)).await?;
    assert_eq!(anew.see(u64::MAX).timeout(KNOWN_WITHIN).ask().await?, u64::MAX);
    assert_eq!(truth.handled(), handled, "nothing of the old session is handled in the new life");
    Ok(())
}

/// The time at which the session ended, and the deliveries that the event reported.
async fn end(diary: &Diary) -> (Duration, Vec<Delivery>) {
    let ended = in_time(PATIENCE, diary.wait(is_ended)).await;
    let deliveries = diary.entries().into_iter().find_map(|(_, what)| match what {
        SessionChange::Ended { deliveries, .. } => Some(deliveries.to_vec()),
        _ => None,
    });
    (ended, deliveries.unwrap())
}

/// A dialer that sends a few tells and is then silent.
async fn dial_and_rest(diary: Diary, told: Arc<Mutex<Vec<Delivery>>>) -> Outcome {
    let node = node(HOSTS[0], NodeOptions::default()).await?;
    diary.keep(&node);
    let witness = find::<Witness>(&node, &place(HOSTS[1], "witness")).await;
    for number in 0..QUIET_CALLS {
        witness.see(number).tell().await?;
    }
    *told.lock().unwrap() = end(&diary).await.1;
    Ok(())
}

/// Fewer calls than make the receiver announce credit.
const QUIET_CALLS: u64 = 7;

/// The next heartbeat reports the calls that were handled before it.
#[test]
fn of_a_peer_that_was_quiet_for_a_heartbeat_all_is_known() {
    seeds(20, |seed| {
        let (truth, diary, starts) = (Truth::default(), Diary::default(), Starts::default());
        let told = Arc::<Mutex<Vec<Delivery>>>::default();
        let mut simulation = network(seed, Duration::from_millis(50));
        let listener = (truth.clone(), starts.clone());
        simulation.host(HOSTS[1], move || listen(listener.0.clone(), listener.1.clone()));
        simulation.client(HOSTS[0], dial_and_rest(diary.clone(), told.clone()));
        // The two nodes find each other within half a second, and a heartbeat takes one second.
        while simulation.elapsed() < Duration::from_secs(3) {
            simulation.step().expect("the dialer waits");
        }
        simulation.crash(HOSTS[1]);
        simulation.bounce(HOSTS[1]);
        simulation.run().expect("the dialer ends well");
        let told = told.lock().unwrap();
        let [Delivery { delivered, unknown, not_delivered, .. }] = told[..] else {
            panic!("{told:?}");
        };
        assert_eq!((delivered, unknown, not_delivered), (QUIET_CALLS, 0, 0), "seed {seed}");
    });
}

/// The way in which the listener dies.
#[derive(Clone, Copy)]
enum Death {
    /// The process dies: its machine closes the connections.
    Process,
    /// The machine dies: nothing is sent any more.
    Machine,
}

fn crash(seed: u64, death: Death) {
    let mut draws = Draws(seed);
    let (truth, diary) = (Truth::default(), Diary::default());
    let (starts, told) = (Starts::default(), Arc::<Mutex<Told>>::default());
    let mut simulation = network(seed, Duration::from_millis(50));
    let listener = (truth.clone(), starts.clone());
    simulation.host(HOSTS[1], move || listen(listener.0.clone(), listener.1.clone()));
    simulation.client(HOSTS[0], dial(truth.clone(), diary.clone(), told.clone()));
    // The two nodes find each other within half a second.
    let at = draws.pause(500, 3000);
    let until = at + draws.pause(1, 6000);
    while simulation.elapsed() < at {
        simulation.step().expect("the dialer goes on");
    }
    if let Death::Machine = death {
        simulation.partition(HOSTS[0], HOSTS[1]);
    }
    simulation.crash(HOSTS[1]);
    while simulation.elapsed() < until {
        simulation.step().expect("the dialer goes on");
    }
    simulation.bounce(HOSTS[1]);
    simulation.repair(HOSTS[0], HOSTS[1]);
    simulation.run().expect("the dialer ends well");
    let again = starts.lock().unwrap()[1];
    check(&told.lock().unwrap(), &truth.handled(), again, &format!("seed {seed}, {diary:?}"));
}

fn check(told: &Told, handled: &BTreeSet<u64>, again: Duration, case: &str) {
    let late = told.ended.saturating_sub(again);
    assert!(late <= KNOWN_WITHIN, "known {late:?} after the new life began; {case}");
    assert!(told.sent > 10, "{case}");
    for (number, outcome) in &told.asks {
        match outcome {
            Ok(answer) => assert!(answer == number && handled.contains(number), "{case}"),
            Err(CallErrorKind::NotDelivered) => assert!(!handled.contains(number), "{case}"),
            Err(CallErrorKind::Unknown) => {}
            Err(other) => panic!("{number} ended with {other:?}; {case}"),
        }
    }
    let there = place(HOSTS[1], "witness");
    let [Delivery { target, delivered, unknown, not_delivered, .. }] = &told.deliveries[..] else {
        panic!("{:?}; {case}", told.deliveries);
    };
    assert_eq!(**target, *there);
    assert_eq!(delivered + unknown + not_delivered, told.sent, "{case}");
    let count = handled.len() as u64;
    assert!(handled.iter().copied().eq(0..count), "handled in order, without a gap; {case}");
    assert!((*delivered..=delivered + unknown).contains(&count), "{count}, {told:?}; {case}");
}

#[test]
fn of_a_process_that_dies_every_call_is_accounted_for() {
    seeds(40, |seed| crash(seed, Death::Process));
}

#[test]
fn of_a_machine_that_dies_every_call_is_accounted_for() {
    seeds(40, |seed| crash(seed, Death::Machine));
}
