//! Which order a seed gives: always the same, and among many seeds each.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use tokio::task::yield_now;
use wigwag::{Actor, testing};

type Journal = Arc<Mutex<Vec<(usize, u32)>>>;

/// One of a ring, in which a message goes on until its steps are done.
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

    /// Passes it on to two others, and so on: `left` goes down with each.
    pub fn pass(&mut self, left: u32) {
        self.note(left);
        let Some(left) = left.checked_sub(1) else { return };
        let count = self.others.len();
        for step in [1, 2] {
            self.others[(self.number + step) % count].pass(left).try_tell().unwrap();
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

/// What five actors do that tell each other things; sixty-two calls in all.
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
fn the_same_seed_tells_the_same_story() {
    let stories: Vec<_> = (0..50).map(story).collect();
    let again: Vec<_> = (0..50).map(story).collect();
    assert_eq!(stories, again);
    let different: BTreeSet<_> = stories.iter().collect();
    assert!(different.len() > 45, "{} stories of 50 seeds", different.len());
}

/// Actors that were woken in one order, and write down in which one they run.
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

/// Two calls of one sender lie together, and the call of another actor comes before, between or behind
/// them, but they keep their order.
#[test]
fn what_lies_together_is_not_handled_in_one_go() {
    let run = |seed| {
        testing::run(seed, async {
            let journal = Journal::default();
            let members = members(2, &journal);
            for (member, call) in [(0, 1), (0, 0), (1, 0)] {
                members[member].note(call).tell().await.unwrap();
            }
            for member in &members {
                member.meet(Vec::new()).ask().await.unwrap();
            }
            let journal = journal.lock().unwrap();
            journal.clone()
        })
    };
    let seen: BTreeSet<_> = (0..100).map(run).collect();
    let (first, second, other) = ((0, 1), (0, 0), (1, 0));
    let all =
        [[first, second, other], [first, other, second], [other, first, second]].map(Vec::from);
    assert_eq!(seen, BTreeSet::from(all));
}

/// The order outside of the kit, which it must leave alone.
#[tokio::test]
async fn without_the_kit_who_was_woken_first_runs_first() {
    // The woken ones wait in line, since whoever woke them is no actor.
    assert_eq!(woken(4, &Journal::default()).await, [0, 1, 2, 3]);
}

/// How much was passed on when the body, which has waited for nothing, has its turn again.
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
