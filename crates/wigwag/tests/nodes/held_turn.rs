//! Calls that a turn holds back while its session ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::timeout;
use wigwag::Node;
use wigwag::session::{Delivery, SessionChange};
use wigwag_link::Code;
use wigwag_link::frame::Frame;
use wigwag_testkit::raw::Raw;

/// Every wait ends almost at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends `calls` tells, and keeps the reference that it sends to: to let it go would wake the driver, on
/// the thread that the turn does not leave.
pub(crate) type Send = Box<dyn Fn() + std::marker::Send>;

/// Checks that all of `calls` are counted as not delivered that `begin` has a turn send, when the session
/// ends before the turn does.
///
/// The watchdog publishes what a turn has held back for two ticks of 2 ms. If it has come first, the
/// tells were sent and their outcome is unknown, so the session must end sooner than that once.
pub(crate) async fn is_not_delivered(calls: u64, begin: impl AsyncFn() -> (Node, Raw, Send)) {
    const ATTEMPTS: u32 = 100;
    for _ in 0..ATTEMPTS {
        let (node, peer, send) = begin().await;
        let Delivery { delivered, rejected, unknown, not_delivered, .. } =
            end_session_within_turn(node, peer, send).await;
        assert_eq!((delivered, rejected, unknown + not_delivered), (0, 0, calls));
        if not_delivered == calls {
            return;
        }
    }
    panic!("the watchdog was faster than the session's end {ATTEMPTS} times");
}

/// Sends in a turn during which the session ends, and returns the outcome.
async fn end_session_within_turn(node: Node, mut peer: Raw, send: Send) -> Delivery {
    let mut events = node.session_events();
    let node = Arc::new(node);
    let (told, is_told) = tokio::sync::oneshot::channel();
    let turn = wigwag::spawn({
        let node = node.clone();
        async move {
            send();
            told.send(()).unwrap();
            // The poll lasts until the session is over; another thread has to end the session.
            let end = Instant::now() + PATIENCE;
            while !node.statistics().is_empty() && Instant::now() < end {
                std::thread::yield_now();
            }
        }
    });
    timeout(PATIENCE, is_told).await.unwrap().unwrap();
    peer.tell(&[Frame::Close { code: Code::BYE, rule: b"", detail: b"" }]).await;
    timeout(PATIENCE, turn).await.unwrap().unwrap();
    let deliveries = loop {
        let event = timeout(PATIENCE, events.next()).await.unwrap().unwrap();
        if let SessionChange::Ended { deliveries, .. } = event.what {
            break deliveries;
        }
    };
    let [delivery] = &deliveries[..] else { panic!("{deliveries:?}") };
    delivery.clone()
}
