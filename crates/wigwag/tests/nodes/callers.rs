//! Many callers that each wait for one answer share writes.

use tokio::task::JoinSet;
use wigwag::{Actor, Node};

const CALLERS: u64 = 64;
const ASKS: u64 = 100;

#[derive(Default)]
struct Desk {
    asked: u64,
}

#[wigwag::actor]
impl Desk {
    pub fn ask(&mut self, number: u64) -> u64 {
        self.asked += 1;
        number + 1
    }
}

/// Batches that each node has sent, after all callers have asked: the client's and the service's.
async fn batches(desks: u64) -> [u64; 2] {
    let (service, client) = (Node::new(), Node::new());
    for desk in 0..desks {
        service.export(&format!("desk{desk}"), &Desk::default().spawn()).unwrap();
    }
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let address = format!("{bound}/desk{}", caller % desks);
        let desk = client.actor::<Desk>(&address).await.unwrap();
        callers.spawn(async move {
            for number in 0..ASKS {
                assert_eq!(desk.ask(number).ask().await.unwrap(), number + 1);
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    [client, service].map(|node| node.statistics()[0].session.batches_sent)
}

/// On one thread the callers run one after the other, and the driver behind all of them.
#[tokio::test]
async fn callers_that_wait_share_writes_and_so_do_the_actors_that_answer_them() {
    // Of many actors, those that run behind the driver write for themselves.
    for (desks, share) in [(1, 8), (CALLERS, 2)] {
        let [asked, answered] = batches(desks).await;
        let all = CALLERS * ASKS;
        assert!(asked < all / 8, "{asked} batches for {all} asks of {desks} actors");
        assert!(answered < all / share, "{answered} batches for {all} answers of {desks} actors");
    }
}
