//! Honest traffic: an ask of the node and an exchange with each socket, each compared with the
//! expected answer.

use std::time::Duration;

use tokio::time::timeout;
use wigwag::Node;
use wigwag::sp::{Pair, Pub, Push, Req};

use super::target::{Addresses, Desk, DeskRef, Seen};
use super::{PATIENCE, until};

pub(crate) struct Honest {
    desk: DeskRef,
    req: Req,
    pair: Pair,
    push: Push,
    publisher: Pub,
    key: String,
    _node: Node,
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"))
}

impl Honest {
    pub(crate) async fn connect(addresses: &Addresses, key: &str) -> Honest {
        let node = Node::new();
        let desk = node.actor::<Desk>(&format!("{}/{key}", addresses.tcp("node"))).await.unwrap();
        let honest = Honest {
            desk,
            req: Req::new(),
            pair: Pair::new(),
            push: Push::new(),
            publisher: Pub::new(),
            key: key.to_owned(),
            _node: node,
        };
        honest.req.dial(addresses.tcp("rep")).await.unwrap();
        honest.pair.dial(addresses.tcp("pair")).await.unwrap();
        honest.push.dial(addresses.tcp("pull")).await.unwrap();
        honest.publisher.dial(addresses.tcp("sub")).await.unwrap();
        honest
    }

    /// Makes one exchange of each kind; `number` counts the rounds from 0.
    pub(crate) async fn round(&self, number: u64) {
        let answer = self.desk.add(1).timeout(PATIENCE).ask().await.unwrap();
        assert_eq!(answer, number + 1, "each ask is handled once");
        let message = format!("{}{number}", self.key);
        self.req.send(message.clone()).await.unwrap();
        assert_eq!(soon("the reply", self.req.recv()).await.unwrap(), message);
        self.pair.send(message.clone()).await.unwrap();
        assert_eq!(soon("the pair's echo", self.pair.recv()).await.unwrap(), message);
        self.push.send(message.clone()).await.unwrap();
        self.publisher.send(message).await.unwrap();
        // One message at a time, so that no queue is full and none may be dropped.
        until("both are counted", async || {
            let seen = self.target().await;
            assert!(seen.pulled <= number + 1 && seen.subscribed <= number + 1, "{seen:?}");
            (seen.pulled, seen.subscribed) == (number + 1, number + 1)
        })
        .await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    pub(crate) async fn target(&self) -> Seen {
        self.desk.seen().timeout(PATIENCE).ask().await.unwrap()
    }
}
