//! The actors that a peer holds are listed, and named at the end of its session.

use std::time::Duration;

use wigwag::lifecycle::Alive;
use wigwag::limits::HELD_ROWS_MAX;
use wigwag::session::{HeldActors, SessionChange};
use wigwag::{Actor, Node, NodeOptions};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::relay::{Fault, Relay};

use super::{Member, MemberRef, PATIENCE, member};

/// Keeps what it is given.
#[derive(Default)]
struct Keeper {
    members: Vec<MemberRef>,
}

#[wigwag::actor]
impl Keeper {
    pub fn keep(&mut self, member: MemberRef) {
        self.members.push(member);
    }

    pub fn let_go(&mut self) {
        self.members.clear();
    }
}

/// The rows: name, type, channels, references.
fn rows(held: &HeldActors) -> Vec<(Option<&str>, &str, u64, u64)> {
    let rows = held.actors.iter();
    rows.map(|row| (row.name.as_deref(), row.kind, row.channels, row.references)).collect()
}

#[tokio::test]
async fn actors_held_by_a_peer_are_listed_and_named_at_the_end_of_its_session() {
    let service = Node::new();
    let mut events = service.session_events();
    let (first, _first) = member("first");
    service.export("first", &first).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::with(NodeOptions::default().name("client"));
    let keeper = Keeper::default().spawn();
    client.export("keeper", &keeper).unwrap();
    let fetched = client.actor::<Member>(&format!("{bound}/first")).await.unwrap();
    let there = service.find::<Keeper>("keeper").await.unwrap();
    let (second, _second) = member("second");
    for _ in 0..2 {
        there.keep(second.clone()).ask().await.unwrap();
    }
    let held = |held: &HeldActors| {
        rows(held) == [(None, "Member", 1, 2), (Some("first"), "Member", 1, 0)] && held.more == 0
    };
    let listed = service.held_actors();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].peer.node.as_deref(), Some("client"));
    in_time(PATIENCE, async {
        // The channel is opened when the reference is read.
        while !held(&service.held_actors()[0].held) {
            fetched.name().ask().await.unwrap();
        }
    })
    .await;
    drop(client);
    drop((fetched, keeper));
    let told = async {
        loop {
            if let SessionChange::Ended { held, .. } = events.next().await.unwrap().what {
                return held;
            }
        }
    };
    // A client that is dropped may let go some of them before.
    let told = in_time(PATIENCE, told).await;
    assert!(told.actors.iter().all(|row| row.kind == "Member"), "{told:?}");
    assert!(service.held_actors().is_empty());
}

#[tokio::test]
async fn a_peer_that_is_killed_is_told_with_all_that_it_held() {
    let service = Node::with(NodeOptions::default().keep_sessions(Duration::ZERO));
    let mut events = service.session_events();
    let (first, _first) = member("first");
    service.export("first", &first).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let relay = Relay::to(bound.rest()).await;
    let client = Node::new();
    let address = format!("{}/first", relay.address);
    let fetched = client.actor::<Member>(&address).await.unwrap();
    fetched.name().ask().await.unwrap();
    relay.lead_to("127.0.0.1:1");
    relay.strike(Fault::Reset);
    let told = async {
        loop {
            if let SessionChange::Ended { held, .. } = events.next().await.unwrap().what {
                return held;
            }
        }
    };
    let told = in_time(PATIENCE, told).await;
    assert_eq!(rows(&told), [(Some("first"), "Member", 1, 0)]);
}

#[tokio::test]
async fn references_that_are_dropped_are_held_no_more() {
    let service = Node::new();
    let (first, _first) = member("first");
    service.export("first", &first).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    let keeper = Keeper::default().spawn();
    client.export("keeper", &keeper).unwrap();
    let fetched = client.actor::<Member>(&format!("{bound}/first")).await.unwrap();
    let there = service.find::<Keeper>("keeper").await.unwrap();
    there.keep(first.clone()).ask().await.unwrap();
    there.let_go().ask().await.unwrap();
    drop(fetched);
    in_time(PATIENCE, async {
        while !service.held_actors()[0].held.actors.is_empty() {
            there.let_go().ask().await.unwrap();
        }
    })
    .await;
}

/// The end of an actor ends the channels to it; their places are free when the references are dropped.
#[tokio::test]
async fn an_actor_that_has_stopped_is_held_until_its_references_are_dropped() {
    let service = Node::with(NodeOptions::default().actors_per_peer(1));
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    for round in 0..3 {
        let name = format!("member-{round}");
        let (one, _heard) = member(&name);
        service.export(&name, &one).unwrap();
        let fetched = client.actor::<Member>(&format!("{bound}/{name}")).await.unwrap();
        assert_eq!(fetched.name().ask().await.unwrap(), name);
        one.handle().unwrap().stop();
        in_time(PATIENCE, async { while fetched.name().ask().await.is_ok() {} }).await;
        let held = service.held_actors();
        assert_eq!(rows(&held[0].held), [(Some(&*name), "Member", 1, 0)]);
        drop(fetched);
    }
    in_time(PATIENCE, async {
        while !service.held_actors()[0].held.actors.is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(service.metrics().sessions[0].channels, 0);
}

#[tokio::test]
async fn a_bounded_number_of_actors_is_listed_those_with_most_first() {
    let service = Node::new();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    let keeper = Keeper::default().spawn();
    client.export("keeper", &keeper).unwrap();
    client.connect(&bound.to_string()).await.unwrap();
    let there = service.find::<Keeper>("keeper").await.unwrap();
    let (most, _most) = member("most");
    for _ in 0..5 {
        there.keep(most.clone()).ask().await.unwrap();
    }
    let mut kept = Vec::new();
    for number in 0..HELD_ROWS_MAX + 9 {
        let (one, heard) = member(&number.to_string());
        there.keep(one).ask().await.unwrap();
        kept.push(heard);
    }
    let listed = service.held_actors();
    let held = &listed[0].held;
    assert_eq!((held.actors.len(), held.more), (HELD_ROWS_MAX, 10));
    assert_eq!(held.actors[0].references, 5);
}
