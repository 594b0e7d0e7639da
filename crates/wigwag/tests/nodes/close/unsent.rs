//! Asks that a turn goes on sending while its session ends: the outcome of each one is counted before
//! the end is announced.

use std::time::Duration;

use wigwag::session::{Delivery, SessionChange};
use wigwag_link::Code;
use wigwag_link::frame::Frame;

use super::{CounterRef, attached, patient, soon};

/// Sessions that end at another moment of their turn each.
const SESSIONS: u32 = 200;

/// Sends asks and tells in one turn after the other until nothing can be sent any more. Returns their
/// number.
async fn send(counter: CounterRef) -> u64 {
    let (mut calls, mut answers) = (0, Vec::new());
    loop {
        match counter.total().without_limit().ask().sent().await {
            Ok(answer) => answers.push(answer),
            Err(_) => break calls,
        }
        calls += 1;
        if counter.add(1).tell().await.is_err() {
            break calls;
        }
        calls += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_ask_counts_as_delivered_whose_peer_has_handled_none() {
    for session in 0..SESSIONS {
        let (node, counter, mut peer) = attached(u64::MAX, patient()).await;
        let mut events = node.session_events();
        let sending = wigwag::spawn(send(counter));
        tokio::time::sleep(Duration::from_micros(u64::from(session) * 20)).await;
        peer.tell(&[Frame::Close { code: Code::BYE, rule: b"", detail: b"" }]).await;
        let deliveries = loop {
            let event = soon("the session", events.next()).await.unwrap();
            if let SessionChange::Ended { deliveries, .. } = event.what {
                break deliveries;
            }
        };
        let calls = soon("sending", sending).await.unwrap();
        let [Delivery { delivered, rejected, unknown, not_delivered, .. }] = deliveries[..] else {
            assert_eq!((deliveries.len(), calls), (0, 0));
            continue;
        };
        assert_eq!((delivered, rejected, unknown + not_delivered), (0, 0, calls), "{session}");
    }
}
