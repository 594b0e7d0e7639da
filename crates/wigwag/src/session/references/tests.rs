//! The references of a session, and those of all sessions of a node, are bounded and counted until
//! they are let go.

use std::time::Duration;

use tokio::time::timeout;

use super::taken::{HeldReferences, TakenReference};
use super::*;
use crate::Node;
use crate::limits::{NODE_REFERENCES_MAX, REFERENCES_MAX};
use crate::session::EndKind;
use crate::session::references::lent::LentActor;
use crate::session::tests::{session_of, session_with};
use crate::sync::Ordering;

const PATIENCE: Duration = Duration::from_secs(20);

/// Two sessions of one node, and what keeps them.
async fn sessions() -> ([Node; 3], [Arc<Session>; 2]) {
    let nodes = [(); 3].map(|()| Node::new());
    let [client, first, second] = &nodes;
    let [one, _] = session_of(client, first).await;
    let [two, _] = session_of(client, second).await;
    (nodes, [one, two])
}

fn take(session: &Arc<Session>, number: u64) -> Option<TakenReference> {
    TakenReference::new(session, number.into()).ok()
}

fn taken(session: &Arc<Session>) -> u64 {
    session.references.taken.load(Ordering::Relaxed)
}

/// Counts as many references as there is room for.
fn fill(count: &crate::exports::references::ReferenceCount) -> u64 {
    (0..2 * NODE_REFERENCES_MAX).take_while(|_| count.take_one()).count() as u64
}

// No test waits while it has references that the peer does not know.

#[tokio::test]
async fn a_session_takes_a_bounded_number_of_references_until_some_are_let_go() {
    let (_nodes, [one, two]) = sessions().await;
    let mut held: Vec<_> = (0..REFERENCES_MAX).map(|number| take(&one, number)).collect();
    assert!(held.iter().all(Option::is_some));
    assert!(take(&one, REFERENCES_MAX).is_none() && take(&two, 0).is_some());
    held.pop();
    held.push(take(&one, REFERENCES_MAX));
    assert!(held.iter().all(Option::is_some) && take(&one, 0).is_none());
    drop(held);
    assert_eq!((taken(&one), taken(&two)), (0, 0));
    assert_eq!(fill(&one.references.table.taken), NODE_REFERENCES_MAX);
}

#[tokio::test]
async fn a_node_takes_a_bounded_number_of_references_and_releases_those_beyond() {
    let (nodes, [one, two]) = sessions().await;
    let lender = session_with(&nodes[1], nodes[0].inner.incarnation).await;
    let actor = Arc::new(take(&two, 0).unwrap());
    for number in [0, 1] {
        lender.lend(number, LentActor::Unread { _taken: actor.clone() }).unwrap();
    }
    let held = take(&one, 0);
    assert_eq!(fill(&one.references.table.taken), NODE_REFERENCES_MAX - 2);
    assert!(take(&one, 1).is_none());
    let released = async {
        while Arc::strong_count(&actor) > 2 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, released).await.expect("the lender hears that it is not held");
    assert_eq!(taken(&one), 1);
    drop(held);
    assert!(take(&one, 1).is_some());
}

#[tokio::test]
async fn a_session_lends_a_bounded_number_of_references_until_some_are_released() {
    let (_nodes, [one, two]) = sessions().await;
    let actor = Arc::new(take(&two, 0).unwrap());
    let lend = |session: &Arc<Session>, number: u64| {
        session.lend(number.into(), LentActor::Unread { _taken: actor.clone() }).is_ok()
    };
    assert!((0..REFERENCES_MAX).all(|number| lend(&one, number)));
    assert!(!lend(&one, REFERENCES_MAX) && lend(&two, REFERENCES_MAX));
    assert!(lend(&one, 0), "it is lent already");
    assert!(!one.reference_released(0, 3) && one.reference_released(0, 1));
    assert!(!lend(&one, REFERENCES_MAX));
    assert!(one.reference_released(0, 1) && !one.reference_released(0, 1));
    assert!(lend(&one, REFERENCES_MAX));
    // The limit of all sessions together.
    let table = one.references.table.clone();
    assert_eq!(fill(&table.lent), NODE_REFERENCES_MAX - REFERENCES_MAX - 1);
    assert!(!lend(&two, 0));
    assert!(one.reference_released(1, 1));
    assert!(lend(&two, 0) && !lend(&two, 1));
    // A session that ends gives all of its own back.
    one.end("the peer is gone", EndKind::Lost);
    assert_eq!(fill(&table.lent), REFERENCES_MAX - 1);
    assert_eq!(Arc::strong_count(&actor), 3, "two are lent by the other session");
}

#[tokio::test]
async fn a_route_with_a_channel_keeps_the_references_of_its_own_peer_alone() {
    let (_nodes, [one, two]) = sessions().await;
    let held = HeldReferences::default();
    for session in [&one, &one, &two] {
        held.hold(take(session, 7).unwrap());
    }
    assert_eq!((taken(&one), taken(&two)), (1, 1), "one for each session");
    held.keep_only(&one);
    assert_eq!((taken(&one), taken(&two)), (1, 0));
    drop(held);
    assert_eq!(taken(&one), 0);
}
