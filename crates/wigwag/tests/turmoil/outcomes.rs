//! The sums of a session's event are the outcomes that the callers saw, over random histories of
//! calls of every kind, cuts, and the death of the peer.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::sleep;
use wigwag::{
    Actor, CallErrorKind, DeliveryStatus, NodeOptions,
    session::{Delivery, SessionChange},
};
use wigwag_testkit::ledger::in_time;

use crate::PATIENCE;
use crate::stage::{Diary, Draws, HOSTS, Outcome, find, is_ended, network, node, place, seeds};

/// A number beyond the listener's type.
const TOO_WIDE: u64 = 1 << 40;

/// The numbers of tells and asks that the first life of the listener has handled.
#[derive(Clone, Default)]
struct Truth(Arc<Mutex<BTreeSet<u32>>>);

/// The listener's version of the interface.
struct Witness {
    truth: Truth,
}

#[wigwag::actor]
impl Witness {
    pub fn see(&mut self, number: u32) -> u32 {
        self.truth.0.lock().unwrap().insert(number);
        number
    }

    pub async fn ponder(&mut self, number: u32) -> u32 {
        sleep(Duration::from_millis(15)).await;
        self.see(number)
    }
}

/// The dialer's version: its numbers are wider.
#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
trait Wide {
    fn see(&mut self, number: u64) -> u64;
    fn ponder(&mut self, number: u64) -> u64;
}

/// Calls by their outcome: delivered, rejected, unknown, not delivered.
type Sums = [u64; 4];

fn index(status: DeliveryStatus) -> usize {
    match status {
        DeliveryStatus::Delivered => 0,
        DeliveryStatus::Rejected(_) => 1,
        DeliveryStatus::Unknown => 2,
        DeliveryStatus::NotDelivered => 3,
    }
}

/// The outcomes that the callers of the dialer saw.
#[derive(Debug, Default)]
struct Seen {
    /// Asks and receipts by their outcome.
    asks: Sums,
    /// The numbers of the tells that were understood, and of those that were too wide.
    tells: Vec<u32>,
    wide_tells: Vec<u32>,
    deliveries: Vec<Delivery>,
}

async fn listen(truth: Truth, lives: Arc<Mutex<u32>>) -> Outcome {
    let is_first = std::mem::replace(&mut *lives.lock().unwrap(), 1) == 0;
    let truth = if is_first { truth } else { Truth::default() };
    let node = node(HOSTS[1], NodeOptions::default()).await?;
    node.export("witness", &Witness { truth }.spawn())?;
    pending().await
}

/// Calls until the session is over, and collects the outcomes. Without `tells`, there are asks and
/// receipts only.
async fn dial(mut draws: Draws, tells: bool, diary: Diary, seen: Arc<Mutex<Seen>>) -> Outcome {
    let node = node(HOSTS[0], NodeOptions::default()).await?;
    diary.keep(&node);
    let there = place(HOSTS[1], "witness");
    let witness = find::<WideInterface>(&node, &there).await;
    let mut pipeline = witness.pipeline(64)?;
    let (mut answers, mut receipts, mut result) = (Vec::new(), Vec::new(), Seen::default());
    for number in 0_u32.. {
        let is_wide = draws.between(0, 4) == 0;
        let value = u64::from(number) | if is_wide { TOO_WIDE } else { 0 };
        let call =
            if draws.between(0, 5) == 0 { witness.ponder(value) } else { witness.see(value) };
        let is_sent = match draws.between(if tells { 0 } else { 2 }, 5) {
            0 | 1 => {
                let is_sent = call.tell().await.is_ok();
                let told = if is_wide { &mut result.wide_tells } else { &mut result.tells };
                told.extend(is_sent.then_some(number));
                is_sent
            }
            2 => call.receipt().await.map(|receipt| receipts.push(receipt)).is_ok(),
            3 => pipeline.push(call, ()).await.is_ok(),
            _ => call.ask().sent().await.map(|answer| answers.push(answer)).is_ok(),
        };
        if !is_sent {
            break;
        }
        if draws.between(0, 2) == 0 {
            sleep(draws.pause(1, 20)).await;
        }
    }
    let mut count = |kind: Option<CallErrorKind>| {
        result.asks[index(kind.map_or(DeliveryStatus::Delivered, DeliveryStatus::of))] += 1;
    };
    for answer in answers {
        count(in_time(PATIENCE, answer).await.err().map(|error| error.kind));
    }
    while let Some(((), outcome)) = in_time(PATIENCE, pipeline.answer()).await {
        count(outcome.err().map(|error| error.kind));
    }
    for receipt in receipts {
        result.asks[index(in_time(PATIENCE, receipt).await)] += 1;
    }
    in_time(PATIENCE, diary.wait(is_ended)).await;
    let deliveries = diary.entries().into_iter().find_map(|(_, what)| match what {
        SessionChange::Ended { deliveries, .. } => Some(deliveries.to_vec()),
        _ => None,
    });
    result.deliveries = deliveries.unwrap();
    *seen.lock().unwrap() = result;
    Ok(())
}

fn history(seed: u64) {
    let mut draws = Draws(seed);
    let (truth, diary) = (Truth::default(), Diary::default());
    let (lives, seen) = (Arc::default(), Arc::<Mutex<Seen>>::default());
    let mut simulation = network(seed, Duration::from_millis(20));
    let listener = (truth.clone(), lives);
    simulation.host(HOSTS[1], move || listen(listener.0.clone(), Arc::clone(&listener.1)));
    let tells = !seed.is_multiple_of(4);
    simulation.client(HOSTS[0], dial(Draws(!seed), tells, diary.clone(), seen.clone()));
    let mut at = draws.pause(500, 1000);
    // Cuts, each shorter than the session is kept, and then the death of the listener.
    for _ in 0..draws.between(0, 2) {
        step_until(&mut simulation, at);
        simulation.partition(HOSTS[0], HOSTS[1]);
        at += draws.pause(1, 5000);
        step_until(&mut simulation, at);
        simulation.repair(HOSTS[0], HOSTS[1]);
        at += draws.pause(1, 3000);
    }
    step_until(&mut simulation, at);
    if draws.between(0, 1) == 0 {
        simulation.partition(HOSTS[0], HOSTS[1]);
    }
    simulation.crash(HOSTS[1]);
    at += draws.pause(1, 3000);
    step_until(&mut simulation, at);
    simulation.bounce(HOSTS[1]);
    simulation.repair(HOSTS[0], HOSTS[1]);
    simulation.run().expect("the dialer ends well");
    let handled = truth.0.lock().unwrap().clone();
    check(&seen.lock().unwrap(), &handled, tells, &format!("seed {seed}"));
}

fn step_until(simulation: &mut turmoil::Sim<'_>, at: Duration) {
    while simulation.elapsed() < at {
        simulation.step().expect("the dialer goes on");
    }
}

fn check(seen: &Seen, handled: &BTreeSet<u32>, tells: bool, case: &str) {
    let [one] = &seen.deliveries[..] else { panic!("{seen:?}; {case}") };
    let event: Sums = [one.delivered, one.rejected, one.unknown, one.not_delivered];
    let case = format!("{event:?}, asks {:?}; {case}", seen.asks);
    if !tells {
        assert_eq!(event, seen.asks, "{case}");
        return;
    }
    // The rest is what the event says of the tells.
    let rest: Vec<u64> = event
        .into_iter()
        .zip(seen.asks)
        .map(|(all, asks)| all.checked_sub(asks).unwrap_or_else(|| panic!("{case}")))
        .collect();
    let sent = (seen.tells.len() + seen.wide_tells.len()) as u64;
    assert_eq!(rest.iter().sum::<u64>(), sent, "{case}");
    let told = seen.tells.iter().filter(|number| handled.contains(number)).count() as u64;
    assert!((rest[0]..=rest[0] + rest[2]).contains(&told), "{told} handled; {case}");
    assert!(rest[1] <= seen.wide_tells.len() as u64, "{case}");
    // The tells delivered or rejected are a prefix of all, in which each kind is known.
    let mut all: Vec<(u32, bool)> = seen.tells.iter().map(|number| (*number, false)).collect();
    all.extend(seen.wide_tells.iter().map(|number| (*number, true)));
    all.sort_unstable();
    let wide = all.iter().take((rest[0] + rest[1]) as usize).filter(|(_, wide)| *wide).count();
    assert_eq!(wide as u64, rest[1], "{case}");
}

#[test]
fn the_sums_of_an_event_are_what_the_callers_saw() {
    seeds(200, history);
}
