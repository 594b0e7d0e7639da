use std::collections::HashSet;

use super::*;
use crate::figures::statistics::SplitMix64;

fn value_of(sequence: u64) -> u64 {
    sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn message(sequence: u64) -> (u64, u64) {
    (sequence, value_of(sequence))
}

/// Sends 100 messages of one sender through `damage`; the verdict as it is sent home: sent,
/// received, lost, duplicated, reordered, corrupt.
fn run(damage: impl FnOnce(&mut Vec<(u64, u64)>)) -> [u64; 6] {
    let (mut sent, mut received) = (SentDigest::default(), SequenceDigest::new(1));
    let mut wire: Vec<_> = (0..100).map(message).collect();
    for (sequence, value) in &wire {
        assert_eq!(sent.stamp(*value), *sequence);
    }
    damage(&mut wire);
    for (sequence, value) in wire {
        received.accept(0, sequence, value);
    }
    received.verdict_against(&[sent]).to_words()
}

#[test]
fn a_clean_run_verifies() {
    let words = run(|_| ());
    assert_eq!(words, [100, 100, 0, 0, 0, 0]);
    assert!(Verified::from_words(words).is_clean());
    assert!(SequenceDigest::new(1).verdict_against(&[SentDigest::default()]).is_clean());
}

#[test]
fn a_run_with_any_count_of_damage_is_not_clean() {
    for place in 0..6 {
        let mut words = [100, 100, 0, 0, 0, 0];
        words[place] += 1;
        assert!(!Verified::from_words(words).is_clean(), "{words:?}");
    }
}

#[test]
fn a_dropped_message_is_lost_wherever_it_stood() {
    for dropped in 0..100 {
        let found = run(|wire| wire.retain(|(number, _)| *number != dropped));
        assert_eq!(found, [100, 99, 1, 0, 0, 0]);
    }
}

#[test]
fn a_doubled_message_is_found_wherever_it_comes_again() {
    for again in 7..=100 {
        let found = run(|wire| wire.insert(again, wire[6]));
        assert_eq!(found, [100, 101, 0, 1, 0, 0]);
    }
}

#[test]
fn a_duplicate_does_not_mask_a_loss() {
    assert_eq!(run(|wire| wire[40] = wire[10]), [100, 100, 1, 1, 0, 0]);
    assert_eq!(run(|wire| wire[99] = wire[98]), [100, 100, 1, 1, 0, 0]);
}

#[test]
fn swapped_neighbours_are_one_message_out_of_order() {
    for first in 0..99 {
        assert_eq!(run(|wire| wire.swap(first, first + 1)), [100, 100, 0, 0, 1, 0]);
    }
}

#[test]
fn a_gap_may_be_filled_from_any_side() {
    for late in [[20, 21, 22], [22, 21, 20], [21, 20, 22], [21, 22, 20]] {
        let found = run(|wire| {
            wire.drain(20..23);
            wire.extend(late.map(message));
        });
        assert_eq!(found, [100, 100, 0, 0, 3, 0]);
    }
}

#[test]
fn any_changed_bit_of_a_value_is_found_even_out_of_order() {
    for bit in 0..64 {
        assert_eq!(run(|wire| wire[50].1 ^= 1 << bit), [100, 100, 0, 0, 0, 1]);
    }
    let found = run(|wire| {
        wire[50].1 ^= 1;
        wire.swap(50, 51);
    });
    assert_eq!(found, [100, 100, 0, 0, 1, 1]);
}

/// The top bit is where sums of plain products cancel.
#[test]
fn two_changes_do_not_cancel() {
    for bit in 0..64 {
        let found = run(|wire| {
            wire[50].1 ^= 1 << bit;
            wire[60].1 ^= 1 << bit;
        });
        assert_eq!(found, [100, 100, 0, 0, 0, 1], "bit {bit}");
    }
}

#[test]
fn values_that_changed_places_are_found() {
    let found = run(|wire| (wire[3].1, wire[4].1) = (wire[4].1, wire[3].1));
    assert_eq!(found, [100, 100, 0, 0, 0, 1]);
}

#[test]
fn a_changed_number_is_one_lost_and_one_that_should_not_be() {
    assert_eq!(run(|wire| wire[50].0 = u64::MAX), [100, 100, 1, 0, 0, 1]);
    assert_eq!(run(|wire| wire[99].0 = 100), [100, 100, 1, 0, 0, 1]);
    // Within the jump that a loss may make: what comes behind it seems to come late.
    assert_eq!(run(|wire| wire[50].0 = 5_000), [100, 100, 1, 0, 49, 1]);
    // Within the numbers sent, it is a duplicate.
    assert_eq!(run(|wire| wire[50].0 = 49), [100, 100, 1, 1, 0, 0]);
}

#[test]
fn a_gap_at_the_end_is_a_loss() {
    assert_eq!(run(|wire| wire.truncate(60)), [100, 60, 40, 0, 0, 0]);
    assert_eq!(run(Vec::clear), [100, 0, 100, 0, 0, 0]);
}

/// Odd numbers below 20 make ten gaps, and four fit.
#[test]
fn more_gaps_than_fit_are_lost_and_what_fills_them_late_is_not_guessed() {
    let odd = |number: &u64| number % 2 == 1 && *number < 20;
    assert_eq!(run(|wire| wire.retain(|(it, _)| !odd(it))), [100, 90, 10, 0, 0, 0]);
    let late = run(|wire| {
        wire.retain(|(number, _)| !odd(number));
        wire.extend((0..20).filter(odd).map(message));
    });
    assert_eq!(late, [100, 100, 6, 0, 4, 6]);
    let below_the_forgotten = run(|wire| {
        wire.retain(|(number, _)| !odd(number));
        wire.push(message(2));
    });
    assert_eq!(below_the_forgotten, [100, 91, 10, 1, 0, 0]);
}

/// A gap of 80 which each late number splits: the fourth split is one too many.
#[test]
fn a_split_too_many_forgets_the_highest_gap() {
    let late = |numbers: &'static [u64]| {
        run(|wire| {
            wire.drain(10..90);
            wire.extend(numbers.iter().copied().map(message));
        })
    };
    assert_eq!(late(&[20, 30, 40, 50]), [100, 24, 76, 0, 4, 0]);
    assert_eq!(late(&[20, 30, 40, 50, 25, 60]), [100, 26, 75, 0, 5, 1]);
}

#[test]
fn each_of_several_interleaved_senders_is_held_to_its_own_numbers() {
    let (mut sent, mut received) = ([SentDigest::default(); 3], SequenceDigest::new(3));
    for step in 0..300_u64 {
        let sender = (value_of(step) >> 62) as usize % 3;
        let sequence = sent[sender].stamp(value_of(step));
        received.accept(sender, sequence, value_of(step));
    }
    assert!(received.verdict_against(&sent).is_clean());
    assert!(received.verdict(&sent.map(|sender| sender.count)).is_clean());

    let mut crossed = received.clone();
    crossed.accept(2, sent[2].count, 5);
    assert_eq!(crossed.verdict_against(&sent).to_words(), [300, 301, 0, 0, 0, 1]);
    let mut strange = received.clone();
    strange.accept(3, 0, 5);
    assert_eq!(strange.verdict_against(&sent).to_words(), [300, 301, 0, 0, 0, 1]);
    sent[2].stamp(1);
    assert_eq!(received.verdict_against(&sent).to_words(), [301, 300, 1, 0, 0, 0]);
}

/// The model remembers every message; two random damages a run open no more gaps than fit.
#[test]
fn counts_agree_with_a_set_that_remembers_everything() {
    for seed in 0..2_000 {
        let (mut random, mut model) = (SplitMix64::new(seed), Vec::new());
        let mut pick = |length: usize| (random.draw() % length as u64) as usize;
        let [sent, received, lost, duplicated, _, corrupt] = run(|wire| {
            for _ in 0..2 {
                let (from, to) = (pick(wire.len()), pick(wire.len()));
                match pick(3) {
                    0 => drop(wire.drain(from.min(to)..from.max(to))),
                    1 => wire.insert(to, wire[from]),
                    _ => wire.swap(from, to),
                }
                if wire.is_empty() {
                    break;
                }
            }
            model = wire.clone();
        });
        let distinct = model.iter().collect::<HashSet<_>>().len() as u64;
        let expected = [100, model.len() as u64, 100 - distinct, received - distinct, 0];
        assert_eq!([sent, received, lost, duplicated, corrupt], expected, "seed {seed}");
    }
}

#[test]
fn a_sender_without_arrivals_has_lost_all_messages() {
    assert_eq!(SequenceDigest::new(1).verdict(&[2, 3]).to_words(), [5, 0, 5, 0, 0, 0]);
}

#[test]
fn equal_values_are_told_apart_by_their_numbers() {
    let (mut sent, mut received) = (SentDigest::default(), SequenceDigest::new(1));
    for _ in 0..10 {
        received.accept(0, sent.stamp(100), 100);
    }
    assert!(received.matches(0, &sent) && received.content(0) == sent.content);
    sent.stamp(100);
    assert!(!received.matches(0, &sent) && !received.matches(1, &sent));
}
