//! After a cut, the peer's address belongs to another node, to another program, or to the peer
//! anew.

use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use wigwag::{Actor, CallErrorKind, Node, session::SessionChange};
use wigwag_testkit::ledger::{Ledger, in_time, send};
use wigwag_testkit::relay::{Fault, Relay};

use super::cuts::Stage;
use super::ends::next;
use super::{NOWHERE, PATIENCE, node};

fn is_resumed(change: &SessionChange) -> bool {
    matches!(change, SessionChange::Resumed { .. })
}

fn is_changed(change: &SessionChange) -> bool {
    matches!(change, SessionChange::PeerChanged { .. })
}

async fn bound(node: &Node) -> String {
    node.export("ledger", &Ledger::default().spawn()).unwrap();
    node.listen("tcp://127.0.0.1:0").await.unwrap().to_string()
}

/// A listener that sends an SMTP greeting instead of an SP header.
async fn another_program() -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("tcp://{}", listener.local_addr().unwrap());
    let greeting = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"220 mail.example ESMTP\r\n").await;
        }
    });
    (address, greeting)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_waits_for_its_own_peer_whatever_else_listens_there() {
    let stage = Stage::new().await;
    let there = format!("{}/ledger", stage.relay.address);
    let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
    let mut events = stage.dialer.session_events();
    let home = stage.relay.target();
    let (program, greeting) = another_program().await;
    let other = node("somebody else");
    let sending = tokio::spawn(send(ledger, 0, 50_000));
    for elsewhere in [program, bound(&other).await] {
        stage.relay.lead_to(&elsewhere);
        stage.relay.strike(Fault::Reset);
        let found = next(&mut events, is_changed).await;
        eprintln!("{found:?}");
        stage.relay.lead_to(&home);
        next(&mut events, is_resumed).await;
    }
    in_time(PATIENCE, sending).await.unwrap();
    assert!(other.statistics().is_empty(), "nobody has a session with it");
    greeting.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_was_started_anew_is_known_at_once_by_its_name_or_by_having_none() {
    for (first, anew) in [(node("service"), node("service")), (Node::new(), Node::new())] {
        let stage = Stage::new().await;
        let home = bound(&first).await;
        stage.relay.lead_to(&home);
        let there = format!("{}/ledger", stage.relay.address);
        let ledger = stage.dialer.actor::<Ledger>(&there).await.unwrap();
        let mut events = stage.dialer.session_events();
        let never = ledger.never().timeout(PATIENCE).ask().sent().await.unwrap();
        assert_eq!(ledger.noted(0).ask().await.unwrap(), (0, 0));
        stage.relay.lead_to(NOWHERE);
        stage.relay.strike(Fault::Reset);
        next(&mut events, |change| matches!(change, SessionChange::Cut { .. })).await;
        let waiting = ledger.count(0, 0).timeout(PATIENCE).ask().sent().await.unwrap();
        let successor = bound(&anew).await;
        stage.relay.lead_to(&successor);
        // The promised time is three seconds from the successor's first answer.
        let end = in_time(Duration::from_secs(15), async {
            next(&mut events, |change| matches!(change, SessionChange::Ended { .. })).await
        });
        let SessionChange::Ended { why, .. } = end.await else { unreachable!() };
        assert!(why.contains("started anew"), "{why}");
        assert_eq!(never.await.unwrap_err().kind, CallErrorKind::Unknown);
        assert_eq!(waiting.await.unwrap_err().kind, CallErrorKind::NotDelivered);
        // A reference that is looked up again leads to the new node.
        let fresh = stage.dialer.actor::<Ledger>(&there).await.unwrap();
        assert_eq!(fresh.count(0, 0).ask().await.unwrap(), 1);
    }
}

/// Both nodes dial at the same moment, again and again: each pair has one session, used by both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_dial_each_other_at_once_have_one_session_that_survives_cuts() {
    for _ in 0..20 {
        let (left, right) = (node("left"), node("right"));
        let (at_left, at_right) = (bound(&left).await, bound(&right).await);
        let relays = [Relay::to(&at_right).await, Relay::to(&at_left).await];
        let [to_right, to_left] = relays.each_ref().map(|it| format!("{}/ledger", it.address));
        let (there, back) =
            tokio::join!(left.actor::<Ledger>(&to_right), right.actor::<Ledger>(&to_left));
        let (there, back) = (there.unwrap(), back.unwrap());
        assert_eq!((left.statistics().len(), right.statistics().len()), (1, 1));
        let mut events = left.session_events();
        let sending =
            [(there, 1), (back, 2)].map(|(ledger, sender)| tokio::spawn(send(ledger, sender, 300)));
        relays.iter().for_each(|relay| relay.strike(Fault::Reset));
        next(&mut events, is_resumed).await;
        for sending in sending {
            in_time(PATIENCE, sending).await.unwrap();
        }
    }
}
