//! The counters of sessions.

use std::sync::Arc;

use tokio::sync::Semaphore;
use wigwag::{Actor, ActorOptions, CallErrorKind, NodeOptions};
use wigwag_testkit::ledger::Ledger;
use wigwag_testkit::relay::Fault;

use super::*;
use crate::outcomes::{Account, WideAccountInterface};
use crate::sessions::NOWHERE;
use crate::sessions::cuts::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cuts_resumes_and_repeated_frames_are_counted_on_both_sides() {
    let stage = Stage::with(NodeOptions::default().heartbeat(Duration::from_millis(20))).await;
    let address = stage.relay.address.clone();
    let ledger = stage.dialer.actor::<Ledger>(&format!("{address}/ledger")).await.unwrap();
    assert_eq!(ledger.count(1, 0).ask().await.unwrap(), 1);
    let fresh = stage.dialer.metrics();
    let row = session(&fresh);
    assert_eq!((&*row.peer, row.name.as_deref()), (&*address, Some("listener")));
    assert_eq!((row.dialed, row.cut_for_ms, row.channels), (true, None, 0));
    assert_eq!((row.counters.cuts, row.counters.resumes, row.counters.frames_repeated), (0, 0, 0));
    assert!(row.counters.frames_sent >= 2 && row.counters.bytes_received > 0, "{row:?}");
    let served = stage.listener.metrics();
    let row = session(&served);
    assert_eq!((row.dialed, row.channels, row.name.as_deref()), (false, 1, Some("dialer")));
    assert_eq!(served.acceptor.opened, 1);
    until(&stage.dialer, |metrics| session(metrics).rtt_us.is_some_and(|time| time > 0)).await;

    let target = stage.relay.target();
    stage.relay.lead_to(NOWHERE);
    // Tells from now on go nowhere, and are sent again.
    stage.relay.strike(Fault::Silence);
    for number in 1..20 {
        ledger.note(1, number, String::new()).tell().await.unwrap();
    }
    let cut = until(&stage.dialer, |metrics| session(metrics).cut_for_ms.is_some()).await;
    assert_eq!(session(&cut).counters.cuts, 1);
    assert!(session(&cut).unacked_frames > 0, "{cut:?}");
    until(&stage.listener, |metrics| session(metrics).counters.cuts == 1).await;
    stage.relay.lead_to(&target);
    assert_eq!(ledger.noted(1).ask().await.unwrap(), (20, 0));
    let back = stage.dialer.metrics();
    let row = session(&back);
    assert_eq!((row.counters.cuts, row.counters.resumes, row.cut_for_ms), (1, 1, None));
    assert!(row.counters.frames_repeated > 0, "{row:?}");
    let served = stage.listener.metrics();
    assert_eq!((served.acceptor.resumed, session(&served).counters.resumes), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_references_failed_asks_and_rejected_tells_are_counted() {
    let (service, client) = (Node::new(), Node::new());
    service.export("account", &Account::default().spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    assert!(client.actor::<Account>(&format!("{bound}/nobody")).await.is_err());
    assert_eq!(session(&service.metrics()).counters.attaches_refused, 1);

    let account = client.actor::<WideAccountInterface>(&format!("{bound}/account")).await.unwrap();
    account.add(u64::MAX).tell().await.unwrap();
    account.add(u64::MAX).tell().await.unwrap();
    let error = account.add(u64::MAX).ask().await.unwrap_err();
    assert_eq!(error.into_error().kind, CallErrorKind::BadArguments);
    let counted = until(&service, |metrics| session(metrics).counters.asks_failed == 1).await;
    assert_eq!(session(&counted).counters.tells_undeliverable, 2);
    until(&client, |metrics| session(metrics).counters.tells_rejected == 2).await;
    // The loss is of the process, in which other tests run.
    let lost = client.metrics().lost_tells;
    assert!(lost.rejected >= 2 && lost.not_understood >= 2, "{lost:?}");

    // A panic ends the actor: a later ask finds its channel, and nobody there.
    assert!(account.fail().ask().await.is_err());
    until(&service, |metrics| session(metrics).counters.asks_failed == 2).await;
}

/// Handles a call when the gate lets it pass.
struct Gate {
    gate: Arc<Semaphore>,
}

#[wigwag::actor]
impl Gate {
    pub async fn pass(&mut self, _number: u32) {
        self.gate.acquire().await.unwrap().forget();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn senders_that_find_no_credit_are_counted() {
    let (service, client) = (Node::new(), Node::new());
    let gate = Arc::new(Semaphore::new(0));
    let options = ActorOptions::default().mailbox_calls(1);
    service.export("gate", &Gate { gate: gate.clone() }.spawn_with(options)).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = client.actor::<Gate>(&format!("{bound}/gate")).await.unwrap();
    assert_eq!(session(&client.metrics()).counters.credit_stalls, 0);
    let mut sent = 0;
    while there.pass(sent).try_tell().is_ok() {
        sent += 1;
    }
    assert!(session(&client.metrics()).counters.credit_stalls >= 1, "after {sent} calls");
    gate.add_permits(usize::MAX >> 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_have_ended_are_counted_by_their_end_with_what_they_have_sent() {
    let service = Node::with(NodeOptions::default().keep_sessions(Duration::ZERO));
    service.export("account", &Account::default().spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let relay = wigwag_testkit::relay::Relay::to(bound.rest()).await;
    let mut received = 0;
    for is_closed in [true, false] {
        let client = Node::new();
        let account = client.actor::<Account>(&format!("{}/account", relay.address)).await.unwrap();
        account.add(1).tell().await.unwrap();
        assert!(account.total().ask().await.is_ok());
        received += session(&client.metrics()).counters.frames_sent;
        match is_closed {
            true => drop(client.close(PATIENCE).await),
            false => relay.strike(Fault::Reset),
        }
        until(&service, |metrics| metrics.sessions.is_empty()).await;
    }
    let ended =
        until(&service, |metrics| metrics.ended.closed + metrics.ended.lost == 2).await.ended;
    assert_eq!((ended.closed, ended.lost, ended.evicted), (1, 1, 0));
    // The goodbye of the first one may add frames.
    assert!(ended.counters.frames_received >= received, "{ended:?}, {received} sent");
}
