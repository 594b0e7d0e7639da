//! A message longer than a frame arrives whole and in its turn.

use wigwag::{DeliveryStatus, NodeOptions};
use wigwag_testkit::ledger::in_time;

use super::{LONGEST, MIB, PATIENCE, Stage, StoreRef, payload};

/// Lengths around the size of a frame, and beyond.
const LENGTHS: [usize; 8] = [65_400, 65_520, 65_521, 65_522, 65_536, 70_000, 131_072, 3 * MIB];

/// Sends one payload of each length in every way, and gets it back.
async fn send_in_all_ways(store: StoreRef, lengths: &[usize]) -> Vec<u64> {
    let mut sent = Vec::new();
    for &length in lengths {
        store.put(1, payload(length, 1)).tell().await.unwrap();
        let back = store.swap(2, payload(length, 2)).ask().await.unwrap();
        assert!(back == payload(length, 2), "{length} bytes came back changed");
        let receipt = store.put(3, payload(length, 3)).receipt().await.unwrap();
        assert_eq!(receipt.await, DeliveryStatus::Delivered);
        let limited = store.swap(4, payload(length, 4)).timeout(PATIENCE).ask().await.unwrap();
        assert!(limited == payload(length, 4));
        assert!(store.get(5, length as u64).ask().await.unwrap() == payload(length, 5));
        sent.extend([length as u64; 4]);
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_and_replies_of_any_length_arrive_whole_in_both_codecs() {
    for fixed_width in [true, false] {
        let options = NodeOptions::default().fixed_width(fixed_width);
        let stage = Stage::with(options.clone(), options).await;
        let outside = in_time(PATIENCE, send_in_all_ways(stage.store.clone(), &LENGTHS)).await;
        let in_turn = wigwag::spawn(send_in_all_ways(stage.store.clone(), &LENGTHS));
        let in_turn = in_time(PATIENCE, in_turn).await.unwrap();
        let longest = in_time(PATIENCE, send_in_all_ways(stage.store.clone(), &[LONGEST])).await;
        assert_eq!(stage.all().await, [outside, in_turn, longest].concat());
        in_time(PATIENCE, stage.client.flush()).await.unwrap();
    }
}

/// Short calls before and behind a long one, some of them in runs, from one sender.
async fn send_mixed(store: StoreRef) -> Vec<u64> {
    let mut sent = Vec::new();
    for round in 0..12_u64 {
        for number in 0..round * 7 {
            store.note(number).tell().await.unwrap();
            sent.push(number);
        }
        let length = 60_000 + 50_000 * round as usize;
        store.put(7, payload(length, 7)).tell().await.unwrap();
        sent.push(length as u64);
        if round % 3 == 0 {
            store.put(8, payload(MIB, 8)).tell().await.unwrap();
            sent.push(MIB as u64);
        }
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_calls_keep_their_place_between_short_ones() {
    let stage = Stage::new().await;
    let outside = in_time(PATIENCE, send_mixed(stage.store.clone())).await;
    assert_eq!(stage.all().await, outside);
    let in_turn = wigwag::spawn(send_mixed(stage.store.clone()));
    let in_turn = in_time(PATIENCE, in_turn).await.unwrap();
    assert_eq!(stage.all().await, [outside, in_turn].concat());
}

/// A turn of another thread that has sent to the actor before, and holds credit, comes behind a long
/// call that it has heard of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_another_task_comes_behind_the_long_call_that_it_has_heard_of() {
    let stage = Stage::new().await;
    // The window grows first, so that no call waits for credit. Parts of the message are left when
    // those that are not acknowledged have their share of the outbox.
    let (length, first) = (3 * MIB, 4 * MIB - 1000);
    stage.store.put(1, payload(first, 1)).tell().await.unwrap();
    let mut expected = vec![first as u64];
    // Made before, so that the long call follows at once what the turn holds.
    let long = payload(length, 2);
    for round in 0..20_u64 {
        in_time(PATIENCE, stage.store.echo(round).ask()).await.unwrap();
        let (told, hears) = std::sync::mpsc::channel();
        let (begun, begins) = tokio::sync::oneshot::channel();
        let store = stage.store.clone();
        let holder = wigwag::spawn(async move {
            store.note(round).tell().await.unwrap();
            store.note(round).tell().await.unwrap();
            begun.send(()).unwrap();
            // The turn stays open, on its own thread, until the long call was sent.
            tokio::task::block_in_place(|| hears.recv().unwrap());
            store.note(round + 100).tell().await.unwrap();
            store.note(round + 100).tell().await.unwrap();
        });
        begins.await.unwrap();
        stage.store.put(2, long.clone()).tell().await.unwrap();
        told.send(()).unwrap();
        in_time(PATIENCE, holder).await.unwrap();
        expected.extend([round, round, length as u64, round + 100, round + 100]);
    }
    assert_eq!(stage.all().await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_asks_of_a_pipeline_may_be_long_and_so_may_their_answers() {
    let stage = Stage::new().await;
    let mut swaps = stage.store.pipeline(16).unwrap();
    let mut answered = Vec::new();
    for round in 0..40_usize {
        let length = if round % 3 == 0 { 200_000 + round } else { round };
        if swaps.is_full() {
            answered.push(in_time(PATIENCE, swaps.answer()).await.unwrap());
        }
        let swap = stage.store.swap(3, payload(length, 3));
        in_time(PATIENCE, swaps.push(swap, length)).await.unwrap();
    }
    while let Some(answer) = in_time(PATIENCE, swaps.answer()).await {
        answered.push(answer);
    }
    assert_eq!(answered.len(), 40);
    for (length, answer) in answered {
        assert!(answer.unwrap() == payload(length, 3), "{length}");
    }
}
