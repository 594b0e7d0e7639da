//! Routers: the choice of the member that gets a call, also when members join and leave.

use std::collections::HashMap;

use wigwag::{
    Actor,
    groups::{Router, RouterError},
    lifecycle::Alive,
};

struct Worker(u64);

#[wigwag::actor]
impl Worker {
    pub fn number(&self) -> u64 {
        self.0
    }
}

fn workers(count: u64) -> Vec<WorkerRef> {
    (0..count).map(|number| Worker(number).spawn()).collect()
}

async fn numbers(picked: impl IntoIterator<Item = WorkerRef>) -> Vec<u64> {
    let mut numbers = Vec::new();
    for worker in picked {
        numbers.push(worker.number().ask().await.unwrap());
    }
    numbers
}

#[tokio::test]
async fn an_empty_router_says_so() {
    let router = Router::<Worker>::new();
    let worker = Worker(0).spawn();
    router.add(&worker);
    worker.handle().unwrap().kill();
    let picks =
        [router.pick(), router.pick_idlest(), router.pick_for("key"), router.pick_sticky("key")];
    for pick in picks {
        assert_eq!(pick.unwrap_err(), RouterError::Empty);
    }
    assert!(router.members().is_empty());
}

#[tokio::test]
async fn members_are_picked_in_turn_and_drop_out_when_they_end() {
    let all = workers(4);
    let router = Router::<Worker>::of(all.clone());
    router.add(&all[0]);
    assert_eq!(router.pick().unwrap().number().ask().await.unwrap(), 0);
    let picked = |count| (0..count).map(|_| router.pick().unwrap()).collect::<Vec<_>>();
    assert_eq!(numbers(picked(5)).await, [1, 2, 3, 0, 1]);
    all[0].handle().unwrap().kill();
    assert_eq!(numbers(picked(4)).await, [2, 3, 1, 2]);
    assert!(router.remove(&all[3]) && !router.remove(&all[3]));
    assert_eq!(numbers(picked(3)).await, [1, 2, 1]);
}

#[tokio::test]
async fn the_idlest_has_the_least_mail() {
    let all = workers(3);
    let router = Router::<Worker>::of(all.clone());
    for (worker, mail) in all.iter().zip([2, 1, 3]) {
        worker.handle().unwrap().suspend();
        (0..mail).for_each(|_| worker.number().try_tell().unwrap());
    }
    let mut picked = Vec::new();
    for _ in 0..4 {
        let worker = router.pick_idlest().unwrap();
        let handle = worker.handle().unwrap();
        worker.number().try_tell().unwrap();
        picked.push(all.iter().position(|one| one.handle().unwrap() == handle).unwrap());
    }
    // The queues begin at 2, 1, 3: the second member is picked, then the first of two equal ones,
    // and so on.
    assert_eq!(picked, [1, 0, 1, 0]);
}

#[tokio::test]
async fn one_more_member_takes_its_share_of_the_keys_and_nobody_elses() {
    const KEYS: u64 = 2_000;
    let mut all = workers(4);
    let router = Router::<Worker>::of(all.clone());
    let owners = async || {
        let picked: Vec<_> = (0..KEYS).map(|key| router.pick_for(&key).unwrap()).collect();
        numbers(picked).await
    };
    let before = owners().await;
    assert_eq!(before, owners().await);
    let fifth = Worker(4).spawn();
    router.add(&fifth);
    let after = owners().await;
    let moved: Vec<_> = before.iter().zip(&after).filter(|(old, new)| old != new).collect();
    assert!(moved.iter().all(|(_, new)| **new == 4), "keys move to the new member only");
    let share = moved.len() as u64;
    assert!((KEYS / 5 / 2..KEYS / 5 * 2).contains(&share), "{share} of {KEYS}");
    all.push(fifth);
    all[4].handle().unwrap().kill();
    assert_eq!(owners().await, before, "who goes leaves no trace");
}

#[tokio::test]
async fn a_key_sticks_to_its_member_while_that_lives() {
    let all = workers(2);
    let router = Router::<Worker>::of(all.clone());
    let owners = async || {
        let picked: Vec<_> = (0..100).map(|key| router.pick_sticky(&key).unwrap()).collect();
        numbers(picked).await
    };
    let before = owners().await;
    let more: Vec<_> = (2..10).map(|number| Worker(number).spawn()).collect();
    more.iter().for_each(|worker| router.add(worker));
    assert_eq!(owners().await, before);
    all[0].handle().unwrap().kill();
    let after = owners().await;
    let mut fates = HashMap::<bool, u32>::new();
    for (old, new) in before.iter().zip(&after) {
        assert!(*new != 0 && (*old == 0 || old == new));
        *fates.entry(*old == 0).or_default() += 1;
    }
    assert!(fates.len() == 2 && router.forget(&7) && !router.forget(&7));
    for key in 0..65_536 - 99 {
        router.pick_sticky(&(1_000 + key)).unwrap();
    }
    assert_eq!(router.pick_sticky("one more").unwrap_err(), RouterError::TooManyKeys);
    assert!(router.forget(&8) && router.pick_sticky("one more").is_ok());
}
