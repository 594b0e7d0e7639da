//! Streams over cuts of their connection.

use wigwag_testkit::relay::{Fault, Relay};

use super::*;

/// Reads streams of both kinds while the connection is cut again and again, until the session has
/// resumed more than five times.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_stream_is_lost_doubled_or_reordered_over_cuts() {
    let [dialer, listener] = [(); 2].map(|()| Node::new());
    listener.export("source", &Source::default().spawn()).unwrap();
    let bound = listener.listen("tcp://127.0.0.1:0").await.unwrap();
    let relay = Relay::to(bound.rest()).await;
    let source = dialer.actor::<Source>(&format!("{}/source", relay.address)).await.unwrap();
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
    let read = async {
        while dialer.statistics()[0].session.resumes <= 5 {
            let ahead = [None, Some(1), Some(50), None];
            let streams = ahead.map(|ahead| {
                let source = source.clone();
                tokio::spawn(async move {
                    let mut items = source.numbers(5_000);
                    if let Some(ahead) = ahead {
                        items = items.ahead(ahead);
                    }
                    count(&mut items, 0).await
                })
            });
            for read in streams {
                assert_eq!(read.await.unwrap(), (5_000, None));
            }
        }
    };
    tokio::select! {
        () = in_time(2 * PATIENCE, read) => {}
        () = storm => {}
    }
    let link = dialer.statistics()[0].session;
    assert!(link.resumes > 5 && link.frames_repeated + link.cuts > 0, "{link:?}");
}
