//! Actors are found by their names at connected nodes.

use wigwag::access::{Access, Peers, Principal, SharedKey};
use wigwag::{CallErrorKind, Node, NodeError, NodeOptions};
use wigwag_link::frame::kind;
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw::{self, Raw};

use super::{Member, PATIENCE, listening, member};

async fn numbers(node: &Node, name: &str) -> Vec<(Option<String>, u64)> {
    let found = in_time(PATIENCE, node.find_all::<Member>(name)).await.unwrap();
    let mut numbers = Vec::new();
    for one in found {
        let peer = one.peer.map(|peer| peer.node.unwrap().to_string());
        numbers.push((peer, one.actor.number().ask().await.unwrap()));
    }
    numbers.sort_unstable();
    numbers
}

fn kind_of(error: NodeError) -> Option<CallErrorKind> {
    error.call_error()
}

#[tokio::test]
async fn an_actor_is_found_at_whichever_connected_node_exports_it() {
    let (first, address) = listening(NodeOptions::default().name("first")).await;
    let second = Node::with(NodeOptions::default().name("second"));
    let third = Node::with(NodeOptions::default().name("third"));
    second.connect(&address).await.unwrap();
    third.connect(&address).await.unwrap();
    second.export("here", &member(2)).unwrap();
    first.export("both", &member(1)).unwrap();
    third.export("both", &member(3)).unwrap();

    // Over a session that the peer has dialed, and one that this node has dialed.
    let found = first.find::<Member>("here").await.unwrap();
    assert_eq!(found.number().ask().await.unwrap(), 2);
    let found = second.find::<Member>("both").await.unwrap();
    assert_eq!(found.number().ask().await.unwrap(), 1);
    // One's own comes first.
    let found = first.find::<Member>("both").await.unwrap();
    assert_eq!(found.number().ask().await.unwrap(), 1);
    let all = numbers(&first, "both").await;
    assert_eq!(all, [(None, 1), (Some("third".to_owned()), 3)]);
    // A session of a node with itself leads to no other actor.
    first.connect(&address).await.unwrap();
    assert_eq!(numbers(&first, "both").await, all);
    // The others are no neighbours of each other.
    let refused = third.find::<Member>("here").await.err().unwrap();
    assert_eq!(kind_of(refused), Some(CallErrorKind::NoSuchActor));
    assert!(numbers(&third, "here").await.is_empty());

    second.withdraw("here");
    let refused = first.find::<Member>("here").await.err().unwrap();
    assert_eq!(kind_of(refused), Some(CallErrorKind::NoSuchActor));
    let refused = first.find::<Member>("a/b").await.err().unwrap();
    assert!(matches!(refused, NodeError::BadName { .. }), "{refused}");
    first.close(PATIENCE).await;
    assert!(matches!(first.find::<Member>("both").await, Err(NodeError::Closed)));
}

/// A frame that the peer refuses to read would end the session, with the calls of everybody.
#[tokio::test]
async fn a_name_that_is_longer_than_any_is_that_of_no_actor_and_the_session_goes_on() {
    let (service, address) = listening(NodeOptions::default()).await;
    let client = Node::new();
    service.export("one", &member(1)).unwrap();
    let one = client.actor::<Member>(&format!("{address}/one")).await.unwrap();
    for length in [256, 70_000] {
        let name = "x".repeat(length);
        let fetched = client.actor::<Member>(&format!("{address}/{name}")).await.err().unwrap();
        assert_eq!(kind_of(fetched), Some(CallErrorKind::NoSuchActor), "{length}");
        let found = client.find::<Member>(&name).await.err().unwrap();
        assert!(matches!(found, NodeError::BadName { .. }), "{found}");
    }
    assert_eq!(one.number().ask().await.unwrap(), 1);
}

/// The reference shares the channel of one that was fetched by its address, so calls are in order.
#[tokio::test]
async fn a_found_actor_is_the_one_that_its_address_leads_to() {
    let (service, address) = listening(NodeOptions::default()).await;
    let client = Node::new();
    service.export("one", &member(1)).unwrap();
    let fetched = client.actor::<Member>(&format!("{address}/one")).await.unwrap();
    let found = client.find::<Member>("one").await.unwrap();
    let channels = |node: &Node| node.metrics().sessions[0].channels;
    assert_eq!(found.number().ask().await.unwrap(), 1);
    assert_eq!(fetched.number().ask().await.unwrap(), 1);
    let waits = async {
        while channels(&service) != 1 {
            fetched.number().ask().await.unwrap();
        }
    };
    in_time(PATIENCE, waits).await;
}

#[tokio::test]
async fn a_node_does_not_find_actors_that_it_may_not_call() {
    let [friend, other] = ["friend", "other"].map(SharedKey::generate);
    let access = Access::new().allow(Principal::key("friend"), "one").allow(Peers::Any, "two");
    let keys = [friend.clone(), other.clone()];
    let options = NodeOptions::default().accept_keys(keys).access(access).name("service");
    let (service, address) = listening(options).await;
    service.export("one", &member(1)).unwrap();
    service.export("two", &member(2)).unwrap();
    for (key, expected) in [(friend, 1), (other, 0)] {
        let client = Node::with(NodeOptions::default().shared_key(key));
        client.connect(&address).await.unwrap();
        assert_eq!(numbers(&client, "one").await.len(), expected);
        assert_eq!(numbers(&client, "two").await.len(), 1);
    }
}

/// A peer that never answers holds up the search for all, and not that for one that is found.
#[tokio::test]
async fn a_peer_that_does_not_answer_is_left_out() {
    let (node, address) = listening(NodeOptions::default()).await;
    let mut silent = Raw::dial(&address).await;
    silent.open(raw::identity()).await;
    silent.tell(&[]).await;
    let other = Node::with(NodeOptions::default().name("other"));
    other.connect(&address).await.unwrap();
    other.export("one", &member(1)).unwrap();
    let found = in_time(PATIENCE, node.find::<Member>("one")).await.unwrap();
    assert_eq!(found.number().ask().await.unwrap(), 1);
    // It was asked.
    in_time(PATIENCE, silent.until(kind::ATTACH)).await;
    assert_eq!(numbers(&node, "one").await, [(Some("other".to_owned()), 1)]);
}
