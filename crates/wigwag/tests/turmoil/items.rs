//! A stream that is an argument begins without a wait: the credit of its reader leaves at once, and
//! not with the next acknowledgement, which comes ten milliseconds later.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use wigwag::{Actor, Items, NodeOptions};
use wigwag_testkit::ledger::in_time;

use crate::PATIENCE;
use crate::stage::{HOSTS, find, network, node, now, place, seeds};

/// The time of a tell with a stream and its first item: a packet there, one back, and one there, each
/// of one millisecond and as much until a host runs.
const BEGUN: Duration = Duration::from_millis(8);

/// Notes the time at which the first row of each stream comes.
struct Store {
    begun: Arc<Mutex<Vec<Duration>>>,
}

#[wigwag::actor]
impl Store {
    pub async fn keep(&mut self, mut rows: Items<u64>) {
        let first = rows.next().await;
        assert_eq!(first.unwrap().unwrap(), 7);
        self.begun.lock().unwrap().push(now());
        while rows.next().await.is_some() {}
    }
}

#[test]
fn the_first_item_of_a_stream_that_is_an_argument_waits_for_no_acknowledgement() {
    seeds(5, |seed| {
        let mut simulation = network(seed, Duration::from_millis(1));
        let begun = Arc::new(Mutex::new(Vec::new()));
        let [dialer, listener] = HOSTS;
        let kept = begun.clone();
        simulation.host(listener, move || {
            let begun = kept.clone();
            async move {
                let node = node(HOSTS[1], NodeOptions::default()).await?;
                node.export("store", &Store { begun }.spawn())?;
                std::future::pending().await
            }
        });
        simulation.client(dialer, async move {
            let node = node(HOSTS[0], NodeOptions::default()).await?;
            let store = in_time(PATIENCE, find::<Store>(&node, &place(HOSTS[1], "store"))).await;
            for _ in 0..10 {
                // So that nothing is on its way.
                tokio::time::sleep(Duration::from_millis(200)).await;
                let (mut sender, rows) = Items::channel(1);
                let told = now();
                store.keep(rows).tell().await?;
                sender.send(7).await?;
                let more = in_time(PATIENCE, async {
                    while begun.lock().unwrap().is_empty() {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                    begun.lock().unwrap().remove(0)
                });
                let took = more.await - told;
                assert!(took < BEGUN, "{took:?}");
                sender.finish();
            }
            Ok(())
        });
        simulation.run().expect("each stream begins at once");
    });
}
