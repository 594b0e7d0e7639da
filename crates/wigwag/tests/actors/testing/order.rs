//! The order that a seed gives: always equal for one seed, and every possible order among many
//! seeds.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tokio::task::yield_now;
use wigwag::{Actor, testing};

type Journal = Arc<Mutex<Vec<(usize, u32)>>>;

/// A member of a ring, in which a message is passed on until its steps are done.
struct Member {
    number: usize,
    journal: Journal,
    others: Vec<MemberRef>,
}

#[wigwag::actor]
impl Member {
    pub fn meet(&mut self, others: Vec<MemberRef>) {
        self.others = others;
    }

    pub fn note(&mut self, call: u32) {
        self.journal.lock().unwrap().push((self.number, call));
    }

    /// Passes the call on to two others, which do likewise: `left` goes down with each.
    pub fn pass(&mut self, left: u32) {
        self.note(left);
        let Some(left) = left.checked_sub(1) else { return };
        let count = self.others.len();
        for step in [1, 2] {
            self.others[(self.number + step) % count].pass(left).try_tell().unwrap();
        }
    }

    pub async fn ask_the_next(&mut self, calls: [u32; 3]) {
        for call in calls {
            self.others[self.number + 1].note(call).ask().await.unwrap();
        }
    }

    pub async fn pass_slowly(&mut self, left: u32) {
        yield_now().await;
        self.pass(left);
    }
}

fn members(count: usize, journal: &Journal) -> Vec<MemberRef> {
    let member = |number| Member { number, journal: journal.clone(), others: Vec::new() }.spawn();
    (0..count).map(member).collect()
}

/// The calls of five actors that tell each other, sixty-two in all.
fn story(seed: u64) -> Vec<(usize, u32)> {
    let journal = Journal::default();
    testing::run(seed, async {
        let members = members(5, &journal);
        for member in &members {
            member.meet(members.clone()).tell().await.unwrap();
        }
        members[0].pass_slowly(4).tell().await.unwrap();
        yield_now().await;
        members[1].pass(4).tell().await.unwrap();
        while journal.lock().unwrap().len() < 62 {
            yield_now().await;
        }
    });
    let journal = journal.lock().unwrap();
    journal.clone()
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let stories: Vec<_> = (0..50).map(story).collect();
    let again: Vec<_> = (0..50).map(story).collect();
    assert_eq!(stories, again);
    let different: BTreeSet<_> = stories.iter().collect();
    assert!(different.len() > 45, "{} stories of 50 seeds", different.len());
}

/// Wakes actors in one order, and returns the order in which they run.
async fn woken(count: usize, journal: &Journal) -> Vec<usize> {
    let members = members(count, journal);
    for member in &members {
        member.pass(0).tell().await.unwrap();
    }
    for member in &members {
        member.meet(Vec::new()).ask().await.unwrap();
    }
    journal.lock().unwrap().iter().map(|(number, _)| *number).collect()
}

#[test]
fn every_order_of_four_actors_comes_up() {
    let seen: BTreeSet<Vec<usize>> = (0..400)
        .map(|seed| testing::run(seed, async { woken(4, &Journal::default()).await }))
        .collect();
    assert_eq!(seen.len(), 24, "{seen:?}");
}

/// The places at which another sender's call is handled among those of the first sender.
fn places_of_another(seeds: u64, story: impl AsyncFn(&Journal)) -> BTreeSet<usize> {
    let place = |seed| {
        let journal = Journal::default();
        testing::run(seed, story(&journal));
        let calls = journal.lock().unwrap();
        let own: Vec<u32> = calls.iter().filter(|call| call.1 > 0).map(|call| call.1).collect();
        assert_eq!(own, [1, 2, 3], "the order of one sender");
        calls.iter().position(|call| call.1 == 0).unwrap()
    };
    (0..seeds).map(place).collect()
}

#[test]
fn calls_in_one_chunk_are_not_handled_in_one_go() {
    let places = places_of_another(200, async |journal| {
        let members = members(2, journal);
        for (member, call) in [(0, 1), (0, 2), (0, 3), (1, 0)] {
            members[member].note(call).tell().await.unwrap();
        }
        for member in &members {
            member.meet(Vec::new()).ask().await.unwrap();
        }
    });
    assert_eq!(places, BTreeSet::from([0, 1, 2, 3]));
}

/// Without the kit the second and the third ask would find the actor idle and execute it inline.
#[test]
fn an_actor_that_is_asked_again_and_again_has_others_in_between() {
    let places = places_of_another(400, async |journal| {
        let members = members(3, journal);
        members[0].meet(members.clone()).ask().await.unwrap();
        let asks = members[0].ask_the_next([1, 2, 3]).try_ask().unwrap();
        members[2].note(0).tell().await.unwrap();
        asks.await.unwrap();
        members[2].meet(Vec::new()).ask().await.unwrap();
    });
    assert_eq!(places, BTreeSet::from([0, 1, 2, 3]));
}

/// The order without the kit, which the kit must leave alone.
#[tokio::test]
async fn without_the_kit_actors_run_in_the_order_of_their_wakes() {
    // The woken actors wait in the run queue, since the task that woke them is no actor.
    assert_eq!(woken(4, &Journal::default()).await, [0, 1, 2, 3]);
}

/// The number of calls handled by the time at which the body, which only yields, runs again.
#[test]
fn the_body_has_its_turn_anywhere_between_the_actors() {
    let run = |seed| {
        testing::run(seed, async {
            let journal = Journal::default();
            let members = members(6, &journal);
            for member in &members {
                member.pass(0).tell().await.unwrap();
            }
            yield_now().await;
            journal.lock().unwrap().len()
        })
    };
    let counts: BTreeSet<usize> = (0..200).map(run).collect();
    assert_eq!(counts, (0..=6).collect());
}
