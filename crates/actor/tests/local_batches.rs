//! Batches of tells to actors of the same process: together, in order, within the mailbox's room.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod tally;

use std::future::{Future, poll_fn};
use std::sync::mpsc::channel;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use tokio::time::timeout;
use wigwag_actor::limits::TELLS_PER_STEP;
use wigwag_actor::turn::{self, in_turns};
use wigwag_actor::{Actor, ActorOptions, AskError, Call, CallErrorKind};

use tally::{Tally, TallyMessage, TallyRef};

/// No test comes near this limit; it only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

fn spawn(capacity: usize) -> TallyRef {
    let tally = Tally { keep_notes: true, ..Tally::default() };
    tally.spawn_with(ActorOptions::default().mailbox_calls(capacity))
}

/// Tells until there is no room, from number `from` on; returns the next number.
fn fill(tally: &TallyRef, mut from: u64) -> u64 {
    while tally.note(from).try_tell().is_ok() {
        from += 1;
    }
    from
}

#[tokio::test(start_paused = true)]
async fn a_turn_fills_the_mailbox_to_its_room_and_no_further() {
    for capacity in [1, 2, 3, 5, 63, 64, 65, 1000] {
        let tally = spawn(capacity);
        let mut expected = 0;
        for _ in 0..5 {
            let next = in_turns(async { fill(&tally, expected) }).await;
            assert_eq!(next - expected, capacity as u64, "with room for {capacity}");
            expected = next;
            // Leased places came back: the next round finds as many.
            assert_eq!(tally.sum().ask().await.unwrap(), (0..expected).sum::<u64>());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn room_that_a_turn_leased_and_did_not_use_is_free_for_others() {
    let tally = spawn(8);
    in_turns(async {
        // The first tell goes by itself, the second leases places for more.
        tally.note(1).try_tell().unwrap();
        tally.note(2).try_tell().unwrap();
    })
    .await;
    assert_eq!(fill(&tally, 0), 6);
}

/// The sender is parked between leasing places and publishing its messages there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_that_is_parked_with_places_in_its_hands_stops_nobody() {
    const OTHERS: u64 = 4;
    const EACH: u64 = 5_000;
    for capacity in [2, 16, 1024] {
        let tally = spawn(capacity);
        let ((parks, is_parked), (lets_go, waits)) = (channel(), channel());
        let holder = tally.clone();
        let holder = thread::spawn(move || {
            let turn = turn::open(false);
            // The first tell goes by itself; places are leased for the second.
            holder.note(1).try_tell().unwrap();
            holder.note(2).try_tell().unwrap();
            parks.send(()).unwrap();
            waits.recv().unwrap();
            drop(turn);
        });
        is_parked.recv().unwrap();
        let others: Vec<_> = (0..OTHERS)
            .map(|_| {
                let tally = tally.clone();
                tokio::spawn(async move {
                    for _ in 0..EACH {
                        tally.note(10).tell().await.unwrap();
                    }
                })
            })
            .collect();
        for other in others {
            timeout(PATIENCE, other).await.expect("nobody waits for who is parked").unwrap();
        }
        // Calls that the holder has sent before are handled before.
        let all = 1 + 2 + 10 * OTHERS * EACH;
        assert_eq!(tally.sum().ask().await.unwrap(), all, "with room for {capacity}");
        lets_go.send(()).unwrap();
        holder.join().unwrap();
        assert_eq!(tally.sum().ask().await.unwrap(), all, "its turn sends nothing twice");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_keeps_the_order_of_all_that_it_sends() {
    let (first, second) = (spawn(50), spawn(1000));
    let (told, sums) = in_turns(async {
        let mut sums = Vec::new();
        for number in 0..300 {
            // This tell waits for room now and then, which takes another path and ends the turn.
            first.note(number).tell().await.unwrap();
            second.note(number).try_tell().unwrap();
            if number % 7 == 0 {
                sums.push((number, second.sum().try_ask().unwrap()));
            }
        }
        let mut seen = Vec::new();
        for (number, sum) in sums {
            seen.push((number, sum.await.unwrap()));
        }
        (300, seen)
    })
    .await;
    for (number, sum) in sums {
        assert_eq!(sum, (0..=number).sum::<u64>(), "an ask behind number {number}");
    }
    for tally in [&first, &second] {
        assert_eq!(tally.sum().ask().await.unwrap(), (0..told).sum::<u64>());
    }
}

#[tokio::test(start_paused = true)]
async fn senders_that_wait_go_before_those_that_lease() {
    let tally = spawn(4);
    assert_eq!(fill(&tally, 0), 4);
    let mut waiting = Box::pin(tally.note(100).tell());
    assert!(poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context))).await.is_pending());
    in_turns(async {
        tally.note(200).try_tell().unwrap_err();
        tally.note(201).try_tell().unwrap_err();
    })
    .await;
    waiting.await.unwrap();
    tally.note(300).tell().await.unwrap();
    assert_eq!(tally.sum().ask().await.unwrap(), 1 + 2 + 3 + 100 + 300);
}

#[tokio::test(start_paused = true)]
async fn the_last_reference_may_go_before_the_turn_ends() {
    let tally = Tally::default();
    let gate = tally.gate.clone();
    let tally = tally.spawn();
    in_turns(async move {
        for number in 0..10 {
            tally.note(number).try_tell().unwrap();
        }
        let stand = Call::<Tally, Vec<u64>>::new(tally.as_ref(), TallyMessage::Stand);
        stand.try_tell().unwrap();
    })
    .await;
    gate.reached.notified().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ask_behind_tells_of_a_turn_during_which_the_actor_stopped_comes_back() {
    let tally = spawn(100);
    let exported = tally.as_ref().exported().unwrap();
    let other = tally.clone();
    let (lease, leased) = channel();
    let stopper = thread::spawn(move || {
        leased.recv().unwrap();
        let panic = Call::<Tally, ()>::new(other.as_ref(), TallyMessage::Panic);
        panic.try_tell().unwrap();
    });
    let asked = tokio::task::spawn_blocking(move || {
        let turn = turn::open(false);
        tally.note(1).try_tell().unwrap();
        tally.note(2).try_tell().unwrap();
        lease.send(()).unwrap();
        while !exported.is_stopped() {
            thread::yield_now();
        }
        // The places leased before still belong to this turn; an ask takes none.
        tally.note(3).try_tell().unwrap();
        let refused = tally.sum().try_ask().map(drop).unwrap_err();
        drop(turn);
        refused.error.kind
    });
    assert_eq!(asked.await.unwrap(), CallErrorKind::ActorStopped);
    stopper.join().unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_ask_in_a_turn_of_many_tells_comes_back() {
    let tally = spawn(1000);
    let outcome: Result<u64, AskError<TallyMessage>> = in_turns(async {
        for number in 0..100 {
            tally.note(number).try_tell().unwrap();
        }
        tally.sum().ask().await
    })
    .await;
    assert_eq!(outcome.unwrap(), (0..100).sum::<u64>());
}

/// The oldest batches are published before the end of the turn, and what follows them stays behind.
#[tokio::test(start_paused = true)]
async fn a_turn_that_sends_to_very_many_actors_keeps_the_order_of_each() {
    const ACTORS: usize = 100;
    const ROUNDS: u64 = 7;
    let tallies: Vec<_> = (0..ACTORS).map(|_| spawn(1024)).collect();
    let sums = in_turns(async {
        let mut sums = Vec::new();
        for round in 0..ROUNDS {
            for (at, tally) in tallies.iter().enumerate() {
                // Three in a row, of which two are in a batch.
                for number in 0..3 {
                    tally.note(3 * round + number).try_tell().unwrap();
                }
                if at as u64 % 3 == round % 3 {
                    sums.push((3 * round + 3, tally.sum().try_ask().unwrap()));
                }
            }
        }
        sums
    })
    .await;
    for (told, sum) in sums {
        assert_eq!(sum.await.unwrap(), (0..told).sum::<u64>(), "an ask behind {told} tells");
    }
    for tally in &tallies {
        assert_eq!(tally.sum().ask().await.unwrap(), (0..3 * ROUNDS).sum::<u64>());
    }
}

/// Each of the actors has room for all.
#[tokio::test(start_paused = true)]
async fn a_task_that_tells_many_actors_lets_others_run() {
    let tallies = [spawn(1 << 20), spawn(1 << 20)];
    let most = 128 * u64::from(TELLS_PER_STEP);
    let telling = in_turns(async {
        for number in 0..2 * most {
            tallies[number as usize % 2].note(number).tell().await.unwrap();
        }
    });
    let mut telling = std::pin::pin!(telling);
    let mut polls = 0;
    poll_fn(|context| {
        polls += 1;
        telling.as_mut().poll(context)
    })
    .await;
    assert!((2..=4).contains(&polls), "{polls}");
    for (at, tally) in (0..).zip(&tallies) {
        let sum = tally.sum().ask().await.unwrap();
        assert_eq!(sum, (0..2 * most).skip(at).step_by(2).sum::<u64>());
    }
}
