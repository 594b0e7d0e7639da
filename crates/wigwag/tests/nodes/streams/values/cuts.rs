//! Streams as arguments over cuts of their connection.

use std::time::Duration;

use wigwag_testkit::relay::{Fault, Relay};

use super::*;

/// Sends streams while the connection is cut again and again, until the session has resumed more than
/// five times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_stream_is_lost_doubled_or_reordered_over_cuts() {
    let [dialer, listener] = [(); 2].map(|()| Node::new());
    listener.export("store", &Store::default().spawn()).unwrap();
    let bound = listener.listen("tcp://127.0.0.1:0").await.unwrap();
    let relay = Relay::to(bound.rest()).await;
    let store = dialer.actor::<Store>(&format!("{}/store", relay.address)).await.unwrap();
    let storm = async {
        for round in 0_usize.. {
            let before = relay.bytes();
            while relay.bytes() < before + 50_000 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let faults = [Fault::End, Fault::Tear, Fault::Reset, Fault::Tear];
            let connections = || relay.seen.connections.load(Ordering::SeqCst);
            let struck = connections();
            relay.strike(faults[round % faults.len()]);
            while connections() == struck {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    let sent = async {
        while dialer.statistics()[0].session.resumes <= 5 {
            let streams = [1, 16, 64, 1000].map(|ahead| {
                let store = store.clone();
                tokio::spawn(async move {
                    let (mut sender, rows) = Items::channel(ahead);
                    let asked = store.count_aside(rows).ask().sent().await.unwrap();
                    send(&mut sender, 0, 5_000).await;
                    sender.fail(1, "the end");
                    asked.await.unwrap()
                })
            });
            for counted in streams {
                let (count, end) = counted.await.unwrap();
                assert_eq!((count, end.unwrap().0), (5_000, 0x8001));
            }
        }
    };
    tokio::select! {
        () = in_time(2 * PATIENCE, sent) => {}
        () = storm => {}
    }
    let link = dialer.statistics()[0].session;
    assert!(link.resumes > 5 && link.frames_repeated + link.cuts > 0, "{link:?}");
}
