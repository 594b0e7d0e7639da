//! Handlers that wait side by side: how many, in which order, and what becomes of them at the end.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Barrier, Semaphore};
use tokio::time::timeout;
use wigwag::{Actor, ActorOptions, Alive, CallErrorKind, Here, Life, Node, Reason, This};

/// Counts what is there of it.
#[derive(Clone)]
struct Witness(Arc<AtomicUsize>);

impl Witness {
    fn of(counts: &Arc<AtomicUsize>) -> Witness {
        counts.fetch_add(1, Ordering::SeqCst);
        Witness(counts.clone())
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Lets its calls wait at a gate, and says which have begun and ended.
struct Desk {
    gate: Arc<Semaphore>,
    says: UnboundedSender<String>,
    alive: Arc<AtomicUsize>,
    notes: Vec<u64>,
}

/// What a test holds of it.
struct Outside {
    gate: Arc<Semaphore>,
    heard: UnboundedReceiver<String>,
    alive: Arc<AtomicUsize>,
}

impl Outside {
    /// What was said, in the order of the alphabet.
    async fn hears(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(within(self.heard.recv()).await.unwrap());
        }
        all.sort();
        all
    }

    fn hears_nothing(&mut self) {
        assert!(self.heard.try_recv().is_err());
    }
}

#[wigwag::actor(life)]
impl Desk {
    #[wigwag::handler(side_by_side)]
    pub fn wait(&mut self, number: u64) -> impl Future<Output = u64> {
        self.at_gate(number)
    }

    #[wigwag::handler(side_by_side, serial_by = key)]
    pub fn in_order(&mut self, key: &str, number: u64) -> impl Future<Output = u64> {
        assert!(!key.is_empty());
        self.at_gate(number)
    }

    #[wigwag::handler(serial_by = name, side_by_side)]
    pub fn in_order_too(&mut self, number: u64, name: String) -> impl Future<Output = u64> {
        assert!(!name.is_empty());
        self.at_gate(number)
    }

    #[wigwag::handler(side_by_side)]
    pub fn meet(&self, barrier: Here<Arc<Barrier>>) -> impl Future<Output = ()> + Send + use<> {
        async move {
            barrier.wait().await;
        }
    }

    /// Waits at the gate, and comes back to the state then.
    #[wigwag::handler(side_by_side)]
    pub fn note(&mut self, this: &This<Self>, number: u64) -> impl Future<Output = u64> {
        let (this, wait) = (this.clone(), self.at_gate(number));
        async move {
            let number = wait.await;
            let noted = this.visit(move |desk| {
                desk.notes.push(number);
                desk.notes.len() as u64
            });
            noted.await.unwrap()
        }
    }

    #[wigwag::handler(side_by_side)]
    pub fn panic_first(&mut self) -> impl Future<Output = ()> {
        if self.notes.is_empty() {
            panic!("on purpose");
        }
        async {}
    }

    #[wigwag::handler(side_by_side)]
    pub fn panic_later(&mut self, this: &This<Self>) -> impl Future<Output = ()> {
        let (wait, this) = (self.at_gate(0), this.clone());
        async move {
            wait.await;
            let _kept = this;
            panic!("on purpose");
        }
    }

    pub fn itself(&self, this: &This<Self>) -> Here<This<Desk>> {
        Here(this.clone())
    }

    pub fn notes(&self) -> Vec<u64> {
        self.notes.clone()
    }

    /// Waits for a call of another key, or of its own, for which it would wait for ever.
    #[wigwag::handler(side_by_side, serial_by = key)]
    pub fn asks_itself(
        &self,
        this: &This<Self>,
        key: String,
        other: String,
    ) -> impl Future<Output = bool> + Send + use<> {
        assert!(!key.is_empty());
        let this = this.reference();
        async move {
            match this.in_order(&other, 1).ask().await {
                Ok(number) => number == 1,
                Err(error) => {
                    assert_eq!(error.error().kind, CallErrorKind::CallCycle);
                    false
                }
            }
        }
    }

    /// Has the actor to itself.
    pub async fn alone(&mut self, number: u64) -> u64 {
        self.at_gate(number).await
    }

    pub async fn visit_itself(&mut self, this: &This<Self>) -> bool {
        let refused = this.visit(|desk| desk.notes.clear()).await;
        refused.unwrap_err().kind == CallErrorKind::CallCycle
    }
}

impl Desk {
    fn new() -> (Desk, Outside) {
        let (gate, alive) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let (says, heard) = unbounded_channel();
        let desk = Desk { gate: gate.clone(), says, alive: alive.clone(), notes: Vec::new() };
        (desk, Outside { gate, heard, alive })
    }

    fn at_gate(&mut self, number: u64) -> impl Future<Output = u64> + Send + use<> {
        let (gate, says, witness) =
            (self.gate.clone(), self.says.clone(), Witness::of(&self.alive));
        let _ = says.send(format!("{number} begins"));
        async move {
            gate.acquire().await.unwrap().forget();
            let _ = says.send(format!("{number} ends"));
            drop(witness);
            number
        }
    }
}

impl Life for Desk {
    async fn stopped(&mut self, _: &This<Desk>, reason: &Reason) {
        let alive = self.alive.load(Ordering::SeqCst);
        let _ = self.says.send(format!("stopped with {alive}: {reason}"));
    }
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), work).await.unwrap()
}

fn of(most: usize) -> ActorOptions {
    ActorOptions::default().side_by_side(most)
}

#[tokio::test]
async fn as_many_as_may_run_meet_at_a_barrier() {
    let desk = Desk::new().0.spawn();
    let barrier = Arc::new(Barrier::new(256));
    let asks: Vec<_> =
        (0..256).map(|_| desk.meet(Here(barrier.clone())).try_ask().unwrap()).collect();
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
    assert_eq!(within(notes).await.unwrap(), []);
    assert_eq!(outside.alive.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn the_actor_goes_on_with_plain_calls_and_futures_with_an_async_one() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let first = desk.wait(1).try_ask().unwrap();
    assert_eq!(desk.notes().ask().await.unwrap(), []);
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

/// Numbers its calls by key, with pauses between the first part and the end.
struct Ledger {
    pauses: u64,
    /// Of each key: the call that runs, and how many have ended.
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
        // Behind them all, and each key's last call is waited for.
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
    assert_eq!(desk.notes().ask().await.unwrap(), []);
    // Those that wait for their key count: this is the fifth.
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
    assert_eq!(desk.notes().ask().await.unwrap(), []);
    drop(second);
    outside.gate.add_permits(2);
    assert_eq!(within(first).await.unwrap(), 1);
    assert_eq!(within(third).await.unwrap(), 3);
    assert_eq!(outside.hears(4).await, ["1 begins", "1 ends", "3 begins", "3 ends"]);
}

#[tokio::test]
async fn a_suspended_actor_begins_nothing_and_lets_end_what_has_begun() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let (first, second) =
        (desk.in_order("a", 1).try_ask().unwrap(), desk.in_order("a", 2).try_ask().unwrap());
    assert_eq!(outside.hears(1).await, ["1 begins"]);
    let handle = desk.handle().unwrap();
    handle.suspend();
    outside.gate.add_permits(2);
    assert_eq!(within(first).await.unwrap(), 1);
    desk.visit(|_| ()).await.unwrap();
    assert_eq!(outside.hears(1).await, ["1 ends"]);
    outside.hears_nothing();
    handle.resume();
    assert_eq!(within(second).await.unwrap(), 2);
}

#[tokio::test]
async fn the_end_of_a_future_comes_back_to_the_state() {
    let (desk, outside) = Desk::new();
    let desk = desk.spawn();
    let asks: Vec<_> = (0..3).map(|number| desk.note(number).try_ask().unwrap()).collect();
    assert_eq!(desk.notes().ask().await.unwrap(), []);
    outside.gate.add_permits(3);
    // Side by side none of them is the first.
    let mut places = Vec::new();
    for ask in asks {
        places.push(within(ask).await.unwrap());
    }
    places.sort_unstable();
    assert_eq!(places, [1, 2, 3]);
    let mut notes = desk.notes().ask().await.unwrap();
    notes.sort_unstable();
    assert_eq!(notes, [0, 1, 2]);
}

#[tokio::test]
async fn a_killed_actor_frees_all_who_ask() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let mut asks: Vec<_> = (0..3).map(|number| desk.wait(number).try_ask().unwrap()).collect();
    asks.extend((3..6).map(|number| desk.in_order("a", number).try_ask().unwrap()));
    outside.hears(4).await;
    let handle = desk.handle().unwrap();
    handle.kill();
    for ask in asks {
        assert_eq!(within(ask).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    }
    assert_eq!(within(handle.ended()).await, Reason::Killed);
    assert_eq!(outside.alive.load(Ordering::SeqCst), 0);
    assert!(outside.heard.recv().await.is_none(), "no hook runs");
}

#[tokio::test]
async fn a_panic_ends_the_actor_and_only_its_own_asker_hears_of_it() {
    for first_part in [true, false] {
        let (desk, mut outside) = Desk::new();
        let desk = desk.spawn();
        let bad = match first_part {
            true => desk.panic_first(),
            false => desk.panic_later(),
        };
        let waits = (!first_part).then(|| bad.try_ask().unwrap());
        let others: Vec<_> =
            (0..3).map(|number| desk.in_order("a", number).try_ask().unwrap()).collect();
        outside.hears(1).await;
        outside.gate.add_permits(1);
        let outcome = match waits {
            Some(ask) => within(ask).await,
            None => within(desk.panic_first().try_ask().unwrap()).await,
        };
        assert_eq!(outcome.unwrap_err().kind, CallErrorKind::Panicked);
        let others = others.into_iter().skip(usize::from(first_part));
        for ask in others {
            assert_eq!(within(ask).await.unwrap_err().kind, CallErrorKind::ActorStopped);
        }
        let reason = within(desk.handle().unwrap().ended()).await;
        assert_eq!(reason, Reason::Panicked("on purpose".into()));
        assert_eq!(outside.alive.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn a_panic_waits_for_the_async_call_at_hand() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let bad = desk.panic_later().try_ask().unwrap();
    let alone = desk.alone(7).try_ask().unwrap();
    outside.hears(2).await;
    outside.gate.add_permits(1);
    assert_eq!(within(bad).await.unwrap_err().kind, CallErrorKind::Panicked);
    assert!(!desk.handle().unwrap().is_ended());
    outside.gate.add_permits(1);
    assert_eq!(within(alone).await.unwrap(), 7);
    let reason = within(desk.handle().unwrap().ended()).await;
    assert_eq!(reason, Reason::Panicked("on purpose".into()));
}

#[tokio::test]
async fn stop_waits_for_what_has_begun_and_begins_nothing() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let note = desk.note(1).try_ask().unwrap();
    let first = desk.in_order("a", 2).try_ask().unwrap();
    let second = desk.in_order("a", 3).try_ask().unwrap();
    outside.hears(2).await;
    let handle = desk.handle().unwrap();
    handle.stop();
    let late = desk.notes().try_ask().unwrap();
    assert_eq!(within(second).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert!(!handle.is_ended());
    outside.gate.add_permits(2);
    assert_eq!(within(note).await.unwrap(), 1, "it may come back to the state");
    assert_eq!(within(first).await.unwrap(), 2);
    assert_eq!(within(late).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert_eq!(within(handle.ended()).await, Reason::Shutdown);
    let heard = outside.hears(3).await;
    assert_eq!(heard, ["1 ends", "2 ends", "stopped with 0: it was asked to stop"]);
}

#[tokio::test]
async fn an_actor_that_stops_can_be_killed() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let ask = desk.wait(1).try_ask().unwrap();
    outside.hears(1).await;
    let handle = desk.handle().unwrap();
    handle.stop();
    tokio::task::yield_now().await;
    assert!(!handle.is_ended());
    handle.kill();
    assert_eq!(within(ask).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert_eq!(within(handle.ended()).await, Reason::Killed);
}

#[tokio::test]
async fn drain_and_the_last_reference_wait_for_all() {
    for drains in [true, false] {
        let (desk, mut outside) = Desk::new();
        let desk = desk.spawn_with(of(2));
        let handle = desk.handle().unwrap();
        for number in 0..3 {
            desk.in_order("a", number).tell().await.unwrap();
        }
        desk.wait(3).tell().await.unwrap();
        assert_eq!(outside.hears(1).await, ["0 begins"]);
        if drains {
            handle.drain();
        } else {
            drop(desk);
        }
        tokio::task::yield_now().await;
        assert!(!handle.is_ended());
        outside.gate.add_permits(4);
        let reason = within(handle.ended()).await;
        assert_eq!(reason, if drains { Reason::Shutdown } else { Reason::Normal });
        assert_eq!(outside.hears(8).await.len(), 8);
    }
}

/// Asks another desk, from a future or with the actor held up.
#[derive(Default)]
struct Neighbour {
    other: Option<NeighbourRef>,
}

#[wigwag::actor]
impl Neighbour {
    pub fn meet(&mut self, other: Option<NeighbourRef>) {
        self.other = other;
    }

    #[wigwag::handler(side_by_side)]
    pub fn beside(&mut self, this: &This<Self>, hops: u64) -> impl Future<Output = u64> {
        // A reference of its own, which may be the only one by then.
        let (other, this) = (self.other.clone().unwrap(), this.reference());
        async move {
            let hops = match hops {
                0 => 0,
                hops => other.held_up(hops - 1).ask().await.unwrap_or(1000),
            };
            drop(this);
            hops + 1
        }
    }

    pub async fn held_up(&mut self, hops: u64) -> u64 {
        let other = self.other.clone().unwrap();
        let asked = match hops {
            0 => return 0,
            hops if hops % 2 == 0 => other.held_up(hops - 1).ask().await,
            hops => other.beside(hops - 1).ask().await,
        };
        match asked {
            Ok(hops) => hops + 1,
            Err(error) if error.error().kind == CallErrorKind::CallCycle => 500,
            Err(_) => 2000,
        }
    }
}

#[tokio::test]
async fn a_circle_through_a_future_is_answered_and_one_without_is_refused() {
    let (first, second) = (Neighbour::default().spawn(), Neighbour::default().spawn());
    first.meet(Some(second.clone())).ask().await.unwrap();
    second.meet(Some(first.clone())).ask().await.unwrap();
    // first.beside → second.held_up → first.beside → second: held up, so it is asked no further.
    assert_eq!(within(first.beside(2).ask()).await.unwrap(), 3);
    // first.held_up → second.held_up → first.beside, which cannot begin: a circle.
    assert_eq!(within(first.held_up(2).ask()).await.unwrap(), 501);
    let told = first.beside(2).try_ask().unwrap();
    assert_eq!(within(told).await.unwrap(), 3);
    second.meet(None).ask().await.unwrap();
    first.meet(None).ask().await.unwrap();
}

#[tokio::test]
async fn an_actor_that_only_its_futures_keep_is_woken_by_new_calls() {
    let (desk, mut outside) = Desk::new();
    let desk = desk.spawn();
    let handle = desk.handle().unwrap();
    let this = desk.itself().ask().await.unwrap().0;
    desk.wait(1).tell().await.unwrap();
    drop(desk);
    assert_eq!(outside.hears(1).await, ["1 begins"]);
    tokio::task::yield_now().await;
    let again = this.reference();
    assert_eq!(within(again.notes().ask()).await.unwrap(), []);
    drop((again, this));
    outside.gate.add_permits(1);
    assert_eq!(within(handle.ended()).await, Reason::Normal);
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
