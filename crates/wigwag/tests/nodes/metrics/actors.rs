//! The counters of actors.

use std::sync::Arc;

use tokio::sync::Semaphore;
use wigwag::lifecycle::Alive;
use wigwag::supervise::{Child, Strategy, Supervisor};
use wigwag::{Actor, ActorOptions, Node, WhenFull};

use super::*;

/// Handles a call when the gate lets it pass.
struct Desk {
    gate: Arc<Semaphore>,
}

#[wigwag::actor]
impl Desk {
    pub async fn pass(&mut self, number: u32) -> u32 {
        self.gate.acquire().await.unwrap().forget();
        number
    }

    pub fn add(&mut self, number: u32) -> u32 {
        number
    }

    pub fn fail(&mut self) {
        panic!("a test wants it")
    }
}

/// Another version of the interface: the number is wider.
#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
trait WideDesk {
    fn pass(&mut self, number: u64) -> u32;
    fn add(&mut self, number: u64) -> u32;
    fn fail(&mut self);
}

fn desk(options: ActorOptions, places: usize) -> (DeskRef, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(places));
    (Desk { gate: gate.clone() }.spawn_with(options), gate)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_counted_by_their_way_and_their_failures_by_reason() {
    let (service, client) = (Node::new(), Node::new());
    let (here, _) = desk(ActorOptions::default(), 0);
    service.export("desk", &here).unwrap();
    let address = format!("{}/desk", service.listen("tcp://127.0.0.1:0").await.unwrap());
    // In a batch, alone, as an ask that runs the actor on this thread, and as one that does not.
    for number in 0..100 {
        here.add(number).try_tell().unwrap();
    }
    assert_eq!(here.add(1).ask().await.unwrap(), 1);
    assert_eq!(here.add(2).ask().await.unwrap(), 2);
    let counted = until(&service, |metrics| actor(metrics, "desk").taken >= 102).await;
    let row = actor(&counted, "desk");
    assert_eq!((row.taken, row.remote_tells, row.remote_asks), (102, 0, 0));
    assert_eq!((&*row.kind, row.waiting, row.has_ended), ("Desk", 0, false));

    let there = client.actor::<Desk>(&address).await.unwrap();
    for number in 0..7 {
        there.add(number).tell().await.unwrap();
    }
    assert_eq!(there.add(3).ask().await.unwrap(), 3);
    let wide = client.actor::<WideDeskInterface>(&address).await.unwrap();
    for _ in 0..3 {
        wide.add(u64::MAX).tell().await.unwrap();
    }
    assert!(wide.add(u64::MAX).ask().await.is_err());
    let is_counted = |row: &ActorMetrics| (row.remote_tells, row.remote_asks) == (10, 2);
    let counted = until(&service, |metrics| is_counted(actor(metrics, "desk"))).await;
    let row = actor(&counted, "desk");
    assert_eq!(row.taken, 102 + 8 + 4);
    assert_eq!(row.rejected.iter().collect::<Vec<_>>(), [(&"bad_arguments".to_owned(), &4)]);
    assert_eq!(row.rejected_calls(), 4);

    assert!(there.fail().ask().await.is_err());
    let counted = until(&service, |metrics| actor(metrics, "desk").has_ended).await;
    assert_eq!(actor(&counted, "desk").rejected["panicked"], 1);
}

#[tokio::test]
async fn calls_that_wait_or_find_no_room_are_counted() {
    let node = Node::new();
    let options = ActorOptions::default().mailbox_calls(4).when_full(WhenFull::DropNewest);
    let (desk, gate) = desk(options, 0);
    node.export("desk", &desk).unwrap();
    desk.pass(0).tell().await.unwrap();
    until(&node, |metrics| actor(metrics, "desk").taken == 1).await;
    for number in 1..=7 {
        desk.pass(number).try_tell().unwrap();
    }
    let metrics = node.metrics();
    let row = actor(&metrics, "desk");
    assert_eq!((row.waiting, row.capacity, row.dropped, row.taken), (4, 4, 3, 1));
    gate.add_permits(8);
    let counted = until(&node, |metrics| actor(metrics, "desk").taken == 5).await;
    assert_eq!(actor(&counted, "desk").waiting, 0);
}

/// An order that comes during a call goes before the rest of its chunk, which is put back.
#[tokio::test]
async fn calls_that_are_put_back_are_not_taken() {
    let node = Node::new();
    let (desk, gate) = desk(ActorOptions::default(), 0);
    node.export("desk", &desk).unwrap();
    for number in 0..10 {
        desk.pass(number).try_tell().unwrap();
    }
    let counts = |metrics: &Metrics| (actor(metrics, "desk").taken, actor(metrics, "desk").waiting);
    // The first call is taken alone, and the others as a chunk.
    until(&node, |metrics| counts(metrics) == (1, 9)).await;
    gate.add_permits(1);
    until(&node, |metrics| counts(metrics) == (10, 0)).await;
    let handle = desk.handle().unwrap();
    assert!(handle.suspend());
    gate.add_permits(9);
    until(&node, |metrics| counts(metrics) == (2, 8)).await;
    assert!(handle.resume());
    until(&node, |metrics| counts(metrics) == (10, 0)).await;
}

#[tokio::test]
async fn restarts_are_counted() {
    let node = Node::new();
    let gate = Arc::new(Semaphore::new(0));
    let make = move || Desk { gate: gate.clone() };
    let child = Child::new("desk", make);
    let supervisor = Supervisor::new(Strategy::OneForOne).child(child).spawn();
    let desk = supervisor.child::<Desk>("desk").await.unwrap().unwrap();
    node.export("desk", &desk).unwrap();
    assert_eq!(actor(&node.metrics(), "desk").restarts, 0);
    assert!(desk.fail().ask().await.is_err());
    let counted = until(&node, |metrics| actor(metrics, "desk").restarts == 1).await;
    assert!(!actor(&counted, "desk").has_ended);
}
