//! Calls of one key run one after the other.

use std::collections::HashMap;
use std::time::Duration;

use wigwag::{Actor, Node, This, lifecycle::Alive};

use super::desk::{Desk, of, within};

/// Numbers its calls by key, with pauses between the first part of a call and its end.
struct Ledger {
    pauses: u64,
    /// For each key: the running call, and the number of calls that have ended.
    keys: HashMap<u32, (Option<u32>, u32)>,
    most: usize,
}

#[wigwag::actor]
impl Ledger {
    #[wigwag::handler(side_by_side, serial_by = key)]
    pub fn book(&mut self, this: &This<Self>, key: u32, number: u32) -> impl Future<Output = ()> {
        let (running, ended) = self.keys.entry(key).or_default();
        assert_eq!((*running, *ended), (None, number), "key {key}");
        *running = Some(number);
        self.most = self.most.max(self.keys.values().filter(|(runs, _)| runs.is_some()).count());
        self.pauses = self.pauses.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (pause, this) = (self.pauses >> 62, this.clone());
        async move {
            if pause > 0 {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            let ends = this.visit(move |ledger| {
                let (running, ended) = ledger.keys.get_mut(&key).unwrap();
                assert_eq!(running.take(), Some(number), "key {key}");
                *ended += 1;
            });
            ends.await.unwrap();
        }
    }

    pub fn most(&self) -> u64 {
        self.most as u64
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_key_run_in_the_order_in_which_they_came() {
    for seed in 1..4 {
        let ledger = Ledger { pauses: seed, keys: HashMap::new(), most: 0 }.spawn();
        for number in 0..1000 {
            for key in 0..8 {
                ledger.book(key, number).tell().await.unwrap();
            }
        }
        // Queued behind all others; awaiting each key's last call awaits them all.
        for key in 0..8 {
            ledger.book(key, 1000).ask().await.unwrap();
        }
        let ended = ledger.visit(|ledger| ledger.keys.clone()).await.unwrap();
        assert_eq!(ended.len(), 8);
        assert!(ended.values().all(|key| *key == (None, 1001)), "seed {seed}: {ended:?}");
        assert_eq!(ledger.most().ask().await.unwrap(), 8, "different keys run side by side");
    }
}

#[tokio::test]
async fn a_key_that_waits_holds_up_no_other_and_is_shared_by_all_methods() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn_with(of(5));
    let first = desk.in_order("red", 1).try_ask().unwrap();
    let second = desk.in_order_too(2, "red".into()).try_ask().unwrap();
    let third = desk.in_order("red", 3).try_ask().unwrap();
    let other = desk.in_order("blue", 4).try_ask().unwrap();
    assert_eq!(outside.hears(2).await, ["1 begins", "4 begins"]);
    assert_eq!(desk.notes().ask().await.unwrap(), [0; 0]);
    // Calls that wait for their key count against the limit: this is the fifth.
    desk.wait(5).tell().await.unwrap();
    desk.notes().tell().await.unwrap();
    assert_eq!(outside.hears(1).await, ["5 begins"]);
    desk.visit(|_| ()).await.unwrap();
    assert_eq!(desk.handle().unwrap().waiting(), 1);
    outside.gate.add_permits(5);
    assert_eq!(within(first).await.unwrap(), 1);
    assert_eq!(within(second).await.unwrap(), 2);
    assert_eq!(within(third).await.unwrap(), 3);
    assert_eq!(within(other).await.unwrap(), 4);
}

#[tokio::test]
async fn a_call_that_waits_for_one_of_its_own_key_is_refused() {
    let (desk, outside) = Desk::new();
    let desk = desk.spawn();
    outside.gate.add_permits(2);
    let ask = |other: &str| desk.asks_itself("a".into(), other.into()).ask();
    for _ in 0..3 {
        assert!(!within(ask("a")).await.unwrap(), "it would wait for itself");
    }
    assert!(within(ask("b")).await.unwrap(), "another key waits for nobody");
    assert_eq!(within(desk.in_order("a", 2).ask()).await.unwrap(), 2);
}

#[tokio::test]
async fn a_call_whose_asker_has_gone_while_it_waited_for_its_key_is_not_begun() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let first = desk.in_order("a", 1).try_ask().unwrap();
    let second = desk.in_order("a", 2).try_ask().unwrap();
    let third = desk.in_order("a", 3).try_ask().unwrap();
    assert_eq!(desk.notes().ask().await.unwrap(), [0; 0]);
    drop(second);
    outside.gate.add_permits(2);
    assert_eq!(within(first).await.unwrap(), 1);
    assert_eq!(within(third).await.unwrap(), 3);
    assert_eq!(outside.hears(4).await, ["1 begins", "1 ends", "3 begins", "3 ends"]);
}

#[tokio::test]
async fn calls_from_elsewhere_run_side_by_side_and_in_the_order_of_their_keys() {
    let (desk, outside) = Desk::new();
    let (service, client) = (Node::new(), Node::new());
    let desk = desk.spawn_with(of(8));
    service.export("desk", &desk).unwrap();
    let bound = service.listen("inproc://side-by-side").await.unwrap();
    let there = client.actor::<Desk>(&format!("{bound}/desk")).await.unwrap();
    let mut asks: Vec<_> = (0..4).map(|number| there.wait(number).try_ask().unwrap()).collect();
    asks.extend((4..20).map(|number| there.in_order("a", number).try_ask().unwrap()));
    outside.gate.add_permits(20);
    for (ask, number) in asks.into_iter().zip(0..) {
        assert_eq!(within(ask).await.unwrap(), number);
    }
    drop(there);
    client.close(Duration::from_secs(20)).await;
    service.close(Duration::from_secs(20)).await;
}
