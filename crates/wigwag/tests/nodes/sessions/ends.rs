//! The outcome of calls when a session was given up.

use std::time::{Duration, Instant};

use wigwag::{
    Actor, CallErrorKind, DeliveryStatus, NodeOptions,
    session::{Delivery, SessionChange, SessionEvents},
};
use wigwag_testkit::ledger::{Ledger, in_time};
use wigwag_testkit::relay::Fault;

use super::cuts::Stage;
use super::{NOWHERE, PATIENCE};

/// How long the listener keeps a session here.
const KEPT: Duration = Duration::from_millis(300);

/// The dialer waits this much longer than the listener.
const LONGER: Duration = Duration::from_secs(5);

/// The time that a node gets to close.
const DEADLINE: Duration = Duration::from_secs(1);

/// Returns the next event that matches.
pub(crate) async fn next(
    events: &mut SessionEvents,
    wanted: impl Fn(&SessionChange) -> bool,
) -> SessionChange {
    in_time(PATIENCE, async {
        loop {
            let event = events.next().await.expect("the node is there");
            if wanted(&event.what) {
                return event.what;
            }
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_peer_does_not_come_back_ends_on_both_sides_and_says_what_became_of_calls()
{
    let stage = Stage::with(NodeOptions::default().keep_sessions(KEPT)).await;
    let there = format!("{}/ledger", stage.relay.address);
    let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    let (mut ours, mut theirs) = (stage.dialer.session_events(), stage.listener.session_events());
    for number in 0..100 {
        ledger.note(0, number, String::new()).tell().await.unwrap();
    }
    let mut asks = ledger.pipeline(64).unwrap();
    for number in 0..2 {
        asks.push(ledger.never(), number).await.unwrap();
    }
    assert_eq!(ledger.noted(0).ask().await.unwrap(), (100, 0));
    // From here on no connection reaches the listener.
    stage.relay.lead_to(NOWHERE);
    // Before the cut: the test may hear of it late, and the time that the session is kept runs by then.
    let since = Instant::now();
    stage.relay.strike(Fault::Reset);
    let cut = |change: &SessionChange| matches!(change, SessionChange::Cut { .. });
    next(&mut theirs, cut).await;
    next(&mut ours, cut).await;
    // These calls wait, and are unsent when the session ends.
    for number in 100..130 {
        ledger.note(0, number, String::new()).tell().await.unwrap();
    }
    let answer = ledger.count(0, 130).timeout(PATIENCE).ask().sent().await.unwrap();
    let receipt = ledger.note(0, 131, String::new()).receipt().await.unwrap();
    for number in 2..5 {
        asks.push(ledger.never(), number).await.unwrap();
    }
    let ended = |change: &SessionChange| matches!(change, SessionChange::Ended { .. });
    next(&mut theirs, ended).await;
    let kept = since.elapsed();
    assert!(kept >= KEPT && kept < 5 * KEPT, "{kept:?}");
    let end = next(&mut ours, ended).await;
    let waited = since.elapsed();
    assert!(waited >= KEPT + LONGER && waited < 5 * (KEPT + LONGER), "{waited:?}");
    let SessionChange::Ended { why, deliveries, .. } = end else { unreachable!() };
    assert!(why.contains("was not found again within 5.3s"), "{why}");
    assert!(why.contains("NodeOptions::keep_sessions"), "{why}");
    let [Delivery { target, delivered, unknown, not_delivered, .. }] = &deliveries[..] else {
        panic!("{deliveries:?}")
    };
    assert_eq!((&**target, *not_delivered), (&*there, 35));
    assert_eq!(delivered + unknown, 103, "a hundred tells and three asks");
    assert_eq!(answer.await.unwrap_err().kind, CallErrorKind::NotDelivered);
    assert_eq!(receipt.await, DeliveryStatus::NotDelivered);
    for due in 0..5 {
        let (number, outcome) = asks.answer().await.unwrap();
        let expected = [CallErrorKind::Unknown, CallErrorKind::NotDelivered][usize::from(due > 1)];
        assert_eq!((number, outcome.unwrap_err().kind), (due, expected));
    }
    let late = ledger.note(0, 132, String::new()).tell().await.unwrap_err();
    assert_eq!(late.error.kind, CallErrorKind::NotDelivered);
    assert!(stage.listener.statistics().is_empty() && stage.dialer.statistics().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ask_that_was_sent_and_is_not_answered_when_its_session_ends_is_unknown() {
    let stage = Stage::with(NodeOptions::default().keep_sessions(Duration::ZERO)).await;
    let there = format!("{}/ledger", stage.relay.address);
    let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    let mut events = stage.dialer.session_events();
    let never = ledger.never().timeout(PATIENCE).ask().sent().await.unwrap();
    let unheard = ledger.never().receipt().await.unwrap();
    // The listener has handled them, or the ask after them would have no answer.
    assert_eq!(ledger.noted(0).ask().await.unwrap(), (0, 0));
    stage.relay.strike(Fault::End);
    assert_eq!(never.await.unwrap_err().kind, CallErrorKind::Unknown);
    assert_eq!(unheard.await, DeliveryStatus::Unknown);
    let change = next(&mut events, |_| true).await;
    assert!(matches!(change, SessionChange::Ended { .. }), "no cut, but the end: {change:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_closes_while_its_peer_is_gone_says_what_is_left() {
    let stage = Stage::new().await;
    let there = format!("{}/ledger", stage.relay.address);
    let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    let mut events = stage.dialer.session_events();
    stage.relay.lead_to(NOWHERE);
    stage.relay.strike(Fault::Reset);
    next(&mut events, |change| matches!(change, SessionChange::Cut { .. })).await;
    for number in 0..7 {
        ledger.note(0, number, String::new()).tell().await.unwrap();
    }
    let begun = Instant::now();
    let report = stage.dialer.close(DEADLINE).await;
    assert!(begun.elapsed() >= DEADLINE && begun.elapsed() < 5 * DEADLINE, "{:?}", begun.elapsed());
    assert_eq!((report.not_delivered, report.unknown), (7, 0), "{report:?}");
}

/// A node that has accepted the session of a peer forgets that, or its own dial would wait for ever for
/// a session that is about to start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_node_may_dial_the_other_one_once_their_session_has_ended() {
    let stage = Stage::with(NodeOptions::default().keep_sessions(Duration::ZERO)).await;
    stage.dialer.export("ledger", &Ledger::default().spawn()).unwrap();
    let back = stage.dialer.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = format!("{}/ledger", stage.relay.address);
    let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    assert_eq!(ledger.count(0, 0).ask().await.unwrap(), 1);
    let (mut ours, mut theirs) = (stage.dialer.session_events(), stage.listener.session_events());
    stage.relay.strike(Fault::Reset);
    for events in [&mut ours, &mut theirs] {
        next(events, |change| matches!(change, SessionChange::Ended { .. })).await;
    }
    let back = format!("{back}/ledger");
    let ledger = in_time(PATIENCE, stage.listener.actor::<Ledger>(&back)).await.unwrap();
    assert_eq!(ledger.count(0, 0).ask().await.unwrap(), 1);
}

/// An ask without a time limit of its own would wait for 30 s.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asks_end_when_their_session_is_given_up_with_the_time_and_its_option_in_the_error() {
    let stage = Stage::with(NodeOptions::default().keep_sessions(KEPT)).await;
    let there = format!("{}/ledger", stage.relay.address);
    let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    let mut events = stage.dialer.session_events();
    let open = ledger.never().ask().sent().await.unwrap();
    assert_eq!(ledger.noted(0).ask().await.unwrap(), (0, 0));
    stage.relay.lead_to(NOWHERE);
    stage.relay.strike(Fault::Reset);
    let since = Instant::now();
    next(&mut events, |change| matches!(change, SessionChange::Cut { .. })).await;
    let (open, later) = tokio::join!(open, async { ledger.count(0, 0).ask().await });
    let waited = since.elapsed();
    assert!(waited < 3 * (KEPT + LONGER), "{waited:?}");
    let (open, later) = (open.unwrap_err(), later.unwrap_err().into_error());
    assert_eq!(open.kind, CallErrorKind::Unknown);
    assert_eq!(later.kind, CallErrorKind::NotDelivered);
    for error in [open, later] {
        let text = error.to_string();
        assert!(text.contains("within 5.3s (NodeOptions::keep_sessions"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_of_a_session_has_the_name_of_the_peer() {
    let stage = Stage::with(NodeOptions::default().keep_sessions(KEPT)).await;
    let (mut ours, mut theirs) = (stage.dialer.session_events(), stage.listener.session_events());
    let there = format!("{}/ledger", stage.relay.address);
    let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    assert_eq!(stage.dialer.statistics()[0].name.as_deref(), Some("listener"));
    stage.relay.strike(Fault::Reset);
    assert_eq!(ledger.noted(0).ask().await.unwrap(), (0, 0));
    stage.dialer.close(DEADLINE).await;
    for (events, name) in [(&mut ours, "listener"), (&mut theirs, "dialer")] {
        in_time(PATIENCE, async {
            loop {
                let event = events.next().await.expect("the node is there");
                assert_eq!(event.name.as_deref(), Some(name), "{event:?}");
                assert!(!event.peer.is_empty(), "{event:?}");
                if matches!(event.what, SessionChange::Ended { .. }) {
                    break;
                }
            }
        })
        .await;
    }
}

/// A peer that calls itself by the name of another has no name, since the name does not match its
/// id.
#[tokio::test]
async fn a_name_that_belongs_to_another_node_is_not_shown() {
    let (listener, address) = wigwag_testkit::raw::listen().await;
    let node = wigwag::Node::new();
    let mut events = node.session_events();
    let dialing = tokio::spawn({
        let node = node.clone();
        async move { node.actor::<Ledger>(&format!("{address}/ledger")).await.map(drop) }
    });
    let mut peer = wigwag_testkit::raw::arrival(&listener).await;
    peer.accept_as(wigwag_testkit::raw::identity(), "bank").await;
    let event = in_time(PATIENCE, events.next()).await.expect("the session is open");
    assert_eq!(event.name, None);
    dialing.abort();
}
