//! References that attach anew after the end of a session.

use std::time::{Duration, Instant};

use wigwag::lifecycle::Alive;
use wigwag::session::{SessionChange, SessionEvents};
use wigwag::{Actor, AskError, CallErrorKind, DeliveryStatus, Node, NodeOptions};
use wigwag_testkit::ledger::{Ledger, LedgerRef, in_time};
use wigwag_testkit::relay::{Fault, Relay};

use super::ends::next;
use super::{NOWHERE, PATIENCE, node};

/// A limit that passes.
const SOON: Duration = Duration::from_millis(200);

/// A client with a relay to a service, whose address stays when the service is another one.
struct Stage {
    relay: Relay,
    client: Node,
    events: SessionEvents,
    ledger: LedgerRef,
}

/// A service, and its address.
async fn service(options: NodeOptions) -> (Node, String) {
    let service = Node::with(options.name("service"));
    service.export("ledger", &Ledger::default().spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
    (service, bound)
}

impl Stage {
    async fn before(address: &str) -> Stage {
        let (relay, client) = (Relay::to(address).await, node("client"));
        let events = client.session_events();
        let there = format!("{}/ledger", relay.address);
        let ledger = client.actor::<Ledger>(&there).reconnecting().await.unwrap();
        Stage { relay, client, events, ledger }
    }

    /// Cuts the client off and waits until it knows.
    async fn cut(&mut self) {
        self.relay.lead_to(NOWHERE);
        self.relay.strike(Fault::Reset);
        next(&mut self.events, |change| matches!(change, SessionChange::Cut { .. })).await;
    }

    async fn ended(&mut self) {
        next(&mut self.events, |change| matches!(change, SessionChange::Ended { .. })).await;
    }

    /// Waits until the reference leads to its actor again; true if in another process.
    async fn reattached(&mut self) -> bool {
        let is_back = |change: &SessionChange| matches!(change, SessionChange::Reattached { .. });
        let back = next(&mut self.events, is_back).await;
        let SessionChange::Reattached { target, restarted, .. } = back else { unreachable!() };
        assert_eq!(&*target, format!("{}/ledger", self.relay.address));
        restarted
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_after_a_restart_reach_the_next_incarnation_and_earlier_ones_have_their_outcome() {
    let (_first, address) = service(NodeOptions::default()).await;
    let mut stage = Stage::before(&address).await;
    let mut lives = Vec::new();
    for life in 0..3 {
        let ledger = stage.ledger.clone();
        let mut pipeline = ledger.pipeline(64).unwrap();
        assert_eq!(ledger.count(0, 0).ask().await.unwrap(), 1);
        assert_eq!(ledger.noted(0).ask().await.unwrap(), (1, 0), "life {life} has its own state");
        pipeline.push(ledger.never(), "sent").await.unwrap();
        let sent = ledger.never().timeout(PATIENCE).ask().sent().await.unwrap();
        let receipt = ledger.never().receipt().await.unwrap();
        assert_eq!(ledger.count(0, 1).ask().await.unwrap(), 2);
        stage.cut().await;
        let unsent = ledger.count(0, 2).timeout(PATIENCE).ask().sent().await.unwrap();
        pipeline.push(ledger.count(0, 3), "unsent").await.unwrap();
        let (next_life, address) = service(NodeOptions::default()).await;
        stage.relay.lead_to(&address);
        assert!(stage.reattached().await, "it is another process");
        // The answers of the new life come to other asks, whatever their slots are.
        pipeline.push(ledger.count(1, 0), "later").await.unwrap();
        let later = ledger.count(1, 1).timeout(PATIENCE).ask().sent().await.unwrap();
        assert_eq!(sent.await.unwrap_err().kind, CallErrorKind::Unknown);
        assert_eq!(receipt.await, DeliveryStatus::Unknown);
        assert_eq!(unsent.await.unwrap_err().kind, CallErrorKind::NotDelivered);
        assert_eq!(later.await.unwrap(), 2);
        let mut outcomes = Vec::new();
        while let Some((what, outcome)) = pipeline.answer().await {
            outcomes.push((what, outcome.map_err(|error| error.kind)));
        }
        let expected = [
            ("sent", Err(CallErrorKind::Unknown)),
            ("unsent", Err(CallErrorKind::NotDelivered)),
            ("later", Ok(1)),
        ];
        assert_eq!(outcomes, expected, "life {life}");
        assert_eq!(ledger.noted(1).ask().await.unwrap(), (2, 0));
        lives.push(next_life);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn between_two_incarnations_callers_wait_or_get_their_message_back() {
    let (first, address) = service(NodeOptions::default()).await;
    let mut stage = Stage::before(&address).await;
    let ledger = stage.ledger.clone();
    let mut pipeline = ledger.pipeline(4).unwrap();
    stage.relay.lead_to(NOWHERE);
    first.close(PATIENCE).await;
    stage.ended().await;

    let refused = ledger.note(0, 7, String::new()).try_tell().unwrap_err();
    assert_eq!(refused.error.kind, CallErrorKind::NotDelivered);
    assert!(refused.error.disconnection.is_some(), "{}", refused.error);
    let asked = ledger.count(0, 7).try_ask().map(drop).unwrap_err();
    assert_eq!(asked.error.kind, CallErrorKind::NotDelivered);
    let pushed = pipeline.try_push(ledger.count(0, 7), ()).unwrap_err();
    assert_eq!(pushed.refused.error.kind, CallErrorKind::NotDelivered);
    let opened = ledger.pipeline::<u64, ()>(4).map(drop).unwrap_err();
    assert_eq!(opened.kind, CallErrorKind::NotDelivered);

    for error in [
        ledger.count(0, 7).timeout(SOON).ask().await.unwrap_err().into_error(),
        ledger.note(0, 7, String::new()).timeout(SOON).tell().await.unwrap_err().into_error(),
        pipeline.push(ledger.count(0, 7).timeout(SOON), ()).await.unwrap_err().into_error(),
    ] {
        assert_eq!(error.kind, CallErrorKind::Timeout(SOON));
        let gone = error.disconnection.as_deref().expect("nothing is there");
        assert!(gone.since >= SOON, "{error}");
    }

    let waiting = [(); 4].map(|()| {
        let ledger = ledger.clone();
        tokio::spawn(async move { ledger.noted(9).timeout(PATIENCE).ask().await })
    });
    let tell = tokio::spawn({
        let ledger = ledger.clone();
        async move { ledger.call::<()>(refused.message).timeout(PATIENCE).tell().await }
    });
    tokio::task::yield_now().await;
    let (_second, address) = service(NodeOptions::default()).await;
    stage.relay.lead_to(&address);
    in_time(PATIENCE, tell).await.unwrap().unwrap();
    for waiting in waiting {
        assert_eq!(in_time(PATIENCE, waiting).await.unwrap().unwrap().0, 0);
    }
    assert_eq!(ledger.noted(0).ask().await.unwrap().0, 8, "the message that came back");
    pipeline.push(ledger.count(1, 0), ()).await.unwrap();
    assert_eq!(pipeline.answer().await.unwrap().1.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_was_given_up_is_followed_by_one_with_the_same_process() {
    let options = NodeOptions::default().keep_sessions(Duration::ZERO);
    let (_service, address) = service(options).await;
    let mut stage = Stage::before(&address).await;
    let ledger = stage.ledger.clone();
    assert_eq!(ledger.count(0, 0).ask().await.unwrap(), 1);
    stage.relay.strike(Fault::Reset);
    assert!(!stage.reattached().await, "it is the same process");
    assert_eq!(ledger.noted(0).ask().await.unwrap(), (1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reference_follows_the_name_when_its_actor_stops_and_another_one_is_exported() {
    let node = node("service");
    let first = Ledger::default().spawn();
    node.export("ledger", &first).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
    let mut stage = Stage::before(&bound).await;
    let ledger = stage.ledger.clone();
    assert_eq!(ledger.count(0, 0).ask().await.unwrap(), 1);
    let handle = first.handle().unwrap();
    handle.kill();
    handle.ended().await;
    let error = loop {
        // Asks that were sent before the end is known here are answered with it.
        match ledger.noted(0).timeout(SOON).ask().await.unwrap_err() {
            AskError::Refused(refused) => break refused.error,
            AskError::Failed(error) => assert_eq!(error.kind, CallErrorKind::ActorStopped),
        }
    };
    assert_eq!(error.kind, CallErrorKind::Timeout(SOON));
    assert!(error.disconnection.is_some(), "{error}");
    node.export("ledger", &Ledger::default().spawn()).unwrap();
    assert_eq!(ledger.noted(0).timeout(PATIENCE).ask().await.unwrap(), (0, 0));
    assert!(!stage.reattached().await, "it is the same process");
    assert_eq!(node.statistics().len(), 1, "and the same session");
}

mod newer {
    /// The ledger of a later release: its methods have other numbers, its arguments other orders
    /// and types.
    pub(super) struct Ledger;

    #[wigwag::actor]
    impl Ledger {
        pub fn added(&self, text: String) -> String {
            text
        }

        pub fn count(&mut self, number: u64, sender: u64) -> u64 {
            1000 * sender + number
        }

        pub fn noted(&self, sender: u32) -> (u64, u64) {
            (sender.into(), 0)
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reference_is_matched_anew_with_an_actor_of_another_version() {
    let (first, address) = service(NodeOptions::default()).await;
    let mut stage = Stage::before(&address).await;
    let ledger = stage.ledger.clone();
    let mut pipeline = ledger.pipeline(8).unwrap();
    assert_eq!(ledger.count(0, 0).ask().await.unwrap(), 1);
    first.close(PATIENCE).await;
    stage.ended().await;
    let second = node("service");
    second.export("ledger", &newer::Ledger.spawn()).unwrap();
    stage.relay.lead_to(&second.listen("tcp://127.0.0.1:0").await.unwrap().to_string());
    assert!(stage.reattached().await);
    assert_eq!(ledger.count(7, 8).ask().await.unwrap(), 7008, "the arguments go by their names");
    assert_eq!(ledger.never().ask().await.unwrap_err().error().kind, CallErrorKind::NoSuchMethod);
    // Consecutive asks of a turn join a run, in the form that the present actor takes.
    let asked = wigwag::spawn(async move {
        for number in 0..8 {
            pipeline.push(ledger.noted(number), number).await.unwrap();
        }
        let mut replies = Vec::new();
        while let Some((number, reply)) = pipeline.answer().await {
            replies.push((number, reply.unwrap()));
        }
        replies
    });
    let expected: Vec<_> = (0..8).map(|number| (number, (number, 0))).collect();
    assert_eq!(in_time(PATIENCE, asked).await.unwrap(), expected);
}

/// Ten sessions that end at once take the first ten pauses: at least half of 0, 10, 20, 40, 80, 160,
/// 320, 640, 1000 and 1000 ms.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_whose_sessions_end_at_once_is_dialed_with_growing_pauses() {
    let options = NodeOptions::default().keep_sessions(Duration::ZERO);
    let (_service, address) = service(options).await;
    let mut stage = Stage::before(&address).await;
    let since = Instant::now();
    for _ in 0..10 {
        stage.relay.strike(Fault::Reset);
        stage.reattached().await;
    }
    assert!(since.elapsed() >= Duration::from_millis(1500), "{:?}", since.elapsed());
}

/// The peer may listen before it has exported the actor.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reference_waits_until_the_restarted_peer_exports_its_actor() {
    let (first, address) = service(NodeOptions::default()).await;
    let mut stage = Stage::before(&address).await;
    stage.relay.lead_to(NOWHERE);
    first.close(PATIENCE).await;
    stage.ended().await;
    let second = node("service");
    let address = second.listen("tcp://127.0.0.1:0").await.unwrap();
    stage.relay.lead_to(&address.to_string());
    next(&mut stage.events, |change| matches!(change, SessionChange::Opened)).await;
    let error = loop {
        let asked = stage.ledger.noted(0).timeout(SOON).ask().await.unwrap_err().into_error();
        let gone = asked.disconnection.as_deref().expect("it is not exported");
        if gone.why.contains("no actor") {
            break asked;
        }
    };
    assert_eq!(error.kind, CallErrorKind::Timeout(SOON));
    second.export("ledger", &Ledger::default().spawn()).unwrap();
    assert_eq!(stage.ledger.noted(0).timeout(PATIENCE).ask().await.unwrap(), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_wait_for_the_next_incarnation_end_when_their_node_is_closed_or_dropped() {
    for close in [true, false] {
        let (first, address) = service(NodeOptions::default()).await;
        let mut stage = Stage::before(&address).await;
        stage.relay.lead_to(NOWHERE);
        first.close(PATIENCE).await;
        stage.ended().await;
        let ledger = stage.ledger.clone();
        let waiting = tokio::spawn({
            let ledger = ledger.clone();
            async move { ledger.note(0, 0, String::new()).tell().await.unwrap_err().into_error() }
        });
        tokio::task::yield_now().await;
        if close {
            stage.client.close(PATIENCE).await;
        }
        drop(stage);
        let error = in_time(PATIENCE, waiting).await.unwrap();
        assert_eq!(error.kind, CallErrorKind::NotDelivered);
        assert_eq!(error.detail.as_deref(), Some("this node is closed"));
        let late = ledger.noted(0).ask().await.unwrap_err().into_error();
        assert_eq!(late.kind, CallErrorKind::NotDelivered);
    }
}

/// The callers begin to wait after the task that would attach their reference has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_caller_waits_for_an_incarnation_at_a_node_that_was_closed_or_dropped_before() {
    for close in [true, false] {
        let (_service, address) = service(NodeOptions::default()).await;
        let mut stage = Stage::before(&address).await;
        let ledger = stage.ledger.clone();
        let mut pipeline = ledger.pipeline(4).unwrap();
        if close {
            stage.client.close(PATIENCE).await;
        } else {
            drop(stage.client);
            let ended = |change: &SessionChange| matches!(change, SessionChange::Ended { .. });
            next(&mut stage.events, ended).await;
        }
        in_time(PATIENCE, async {
            let asked = ledger.noted(0).without_limit().ask().await.unwrap_err().into_error();
            let told = ledger.note(0, 0, String::new()).tell().await.unwrap_err().into_error();
            let pushed = pipeline.push(ledger.count(0, 0), ()).await.unwrap_err().into_error();
            for error in [asked, told, pushed] {
                assert_eq!(error.kind, CallErrorKind::NotDelivered, "{error}");
            }
        })
        .await;
    }
}

#[test]
fn no_caller_waits_for_an_incarnation_when_the_runtime_of_its_node_has_ended() {
    let new = || tokio::runtime::Runtime::new().unwrap();
    let (there, here, caller) = (new(), new(), new());
    let (_service, address) = there.block_on(service(NodeOptions::default()));
    let stage = here.block_on(Stage::before(&address));
    let ledger = stage.ledger.clone();
    drop(here);
    let told = caller.block_on(in_time(PATIENCE, ledger.note(0, 0, String::new()).tell()));
    assert_eq!(told.unwrap_err().error.kind, CallErrorKind::NotDelivered);
}
