//! Tells that wait until they do not depend on their process any more.

use std::sync::mpsc;
use std::time::Duration;

use wigwag::session::SessionChange;
use wigwag::{Actor, ActorOptions, AskError, CallErrorKind, Node, NodeOptions};
use wigwag_link::frame::{Frame, kind};
use wigwag_testkit::child;
use wigwag_testkit::ledger::{Ledger, LedgerRef, in_time};
use wigwag_testkit::raw::{self, Raw};
use wigwag_testkit::relay::{Fault, Relay};

use super::ends::next;
use super::{NOWHERE, PATIENCE};

/// A limit that passes.
const SOON: Duration = Duration::from_millis(100);

/// The time for which a session is kept that is to be given up.
const KEPT: Duration = Duration::from_millis(300);

const CALLS: u64 = 20;

/// Run by [`a_process_may_exit_as_soon_as_its_tell_is_sent`] in a second process.
#[test]
fn exits_after_a_tell_is_sent() {
    let Some(address) = child::role() else { return };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let node = Node::new();
        let ledger = node.actor::<Ledger>(&address).await.unwrap();
        let telling = wigwag::spawn(async move {
            for number in 0..CALLS - 1 {
                ledger.note(0, number, String::new()).tell().await.unwrap();
            }
            ledger.note(0, CALLS - 1, String::new()).tell().sent().await.unwrap();
            std::process::exit(0);
        });
        telling.await.unwrap();
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_may_exit_as_soon_as_its_tell_is_sent() {
    let node = Node::new();
    let ledger = Ledger::default().spawn();
    node.export("ledger", &ledger).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let exits = move || {
        child::run("sessions::sent::exits_after_a_tell_is_sent", &format!("{bound}/ledger"))
    };
    let status = tokio::task::spawn_blocking(exits);
    assert!(in_time(PATIENCE, status).await.unwrap().success());
    // The tells before it are with the actor too, each in its place.
    assert_eq!(in_time(PATIENCE, ledger.noted(0).ask()).await.unwrap(), (CALLS, 0));
}

/// A node with a reference to an actor of a peer that the test plays.
async fn with_peer() -> (Node, LedgerRef, Raw) {
    let (listener, address) = raw::listen().await;
    let peer = async {
        let mut peer = raw::arrival(&listener).await;
        peer.accept(raw::identity()).await;
        peer.attached(100).await;
        peer
    };
    let node = Node::with(NodeOptions::default().keep_sessions(Duration::ZERO));
    let address = format!("{address}/ledger");
    let fetched = async { tokio::join!(node.actor::<Ledger>(&address), peer) };
    let (ledger, peer) = in_time(PATIENCE, fetched).await;
    (node, ledger.unwrap(), peer)
}

#[tokio::test]
async fn a_tell_is_sent_when_the_peer_has_acknowledged_it() {
    let (_node, ledger, mut peer) = with_peer().await;
    let sent = wigwag::spawn({
        let ledger = ledger.clone();
        async move { ledger.note(0, 0, String::new()).tell().sent().await }
    });
    peer.until(kind::TELL).await;
    let late = ledger.note(0, 1, String::new()).timeout(SOON).tell().sent().await.unwrap_err();
    let AskError::Failed(error) = &late else { panic!("it was sent: {late}") };
    assert_eq!(error.kind, CallErrorKind::Timeout(SOON));
    assert!(error.to_string().contains("not acknowledged yet"), "{error}");
    assert!(!sent.is_finished(), "the peer has acknowledged nothing");
    peer.until(kind::TELL).await;
    peer.tell(&[Frame::Ping { id: 1, next_ms: 60_000 }]).await;
    in_time(PATIENCE, sent).await.unwrap().unwrap();
}

#[tokio::test]
async fn calls_that_a_peer_may_have_read_before_the_end_are_unknown() {
    let (_node, ledger, mut peer) = with_peer().await;
    let sent = wigwag::spawn({
        let ledger = ledger.clone();
        async move { ledger.note(0, 0, String::new()).tell().sent().await }
    });
    peer.until(kind::TELL).await;
    drop(peer);
    let lost = in_time(PATIENCE, sent).await.unwrap().unwrap_err();
    let AskError::Failed(error) = &lost else { panic!("it was sent: {lost}") };
    assert_eq!(error.kind, CallErrorKind::Unknown, "{error}");
    // The next one is not sent at all.
    let refused = ledger.note(0, 7, String::new()).tell().sent().await.unwrap_err();
    assert_eq!(refused.error().kind, CallErrorKind::NotDelivered);
    assert!(refused.into_message().is_some());
}

#[tokio::test]
async fn unsent_calls_are_not_delivered_and_a_cut_alone_changes_nothing() {
    for comes_back in [true, false] {
        let kept = NodeOptions::default().keep_sessions(if comes_back { PATIENCE } else { KEPT });
        let (service, client) = (Node::with(kept.clone()), Node::with(kept));
        let inside = Ledger::default().spawn();
        service.export("ledger", &inside).unwrap();
        let relay =
            Relay::to(&service.listen("tcp://127.0.0.1:0").await.unwrap().to_string()).await;
        let target = relay.target();
        let mut events = client.session_events();
        let there = format!("{}/ledger", relay.address);
        let ledger = client.actor::<Ledger>(&there).await.unwrap();
        relay.lead_to(NOWHERE);
        relay.strike(Fault::Reset);
        next(&mut events, |change| matches!(change, SessionChange::Cut { .. })).await;
        let sending = async { ledger.note(0, 0, String::new()).tell().sent().await };
        let back = async {
            if comes_back {
                relay.lead_to(&target);
            }
        };
        let (sent, ()) = in_time(PATIENCE, async { tokio::join!(sending, back) }).await;
        if comes_back {
            sent.unwrap();
            assert_eq!(inside.noted(0).ask().await.unwrap(), (1, 0));
        } else {
            let AskError::Failed(error) = sent.unwrap_err() else { panic!("it was published") };
            assert_eq!(error.kind, CallErrorKind::NotDelivered, "{error}");
        }
    }
}

/// It waits for the incarnation that it was sent to, and goes to the next one if it was sent to none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tell_over_a_reference_that_comes_back_is_acknowledged_by_its_own_incarnation() {
    let service = async || {
        let (service, inside) = (Node::new(), Ledger::default().spawn());
        service.export("ledger", &inside).unwrap();
        let bound = service.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
        (service, inside, bound)
    };
    let (first, inside, address) = service().await;
    let (relay, client) = (Relay::to(&address).await, Node::new());
    let mut events = client.session_events();
    let there = format!("{}/ledger", relay.address);
    let ledger = client.actor::<Ledger>(&there).reconnecting().await.unwrap();
    in_time(PATIENCE, ledger.note(0, 0, String::new()).tell().sent()).await.unwrap();
    assert_eq!(inside.noted(0).ask().await.unwrap(), (1, 0));
    relay.lead_to(NOWHERE);
    relay.strike(Fault::Reset);
    next(&mut events, |change| matches!(change, SessionChange::Cut { .. })).await;
    let (told, mut lost) = (
        ledger.clone(),
        std::pin::pin!(async { ledger.note(0, 1, String::new()).tell().sent().await }),
    );
    assert!(tokio::time::timeout(SOON, &mut lost).await.is_err(), "nothing acknowledges it");
    first.close(Duration::ZERO).await;
    let (_second, inside, address) = service().await;
    relay.lead_to(&address);
    let lost = in_time(PATIENCE, lost).await.unwrap_err();
    assert_eq!(lost.error().kind, CallErrorKind::NotDelivered, "{lost}");
    in_time(PATIENCE, told.note(0, 2, String::new()).tell().sent()).await.unwrap();
    assert_eq!(inside.noted(0).ask().await.unwrap(), (3, 1), "the third one alone");
}

struct Reporter {
    handled: mpsc::Sender<u64>,
}

#[wigwag::actor]
impl Reporter {
    pub fn note(&mut self, number: u64) {
        let _ = self.handled.send(number);
    }
}

/// Within a process it is in the mailbox, although the turn goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tell_to_an_actor_of_the_process_is_sent_when_it_is_in_the_mailbox() {
    let (handled, numbers) = mpsc::channel();
    let reporter = Reporter { handled }.spawn_with(ActorOptions::default().own_thread());
    let turn = wigwag::spawn(async move {
        for number in 0..3 {
            reporter.note(number).tell().await.unwrap();
        }
        reporter.note(3).tell().sent().await.unwrap();
        let seen: Vec<u64> = (0..4).map(|_| numbers.recv_timeout(PATIENCE / 6).unwrap()).collect();
        assert_eq!(seen, [0, 1, 2, 3]);
        reporter.note(4).urgent().tell().sent().await.unwrap();
        assert_eq!(numbers.recv_timeout(PATIENCE / 6), Ok(4));
    });
    in_time(PATIENCE, turn).await.unwrap();
}
