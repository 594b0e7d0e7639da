//! Listeners that a node stops, alone or when it is closed.

use wigwag::{Actor, Node};

use super::{Counter, DEADLINE, service, soon};

/// An address of each transport that frees something when it is not listened at any more.
fn addresses() -> [String; 4] {
    let name = format!("stop-listening-{}", std::process::id());
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
    for address in addresses() {
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

/// On one thread, which runs the task of the listener only while the close waits for it.
#[tokio::test]
async fn the_addresses_of_a_node_are_free_when_it_is_closed() {
    for address in addresses() {
        let (node, successor) = (Node::new(), Node::new());
        let bound = node.listen(&address).await.unwrap().to_string();
        node.close(DEADLINE).await;
        let outcome = successor.listen(&bound).await;
        assert!(outcome.is_ok(), "{bound}: {outcome:?}");
    }
}
