//! Sessions over which nothing is received, and their limited lifetime.

use std::time::Duration;

use tokio::time::sleep;
use turmoil::net::TcpStream;
use wigwag::NodeOptions;
use wigwag::limits::SILENT_SESSION_TTL;
use wigwag_link::frame::Frame;
use wigwag_link::{Code, Identity, features};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw::{Raw, identity};
use wigwag_wire::Framing;

use crate::stage::{Diary, HOSTS, Outcome, is_ended, network, node, now, seeds};
use crate::{PATIENCE, stage};

/// A round trip, and a write that waits for the next millisecond of the simulation.
const LATENCY: Duration = Duration::from_millis(50);

async fn open() -> Raw {
    let stream = TcpStream::connect((HOSTS[1], stage::PORT)).await.unwrap();
    let mut raw = Raw::new(stream, Framing::Tcp);
    raw.open(Identity { offered: features::RESUME, ..identity() }).await;
    raw
}

/// Opens two sessions: one stays silent, the other sends once and is then silent for as long.
async fn dialer() -> Outcome {
    sleep(Duration::from_millis(100)).await;
    let (mut silent, mut speaking) = (open().await, open().await);
    let begun = now();
    speaking.tell(&[Frame::Ping { id: 1, next_ms: 60_000 }]).await;
    let closed = in_time(PATIENCE, silent.closed()).await;
    let (code, rule) = closed.expect("it is told why");
    assert_eq!(code, Code::TOO_MANY, "{rule}");
    let lived = now() - begun;
    assert!(
        lived + LATENCY >= SILENT_SESSION_TTL && lived <= SILENT_SESSION_TTL + LATENCY,
        "{lived:?}"
    );
    assert!(speaking.tell(&[Frame::Ping { id: 2, next_ms: 60_000 }]).await);
    // The third session is cut while it is silent; it is kept no longer than a connected one.
    drop(open().await);
    sleep(SILENT_SESSION_TTL + LATENCY).await;
    assert!(speaking.tell(&[Frame::Ping { id: 3, next_ms: 60_000 }]).await);
    Ok(())
}

#[test]
fn a_session_over_which_nothing_comes_lives_for_five_seconds() {
    seeds(3, |seed| {
        let mut simulation = network(seed, Duration::from_millis(5));
        let diary = Diary::default();
        let kept = diary.clone();
        simulation.host(HOSTS[1], move || {
            let diary = kept.clone();
            async move {
                // The first heartbeat is due later, so the session is not cut for missing one.
                let options = NodeOptions::default().heartbeat(Duration::from_secs(20));
                let node = node(HOSTS[1], options).await?;
                diary.keep(&node);
                std::future::pending().await
            }
        });
        simulation.client(HOSTS[0], dialer());
        simulation.run().expect("each lives as long as it may");
        let ended = diary.entries().iter().filter(|(_, what)| is_ended(what)).count();
        assert_eq!(ended, 2, "the silent one and the one that was cut, {diary:?}");
        let told = format!("{diary:?}");
        assert!(told.contains("nothing has arrived is kept for 5s at most"), "{told}");
    });
}
