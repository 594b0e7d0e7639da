//! A receiver that is killed, and a sender that learns the outcome of its calls.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use tokio::time::timeout;
use wigwag::{
    Actor, CallErrorKind, DeliveryStatus, Node, NodeError, NodeOptions,
    session::{Delivery, SessionChange, SessionEvents},
};
use wigwag_testkit::child::{self, Child};

use super::PATIENCE;
use super::journal::{Journal, JournalRef, Pages};

/// Promised time to the end of the session, from when the new incarnation listens.
const PROMISED: Duration = Duration::from_secs(3);

/// Outcomes reported to the sender, over many kills.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) delivered: u64,
    pub(crate) unknown: u64,
    not_delivered: u64,
    /// Asks that were answered.
    pub(crate) answered: u64,
    /// Receipts that reported delivery.
    pub(crate) receipts: u64,
}

impl Told {
    pub(crate) fn add(&mut self, other: Told) {
        self.delivered += other.delivered;
        self.unknown += other.unknown;
        self.not_delivered += other.not_delivered;
        self.answered += other.answered;
        self.receipts += other.receipts;
    }
}

/// The process that will be killed; its role is a port and a path.
pub(crate) async fn serve(role: &str) {
    let (port, path) = role.split_once(' ').unwrap();
    let node = Node::with(NodeOptions::default().name("receiver"));
    node.export("journal", &Journal::at(Path::new(path)).spawn()).unwrap();
    node.listen(&format!("tcp://127.0.0.1:{port}")).await.unwrap();
    child::say("listening");
    tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
}

pub(super) async fn start(port: u16, pages: &Pages) -> Child {
    let role = format!("{port} {}", pages.0.display());
    tokio::task::spawn_blocking(move || Child::start("kills::child_receiver", &role)).await.unwrap()
}

/// Calls that were sent, and the known outcomes among them, by number.
struct Sent {
    calls: u64,
    asks: Vec<(u64, Result<u64, CallErrorKind>)>,
    fates: Vec<(u64, DeliveryStatus)>,
}

/// Sends until nothing can be sent any more.
async fn send(journal: JournalRef) -> Sent {
    let (mut answers, mut receipts, mut number) = (Vec::new(), Vec::new(), 0);
    loop {
        if number % 5 == 0 && answers.len() < 10_000 {
            match journal.count(number).timeout(PATIENCE).ask().sent().await {
                Ok(answer) => answers.push((number, answer)),
                Err(_) => break,
            }
        } else if number % 5 == 1 && receipts.len() < 10_000 {
            match journal.note(number).receipt().await {
                Ok(receipt) => receipts.push((number, receipt)),
                Err(_) => break,
            }
        } else if journal.note(number).tell().await.is_err() {
            break;
        }
        number += 1;
    }
    let mut asks = Vec::new();
    for (number, answer) in answers {
        asks.push((number, answer.await.map_err(|error| error.kind)));
    }
    let mut fates = Vec::new();
    for (number, receipt) in receipts {
        fates.push((number, receipt.await));
    }
    Sent { calls: number, asks, fates }
}

async fn end(events: &mut SessionEvents) -> Vec<Delivery> {
    loop {
        let event = events.next().await.unwrap();
        if let SessionChange::Ended { deliveries, .. } = event.what {
            return deliveries.to_vec();
        }
    }
}

/// Kills a receiver after `after` of sending, restarts it at its address, and checks the outcomes
/// that the sender gets.
pub(crate) async fn kill_one(after: Duration) -> Told {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (pages, fresh) = (Pages::new("first"), Pages::new("second"));
    let mut first = start(port, &pages).await;
    let node = Node::new();
    let address = format!("tcp://127.0.0.1:{port}/journal");
    let journal = node.actor::<Journal>(&address).await.unwrap();
    let mut events = node.session_events();
    let sending = wigwag::spawn(send(journal));
    tokio::time::sleep(after).await;
    first.kill();
    let second = start(port, &fresh).await;
    let since = Instant::now();
    let deliveries = timeout(5 * PROMISED, end(&mut events)).await.expect("the sender is told");
    let told_after = since.elapsed();
    let sent = timeout(PATIENCE, sending).await.expect("every ask ends").unwrap();

    let written = pages.count();
    let [Delivery { delivered, unknown, not_delivered, .. }] = deliveries[..] else {
        panic!("{deliveries:?}")
    };
    let case = format!(
        "{written} written of {} sent; told after {told_after:?}: {deliveries:?}",
        sent.calls
    );
    assert_eq!(delivered + unknown + not_delivered, sent.calls, "{case}");
    assert!(delivered <= written && written <= delivered + unknown, "{case}");
    let statuses = sent.asks.iter().map(|(_, outcome)| match outcome {
        Ok(_) => DeliveryStatus::Delivered,
        Err(kind) => DeliveryStatus::of(*kind),
    });
    let seen: Vec<_> = statuses.chain(sent.fates.iter().map(|(_, status)| *status)).collect();
    let count = |wanted| seen.iter().filter(|status| **status == wanted).count() as u64;
    assert!(delivered >= count(DeliveryStatus::Delivered), "{case}");
    assert!(unknown >= count(DeliveryStatus::Unknown), "{case}");
    assert!(not_delivered >= count(DeliveryStatus::NotDelivered), "{case}");
    let (mut answered, mut receipts) = (0, 0);
    for (number, outcome) in sent.asks {
        match outcome {
            Ok(reply) => {
                assert_eq!(reply, number + 1, "{case}");
                assert!(number < written, "ask {number} was answered: {case}");
                answered += 1;
            }
            Err(CallErrorKind::NotDelivered) => {
                assert!(number >= written, "ask {number} was handled: {case}");
            }
            Err(CallErrorKind::Unknown) => {}
            Err(other) => panic!("ask {number}: {other:?}: {case}"),
        }
    }
    for (number, fate) in sent.fates {
        let was_written = number < written;
        assert!(
            fate != DeliveryStatus::Delivered || was_written,
            "{number} was not handled: {case}"
        );
        assert!(
            fate != DeliveryStatus::NotDelivered || !was_written,
            "{number} was handled: {case}"
        );
        receipts += u64::from(fate == DeliveryStatus::Delivered);
    }
    assert_eq!(fresh.count(), 0, "nothing is sent again by itself: {case}");
    drop(second);
    Told { delivered, unknown, not_delivered, answered, receipts }
}

/// Kills a receiver and returns the error of a caller that wants a reference to its actor then.
pub(crate) async fn call_after_kill() -> NodeError {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let pages = Pages::new("killed");
    let mut receiver = start(port, &pages).await;
    let node = Node::new();
    let address = format!("tcp://127.0.0.1:{port}/journal");
    let journal = node.actor::<Journal>(&address).await.unwrap();
    let mut events = node.session_events();
    receiver.kill();
    while !matches!(events.next().await.unwrap().what, SessionChange::Cut { .. }) {}
    let refused = node.actor::<Journal>(&address).await.err();
    drop(journal);
    refused.expect("nobody is there")
}
