//! The two processes: each has a ledger, and senders for the other's ledger.

use std::sync::atomic::Ordering;

use wigwag::{Actor, Node, NodeOptions};
use wigwag_testkit::child;
use wigwag_testkit::ledger::{Ledger, LedgerRef, SENT, in_time, send};

use super::PATIENCE;
use super::land::{DIALER, LISTENER};
use super::storm::{Counts, Storm};

/// Senders on each side; a quarter of all messages goes back.
const SENDERS: u64 = 4;

/// Messages of one sender at a time: both sides check the received messages after each part.
const PART: u64 = 10_000;

async fn node(name: &str, address: &str) -> Node {
    let node = Node::with(NodeOptions::default().name(name).insecure(true));
    node.export("ledger", &Ledger::default().spawn()).unwrap();
    node.listen(&format!("tcp://{address}:7001")).await.unwrap();
    node
}

async fn ledger(node: &Node, address: &str) -> LedgerRef {
    node.actor::<Ledger>(&format!("tcp://{address}:7001/ledger")).await.unwrap()
}

/// Sends for ever, part after part, each under a new sender number.
async fn send_back(ledger: LedgerRef, first: u64) {
    for part in 0.. {
        send(ledger.clone(), first + part * SENDERS, PART).await;
    }
}

/// Listens, and sends back to the peer that has connected.
pub(crate) async fn listen() {
    let node = node("listener", LISTENER).await;
    child::say("listening");
    let arrived = async {
        while node.statistics().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    arrived.await;
    let dialers = ledger(&node, DIALER).await;
    let senders = (0..SENDERS).map(|sender| tokio::spawn(send_back(dialers.clone(), sender)));
    let senders: Vec<_> = senders.collect();
    let parent = tokio::task::spawn_blocking(child::wait_for_parent);
    let failed = async {
        for sender in senders {
            sender.await.unwrap();
        }
    };
    tokio::select! {
        ended = parent => ended.unwrap(),
        () = failed => unreachable!("they send for ever"),
    }
}

/// Dials and sends while connections are cut; prints the results.
pub(crate) async fn dial(role: &str) {
    let words: Vec<&str> = role.split(' ').collect();
    let [cable, listener, messages, cuts] = words[..] else { panic!("{role}") };
    let (messages, cuts): (u64, u64) = (messages.parse().unwrap(), cuts.parse().unwrap());
    let node = node("dialer", DIALER).await;
    let there = ledger(&node, LISTENER).await;
    let senders = (0..SENDERS).map(|sender| {
        let there = there.clone();
        tokio::spawn(async move {
            // The senders work in parts, so that both sides are checked again and again.
            for part in 0..messages / SENDERS / PART {
                send(there.clone(), sender + part * SENDERS, PART).await;
            }
        })
    });
    let sending: Vec<_> = senders.collect();
    let storm = Storm::new(&node, cable, listener);
    let storming = tokio::spawn(storm.rage(messages, cuts));
    for sender in sending {
        in_time(10 * PATIENCE, sender).await.unwrap();
    }
    let counts: Counts = in_time(PATIENCE, storming).await.unwrap();
    let link = node.statistics()[0].session;
    let Counts { destroyed, silent, stopped } = counts;
    let sent = SENT.load(Ordering::Relaxed);
    assert_eq!(sent, messages);
    assert!(link.frames_received > messages / 10, "the other side was busy too: {link:?}");
    child::say(&format!(
        "all is well: {sent} messages, {destroyed} connections destroyed, {silent} cables pulled, \
         {stopped} standstills; {} frames came the other way; {} resumes, {} frames went again",
        link.frames_received, link.resumes, link.frames_repeated,
    ));
    tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
}
