//! The error of a call that has waited in vain for a peer that is gone.

use std::time::Duration;

use wigwag::{Actor, CallError, CallErrorKind, Fault, NextAttempt, session::SessionChange};
use wigwag_testkit::ledger::{Ledger, LedgerRef};
use wigwag_testkit::relay::Fault as Cut;

use super::NOWHERE;
use super::cuts::Stage;
use super::ends::next;

/// Long enough for the first attempts to reconnect.
const LIMIT: Duration = Duration::from_millis(300);

/// Asks a ledger in its handler.
struct Asker {
    ledger: LedgerRef,
}

#[wigwag::actor(local)]
impl Asker {
    pub async fn ask(&self) -> CallError {
        self.ledger.never().ask().await.unwrap_err().into_error()
    }
}

/// Cuts the connection for good and waits until both sides know.
async fn cut(stage: &Stage) {
    let mut events = [stage.dialer.session_events(), stage.listener.session_events()];
    stage.relay.lead_to(NOWHERE);
    stage.relay.strike(Cut::Reset);
    for events in &mut events {
        next(events, |change| matches!(change, SessionChange::Cut { .. })).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_time_is_over_while_its_session_is_cut_names_the_disconnection() {
    let stage = Stage::new().await;
    let there = format!("{}/ledger", stage.relay.address);
    let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    let asker = Asker { ledger: ledger.clone() }.spawn();
    let unharmed = ledger.never().timeout(LIMIT).ask().await.unwrap_err().into_error();
    assert_eq!((unharmed.disconnection.as_ref(), unharmed.fault()), (None, Fault::Peer));
    cut(&stage).await;
    // Waits for an answer, in a handler and outside of one.
    let (asked, handler) = tokio::join!(
        async { ledger.never().timeout(LIMIT).ask().await.unwrap_err().into_error() },
        async { asker.ask().ask().await.unwrap() },
    );
    // Waits for room.
    let mut pipeline = ledger.pipeline(1_000_000).unwrap();
    while pipeline.try_push(ledger.count(0, 0), ()).is_ok() {}
    let pushed = pipeline.push(ledger.count(0, 0).timeout(LIMIT), ()).await.unwrap_err();
    let told = ledger.note(0, 0, String::new()).timeout(LIMIT).tell().await.unwrap_err();
    let sent = ledger.count(0, 0).timeout(LIMIT).ask().sent().await.map(drop).unwrap_err();
    let blocked = tokio::task::spawn_blocking({
        let ledger = ledger.clone();
        move || ledger.count(0, 0).timeout(LIMIT).blocking_ask().unwrap_err().into_error()
    });
    let timeout = CallErrorKind::Timeout(LIMIT);
    for (error, kind) in [
        (asked, timeout),
        (handler, CallErrorKind::Overloaded),
        (pushed.into_error(), timeout),
        (told.into_error(), timeout),
        (sent.into_error(), timeout),
        (blocked.await.unwrap(), timeout),
    ] {
        assert_eq!(error.kind, kind);
        let gone = error.disconnection.as_deref().expect("the session is cut");
        assert!(gone.since >= LIMIT && !gone.why.is_empty(), "{error}");
        assert!(matches!(gone.next_attempt, NextAttempt::In(_) | NextAttempt::UnderWay), "{error}");
        let text = format!("{error:#}");
        assert!(text.contains(": no connection for ") && text.contains("start the peer"), "{text}");
        assert_eq!(error.fault(), Fault::Network);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_side_that_was_dialed_says_that_the_peer_has_to_dial_again() {
    let stage = Stage::new().await;
    let there = format!("{}/ledger", stage.relay.address);
    let _dialed = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    stage.dialer.export("ledger", &Ledger::default().spawn()).unwrap();
    let bound = stage.dialer.listen("tcp://127.0.0.1:0").await.unwrap();
    let back = stage.listener.actor::<Ledger>(&format!("{bound}/ledger")).await.unwrap();
    assert_eq!(stage.listener.statistics().len(), 1, "they share the session");
    cut(&stage).await;
    let error = back.never().timeout(LIMIT).ask().await.unwrap_err().into_error();
    let gone = error.disconnection.as_deref().expect("the session is cut");
    assert_eq!(gone.next_attempt, NextAttempt::ByPeer);
}
