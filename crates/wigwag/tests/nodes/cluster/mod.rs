//! Names and groups among nodes that are connected.

mod find;
mod follow;

use std::time::Duration;

use wigwag::{Actor, Node, NodeOptions};
use wigwag_testkit::relay::Relay;

/// The longest wait for what comes at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// An actor that says which one it is.
pub(crate) struct Member(pub(crate) u64);

#[wigwag::actor]
impl Member {
    pub fn number(&self) -> u64 {
        self.0
    }

    pub fn fail(&self) {
        panic!("the member has failed");
    }
}

pub(crate) fn member(number: u64) -> MemberRef {
    Member(number).spawn()
}

/// A node with a name that listens, and its address.
async fn listening(options: NodeOptions) -> (Node, String) {
    let node = Node::with(options);
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    (node, bound.to_string())
}

/// A node whose sessions are soon given up, and a relay to it.
async fn behind_relay(name: &str) -> (Node, Relay) {
    let options = NodeOptions::default().name(name).keep_sessions(Duration::from_millis(500));
    let (node, address) = listening(options).await;
    (node, Relay::to(&address).await)
}
