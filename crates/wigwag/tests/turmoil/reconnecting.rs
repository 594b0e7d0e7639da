//! A listener whose process dies again and again, and a caller that keeps one reference.

use std::collections::BTreeSet;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::sleep;
use wigwag::{Actor, CallErrorKind, NodeOptions, session::SessionChange};
use wigwag_testkit::ledger::in_time;

use crate::PATIENCE;
use crate::stage::{Diary, Draws, HOSTS, Outcome, network, node, now, place, seeds};

/// A reference leads to its actor again within this time after the restarted peer listens: the
/// longest pause between two dials is a second, and the network takes less than another one.
const BACK_WITHIN: Duration = Duration::from_secs(3);

/// The lives of the actor so far.
#[derive(Clone, Default)]
struct Lives(Arc<Mutex<Vec<Lifetime>>>);

/// One life of the actor.
struct Lifetime {
    /// When its process began to listen.
    began: Duration,
    /// The numbers that it has handled.
    handled: BTreeSet<u64>,
}

/// An actor that records the numbers it handles and answers with its life.
struct Witness {
    lives: Lives,
    life: usize,
}

#[wigwag::actor]
impl Witness {
    pub fn see(&mut self, number: u64) -> u64 {
        assert!(self.lives.0.lock().unwrap()[self.life].handled.insert(number), "{number} twice");
        self.life as u64
    }
}

async fn listen(lives: Lives) -> Outcome {
    let node = node(HOSTS[1], NodeOptions::default()).await?;
    let life = {
        let mut lives = lives.0.lock().unwrap();
        lives.push(Lifetime { began: now(), handled: BTreeSet::new() });
        lives.len() - 1
    };
    node.export("witness", &Witness { lives, life }.spawn())?;
    pending().await
}

/// A call, by its number, and its outcome: the life that has answered it.
type Told = Vec<(u64, Result<u64, CallErrorKind>)>;

/// Asks without a pause until the reference has come back `returns` times.
async fn call(diary: Diary, told: Arc<Mutex<Told>>, returns: usize) -> Outcome {
    let node = node(HOSTS[0], NodeOptions::default()).await?;
    diary.keep(&node);
    let there = place(HOSTS[1], "witness");
    let witness = loop {
        match node.actor::<Witness>(&there).reconnecting().await {
            Ok(found) => break found,
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    };
    let (mut number, mut answers) = (0, Vec::new());
    while diary.entries().iter().filter(|(_, what)| is_back(what)).count() < returns {
        let asked = witness.see(number).timeout(PATIENCE).ask().sent().await;
        answers.push((number, asked.map_err(|refused| refused.error).unwrap()));
        number += 1;
        sleep(Duration::from_millis(5)).await;
    }
    // Asks from now on are answered: there are no more crashes.
    let last = witness.see(number).timeout(PATIENCE).ask().await.unwrap();
    let mut outcomes = vec![(number, Ok(last))];
    for (number, answer) in answers {
        outcomes.push((number, in_time(PATIENCE, answer).await.map_err(|error| error.kind)));
    }
    *told.lock().unwrap() = outcomes;
    Ok(())
}

fn is_back(what: &SessionChange) -> bool {
    matches!(what, SessionChange::Reattached { restarted: true, .. })
}

#[test]
fn a_reference_survives_every_crash_of_its_peer_and_each_call_has_its_true_outcome() {
    let (mut answered, mut unknown, mut undelivered) = (0, 0, 0);
    seeds(20, |seed| {
        let (lives, diary, told) = (Lives::default(), Diary::default(), Arc::default());
        let mut draws = Draws(seed);
        let crashes = draws.between(1, 4) as usize;
        let mut simulation = network(seed, Duration::from_millis(50));
        let listener = lives.clone();
        simulation.host(HOSTS[1], move || listen(listener.clone()));
        simulation.client(HOSTS[0], call(diary.clone(), Arc::clone(&told), crashes));
        for crash in 1..=crashes {
            // The caller has called this life.
            while lives.0.lock().unwrap().last().is_none_or(|life| life.handled.len() < 10) {
                simulation.step().expect("the caller goes on");
            }
            let down = simulation.elapsed() + draws.pause(0, 2_000);
            simulation.crash(HOSTS[1]);
            while simulation.elapsed() < down {
                simulation.step().expect("the caller goes on");
            }
            simulation.bounce(HOSTS[1]);
            while diary.entries().iter().filter(|(_, what)| is_back(what)).count() < crash {
                simulation.step().expect("the caller goes on");
            }
        }
        simulation.run().expect("the caller ends well");
        let lives = lives.0.lock().unwrap();
        assert_eq!(lives.len(), crashes + 1);
        let returns = diary.entries().into_iter().filter(|(_, what)| is_back(what));
        for ((back, _), Lifetime { began, .. }) in returns.zip(&lives[1..]) {
            assert!(back - *began <= BACK_WITHIN, "back at {back:?}, up at {began:?}");
        }
        for (number, outcome) in told.lock().unwrap().iter() {
            let handled_by: Vec<usize> =
                (0..lives.len()).filter(|life| lives[*life].handled.contains(number)).collect();
            match outcome {
                Ok(life) => assert_eq!(handled_by, [*life as usize], "{number}"),
                Err(CallErrorKind::NotDelivered) => assert!(handled_by.is_empty(), "{number}"),
                // A process that goes down may say that its actor has stopped.
                Err(CallErrorKind::Unknown | CallErrorKind::ActorStopped) => {
                    assert!(handled_by.len() <= 1, "{number}");
                }
                Err(other) => panic!("{number}: {other:?}"),
            }
            answered += usize::from(outcome.is_ok());
            unknown += usize::from(*outcome == Err(CallErrorKind::Unknown));
            undelivered += usize::from(*outcome == Err(CallErrorKind::NotDelivered));
        }
    });
    eprintln!("{answered} answered, {unknown} unknown, {undelivered} not delivered");
    assert!(answered > 0);
}
