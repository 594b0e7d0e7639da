//! A receiver that is killed and started again, several times, and a sender that keeps one
//! reference.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::timeout;
use wigwag::session::{SessionChange, SessionEvents};
use wigwag::{DeliveryStatus, Node};

use super::PATIENCE;
use super::journal::{Journal, JournalRef, Pages};
use super::receiver::start;

/// Calls whose outcome is known, by number.
#[derive(Default)]
struct Told {
    outcomes: Vec<(u64, DeliveryStatus)>,
    calls: u64,
}

/// Sends tells, asks and calls with a receipt until it is told to stop. No call is refused.
async fn send(journal: JournalRef, stop: Arc<AtomicBool>) -> Told {
    let (mut answers, mut receipts, mut told) = (Vec::new(), Vec::new(), Told::default());
    while !stop.load(Ordering::SeqCst) {
        let number = told.calls;
        match number % 5 {
            0 => {
                let asked = journal.count(number).timeout(PATIENCE).ask().sent().await;
                answers.push((number, asked.unwrap_or_else(|refused| panic!("{refused}"))));
            }
            1 => receipts.push((number, journal.note(number).receipt().await.unwrap())),
            _ => journal.note(number).tell().await.unwrap(),
        }
        told.calls += 1;
        // Asks under way at once stay below the limit of a session.
        if answers.len() + receipts.len() > 10_000 {
            take(&mut answers, &mut receipts, &mut told).await;
        }
    }
    take(&mut answers, &mut receipts, &mut told).await;
    told
}

type Answer<'a> = wigwag::call::Answer<'a, Journal, u64>;
type Receipt<'a> = wigwag::Receipt<'a, Journal, ()>;

async fn take(
    answers: &mut Vec<(u64, Answer<'_>)>,
    receipts: &mut Vec<(u64, Receipt<'_>)>,
    told: &mut Told,
) {
    for (number, answer) in answers.drain(..) {
        let status = match answer.await {
            Ok(reply) => {
                assert_eq!(reply, number + 1, "it is the answer to another ask");
                DeliveryStatus::Delivered
            }
            Err(error) => DeliveryStatus::of(error.kind),
        };
        told.outcomes.push((number, status));
    }
    for (number, receipt) in receipts.drain(..) {
        told.outcomes.push((number, receipt.await));
    }
}

/// Waits for the end of the session, and for the return of the reference.
async fn returned(events: &mut SessionEvents) {
    let mut has_ended = false;
    loop {
        match events.next().await.unwrap().what {
            SessionChange::Ended { .. } => has_ended = true,
            SessionChange::Reattached { target, restarted, .. } => {
                assert!(target.ends_with("/journal") && restarted && has_ended);
                return;
            }
            _ => {}
        }
    }
}

/// Kills the receiver after each of these times of sending, in microseconds, restarts it at its
/// address, and compares the outcomes with what each receiver has written down.
pub(crate) async fn kill_and_restart(after: &[u64]) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut lives = vec![Pages::new("life 0")];
    let mut receiver = start(port, &lives[0]).await;
    let node = Node::new();
    let address = format!("tcp://127.0.0.1:{port}/journal");
    let journal = node.actor::<Journal>(&address).reconnecting().await.unwrap();
    let (mut events, stop) = (node.session_events(), Arc::new(AtomicBool::new(false)));
    let sending = wigwag::spawn(send(journal.clone(), stop.clone()));
    for (life, after) in (1..).zip(after) {
        tokio::time::sleep(Duration::from_micros(*after)).await;
        receiver.kill();
        lives.push(Pages::new(&format!("life {life}")));
        receiver = start(port, &lives[life]).await;
        timeout(PATIENCE, returned(&mut events)).await.expect("the reference comes back");
    }
    stop.store(true, Ordering::SeqCst);
    let told = timeout(PATIENCE, sending).await.expect("every call has an outcome").unwrap();
    // The last receiver lives, and handles this last.
    assert_eq!(journal.count(told.calls).ask().await.unwrap(), told.calls + 1);

    let lives: Vec<Vec<u64>> = lives.iter().map(Pages::numbers).collect();
    assert!(lives.concat().is_sorted_by(|one, next| one < next), "doubled or out of order");
    assert_eq!(lives.concat().last(), Some(&told.calls));
    for (number, status) in &told.outcomes {
        let was_handled = lives.iter().any(|life| life.binary_search(number).is_ok());
        match status {
            DeliveryStatus::Delivered => assert!(was_handled, "{number} was not handled"),
            DeliveryStatus::NotDelivered => assert!(!was_handled, "{number} was handled"),
            DeliveryStatus::Unknown => {}
            DeliveryStatus::Rejected(reason) => panic!("{number}: {reason}"),
        }
    }
    let handled: Vec<usize> = lives.iter().map(Vec::len).collect();
    eprintln!("{} calls, handled by life: {handled:?}", told.calls);
}
