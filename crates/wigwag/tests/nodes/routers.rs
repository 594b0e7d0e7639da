//! Routers whose members live in other processes.

use wigwag::groups::{Router, RouterError};
use wigwag::lifecycle::Alive;
use wigwag::session::{SessionChange, SessionEvents};
use wigwag::{Actor, Node};
use wigwag_testkit::relay::{Fault, Relay};

use super::sessions::ends::next;
use super::sessions::{NOWHERE, PATIENCE};

struct Worker(u64);

#[wigwag::actor]
impl Worker {
    pub fn number(&self) -> u64 {
        self.0
    }

    pub async fn never(&self) -> u64 {
        std::future::pending().await
    }
}

/// A node with a worker, and a relay to it.
struct Site {
    node: Node,
    worker: WorkerRef,
    relay: Relay,
}

async fn site(number: u64) -> Site {
    let (node, worker) = (Node::new(), Worker(number).spawn());
    node.export("worker", &worker).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    Site { node, worker, relay: Relay::to(&bound.to_string()).await }
}

/// A router over a local worker 0 and those of three sites.
async fn stage() -> (Router<Worker>, SessionEvents, Node, [Site; 3]) {
    let client = Node::new();
    let (events, router) = (client.session_events(), Router::<Worker>::new());
    router.add(&Worker(0).spawn());
    let sites = [site(1).await, site(2).await, site(3).await];
    for Site { relay, .. } in &sites {
        let there = format!("{}/worker", relay.address);
        router.add(&client.actor::<Worker>(&there).await.unwrap());
        router.add(&client.actor::<Worker>(&there).await.unwrap());
    }
    (router, events, client, sites)
}

async fn picked(router: &Router<Worker>, count: usize) -> Vec<u64> {
    let mut numbers = Vec::new();
    for _ in 0..count {
        numbers.push(router.pick().unwrap().number().ask().await.unwrap());
    }
    numbers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_router_passes_over_members_that_cannot_be_reached_and_removes_those_that_have_ended() {
    let (router, mut events, _client, sites) = stage().await;
    assert_eq!(picked(&router, 6).await, [0, 1, 2, 3, 0, 1], "each is a member once");

    sites[1].relay.lead_to(NOWHERE);
    sites[1].relay.strike(Fault::Reset);
    next(&mut events, |change| matches!(change, SessionChange::Cut { .. })).await;
    assert_eq!(picked(&router, 4).await, [3, 0, 1, 3], "2 is passed over");
    assert_eq!(router.members().len(), 4);

    let leaving = router.members()[1].clone();
    sites[0].worker.handle().unwrap().kill();
    leaving.never().timeout(PATIENCE).ask().await.unwrap_err();
    assert_eq!(picked(&router, 4).await, [0, 3, 0, 3], "1 has stopped");

    sites[2].node.close(PATIENCE).await;
    next(&mut events, |change| matches!(change, SessionChange::Ended { .. })).await;
    assert_eq!(picked(&router, 2).await, [0, 0]);
    assert_eq!(router.members().len(), 2, "that of the cut session may come back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_router_prefers_members_with_fewer_calls_that_are_not_handled() {
    let (router, mut events, client, sites) = stage().await;
    let members = router.members();
    let mut waiting = Vec::new();
    for (member, calls) in members.iter().zip([3, 2, 0, 1]) {
        for _ in 0..calls {
            waiting.push(member.never().timeout(PATIENCE).ask().sent().await.unwrap());
        }
    }
    // A call counts from when the driver has taken it from this thread.
    client.flush().await.unwrap();
    let idlest = || format!("{:?}", router.pick_idlest().unwrap());
    assert_eq!(idlest(), format!("{:?}", members[2]));
    sites[1].relay.lead_to(NOWHERE);
    sites[1].relay.strike(Fault::Reset);
    next(&mut events, |change| matches!(change, SessionChange::Cut { .. })).await;
    assert_eq!(idlest(), format!("{:?}", members[3]));
}

#[tokio::test]
async fn keys_are_divided_among_members_of_other_processes_by_their_addresses() {
    let (router, _events, client, sites) = stage().await;
    let other = Router::<Worker>::new();
    for Site { relay, .. } in sites.iter().rev() {
        let there = format!("{}/worker", relay.address);
        other.add(&client.actor::<Worker>(&there).await.unwrap());
    }
    router.remove(&router.members()[0]);
    let mut hits = [0; 4];
    for key in 0..300 {
        let number = router.pick_for(&key).unwrap().number().ask().await.unwrap();
        assert_eq!(other.pick_for(&key).unwrap().number().ask().await.unwrap(), number);
        assert_eq!(router.pick_sticky(&key).unwrap().number().ask().await.unwrap(), number);
        hits[number as usize] += 1;
    }
    assert!(hits[1..].iter().all(|hits| *hits > 50), "{hits:?}");
    drop(sites);
    for member in router.members() {
        assert!(router.remove(&member));
    }
    assert_eq!(router.pick().unwrap_err(), RouterError::Empty);
}

/// Nobody calls the reference after the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_comes_back_stays_without_its_peer_and_is_removed_when_our_node_is_closed() {
    for lost in [false, true] {
        let (client, site) = (Node::new(), site(1).await);
        let (mut events, router) = (client.session_events(), Router::<Worker>::new());
        let there = format!("{}/worker", site.relay.address);
        router.add(&client.actor::<Worker>(&there).reconnecting().await.unwrap());
        let is_ended = |change: &SessionChange| matches!(change, SessionChange::Ended { .. });
        if lost {
            site.relay.lead_to(NOWHERE);
            site.node.close(PATIENCE).await;
            next(&mut events, is_ended).await;
            assert!(router.pick().is_ok(), "it may come back");
        } else {
            client.close(PATIENCE).await;
            assert_eq!(router.pick().unwrap_err(), RouterError::Empty);
        }
    }
}
