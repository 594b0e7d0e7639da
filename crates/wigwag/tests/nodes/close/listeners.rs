//! Listeners that a node stops, alone or when it is closed.

use std::sync::Arc;
use std::time::Duration;

use wigwag::transport::{Boxed, Connection, ListenOptions, Listener, NetError};
use wigwag::{Actor, Address, Node, NodeError, block_on};

use super::{Counter, PATIENCE, service, soon};

/// An address of each transport that frees something when it is not listened at any more, for one test.
fn addresses(test: &str) -> [String; 4] {
    let name = format!("listeners-{test}-{}", std::process::id());
    let path = std::env::temp_dir().join(&name);
    [
        "tcp://127.0.0.1:0".to_owned(),
        "ws://127.0.0.1:0/path".to_owned(),
        format!("ipc://{}", path.display()),
        format!("inproc://{name}"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stops_listening_leaves_its_address_and_keeps_its_sessions() {
    for address in addresses("stop") {
        let actor = Counter { total: 0, watched: None }.spawn();
        let (node, target) = service(&actor, &address).await;
        let client = Node::new();
        let counter = client.actor::<Counter>(&target).await.unwrap();
        let bound = target.strip_suffix("/counter").unwrap().parse().unwrap();

        assert!(soon("the end of the listener", node.stop_listening(&bound)).await, "{address}");
        let newcomer = Node::new();
        let refused = soon("a refusal", newcomer.actor::<Counter>(&target)).await;
        assert!(refused.is_err(), "{address}");
        counter.add(1).tell().await.unwrap();
        assert_eq!(soon("an answer", counter.total().ask()).await.unwrap(), 1, "{address}");

        assert!(!node.stop_listening(&bound).await, "{address}: it does not listen there any more");
        let successor = Node::new();
        assert_eq!(successor.listen(&bound.to_string()).await.unwrap(), bound);
        successor.export("counter", &actor).unwrap();
        let through = soon("a session", newcomer.actor::<Counter>(&target)).await.unwrap();
        assert_eq!(soon("an answer", through.total().ask()).await.unwrap(), 1, "{address}");
    }
}

/// With one thread nothing runs between the two nodes but what `close` waits for.
#[tokio::test]
async fn the_addresses_of_a_node_are_free_when_it_is_closed() {
    for address in addresses("close") {
        let (first, second) = (Node::new(), Node::new());
        let bound = first.listen(&address).await.unwrap().to_string();
        first.close(PATIENCE).await;
        second.listen(&bound).await.unwrap();
    }
}

/// A listener whose node is closed while it is handed over, by a thread outside the runtime.
struct Late {
    address: Address,
    node: Node,
    _is_held: Arc<()>,
}

impl Listener for Late {
    fn address(&self) -> &Address {
        let node = self.node.clone();
        let closing = std::thread::spawn(move || block_on(node.close(Duration::ZERO)));
        closing.join().unwrap();
        &self.address
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(std::future::pending())
    }

    fn is_local(&self) -> bool {
        true
    }

    fn takes_descriptors(&self) -> bool {
        false
    }
}

#[tokio::test]
async fn a_node_that_is_closed_while_it_begins_to_listen_does_not_listen() {
    let (node, held) = (Node::new(), Arc::new(()));
    let address = "inproc://late".parse().unwrap();
    let late = Late { address, node: node.clone(), _is_held: held.clone() };
    let listening = node.listen_on(Box::new(late), ListenOptions::default());
    assert!(matches!(listening, Err(NodeError::Closed)), "{listening:?}");
    assert_eq!(Arc::strong_count(&held), 1, "the listener is kept");
}
