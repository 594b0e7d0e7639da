//! The number of calls that run at once, and the moments at which they are polled.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use tokio::sync::Barrier;
use wigwag::{Actor, Local, lifecycle::Alive};

use super::desk::{Desk, of, within};

#[tokio::test]
async fn all_permitted_handlers_meet_at_a_barrier() {
    let desk = Desk::new().0.spawn();
    let barrier = Arc::new(Barrier::new(256));
    let asks: Vec<_> =
        (0..256).map(|_| desk.meet(Local(barrier.clone())).try_ask().unwrap()).collect();
    for ask in asks {
        within(ask).await.unwrap();
    }
}

#[tokio::test]
async fn one_more_than_may_run_waits_and_so_does_every_other_call() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn_with(of(4));
    let asks: Vec<_> = (0..5).map(|number| desk.wait(number).try_ask().unwrap()).collect();
    let notes = desk.notes().try_ask().unwrap();
    assert_eq!(outside.hears(4).await, ["0 begins", "1 begins", "2 begins", "3 begins"]);
    desk.visit(|_| ()).await.unwrap();
    desk.visit(|_| ()).await.unwrap();
    outside.hears_nothing();
    assert_eq!(desk.handle().unwrap().waiting(), 2, "control mail was obeyed, calls wait");
    outside.gate.add_permits(1);
    assert_eq!(outside.hears(2).await, ["0 ends", "4 begins"]);
    outside.gate.add_permits(4);
    for (ask, number) in asks.into_iter().zip(0..) {
        assert_eq!(within(ask).await.unwrap(), number);
    }
    assert_eq!(within(notes).await.unwrap(), [0; 0]);
    assert_eq!(outside.alive.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_actor_goes_on_with_plain_calls_and_futures_with_an_async_one() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let first = desk.wait(1).try_ask().unwrap();
    assert_eq!(desk.notes().ask().await.unwrap(), [0; 0]);
    let alone = desk.alone(2).try_ask().unwrap();
    let third = desk.wait(3).try_ask().unwrap();
    assert_eq!(outside.hears(2).await, ["1 begins", "2 begins"]);
    outside.gate.add_permits(1);
    assert_eq!(within(first).await.unwrap(), 1);
    tokio::task::yield_now().await;
    assert_eq!(outside.hears(1).await, ["1 ends"]);
    outside.hears_nothing();
    outside.gate.add_permits(2);
    assert_eq!((within(alone).await.unwrap(), within(third).await.unwrap()), (2, 3));
    assert_eq!(outside.hears(3).await, ["2 ends", "3 begins", "3 ends"]);
    assert!(desk.visit_itself().ask().await.unwrap());
}

/// Counts how often its futures are polled.
struct Polls(Arc<AtomicUsize>);

#[wigwag::actor]
impl Polls {
    #[wigwag::handler(side_by_side)]
    pub fn count(&self) -> impl Future<Output = ()> {
        let polls = self.0.clone();
        std::future::poll_fn(move |_| {
            polls.fetch_add(1, Ordering::SeqCst);
            Poll::Pending
        })
    }

    #[wigwag::handler(side_by_side)]
    pub fn yields(&self, often: u32) -> impl Future<Output = ()> {
        async move {
            for _ in 0..often {
                tokio::task::yield_now().await;
            }
        }
    }

    pub fn plain(&self) {}
}

#[tokio::test]
async fn a_future_is_polled_when_it_was_woken_and_not_when_others_were() {
    let polls = Arc::new(AtomicUsize::new(0));
    let actor = Polls(polls.clone()).spawn();
    for _ in 0..100 {
        actor.count().tell().await.unwrap();
    }
    within(actor.yields(500).ask()).await.unwrap();
    for _ in 0..500 {
        actor.plain().ask().await.unwrap();
    }
    assert_eq!(polls.load(Ordering::SeqCst), 100);
}
