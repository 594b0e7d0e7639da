//! A sender that is killed, and a receiver that gives up its session.

use std::time::Duration;

use tokio::time::timeout;
use wigwag::{Actor, Node, NodeOptions, session::SessionChange};
use wigwag_testkit::child::{self, Child};

use super::journal::{Journal, Pages};

/// How long the receiver keeps a session here.
const KEPT: Duration = Duration::from_millis(300);

/// The process that will be killed; it sends to `address` for ever.
pub(crate) async fn send(address: &str) {
    let node = Node::new();
    let journal = node.actor::<Journal>(address).await.unwrap();
    let sending = wigwag::spawn(async move {
        for number in 0.. {
            journal.note(number).tell().await.unwrap();
        }
    });
    child::say("sending");
    let parent = tokio::task::spawn_blocking(child::wait_for_parent);
    tokio::select! {
        ended = parent => ended.unwrap(),
        failed = sending => failed.unwrap(),
    }
}

/// Kills a sender after `after`: its session ends when the receiver's TTL is over, and the journal
/// holds a prefix of the numbers it sent, each once and in order.
pub(crate) async fn kill_one(after: Duration) {
    let pages = Pages::new("received");
    let node = Node::with(NodeOptions::default().keep_sessions(KEPT));
    node.export("journal", &Journal::at(&pages.0).spawn()).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut events = node.session_events();
    let address = format!("{bound}/journal");
    let started = move || Child::start("kills::child_sender", &address);
    let mut sender = tokio::task::spawn_blocking(started).await.unwrap();
    tokio::time::sleep(after).await;
    sender.kill();
    let ended = async {
        while !matches!(events.next().await.unwrap().what, SessionChange::Ended { .. }) {}
    };
    timeout(5 * (KEPT + Duration::from_secs(1)), ended).await.expect("it is given up");
    assert!(node.statistics().is_empty());
    pages.count();
}
