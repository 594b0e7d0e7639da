//! Sequences of numbered messages and what a receiver must have seen of them: each by itself, or very
//! many in three numbers.
//!
//! A list of a hundred thousand counts would take longer to write than the messages took. Then the
//! receiver gives the sums of all counts, how many sequences came in order, and one number in which the
//! sum of each sequence is multiplied by the place of that sequence. A message that came to another
//! actor than it should leaves the sums as they are, and changes that number.

use crate::workload::Order;
use crate::workload::account::payloads::Payloads;
use crate::workload::account::{RemoteServerAccount, SenderCounts, verify};
use crate::workload::entry::Judgement;

/// Sequences whose counts are listed; of more there are sums.
pub(crate) const LISTED_MAX: usize = 10_000;

/// One sequence for each sender, all equally long.
pub(crate) fn of_senders(order: Order, senders: u32) -> Vec<SenderCounts> {
    let each = order.messages / u64::from(senders);
    (0..senders).map(|sender| SenderCounts::expected(order.seed, sender, each)).collect()
}

/// One sequence for each actor and sender, actor by actor: the payload says which actor its message
/// goes to.
pub(crate) fn of_actors(order: Order, actors: u32, senders: u32) -> Vec<SenderCounts> {
    let mut all = vec![SenderCounts::default(); (actors * senders) as usize];
    for sender in 0..senders {
        let mut payloads = Payloads::new(order.seed, sender);
        for _ in 0..order.messages / u64::from(senders) {
            let payload = payloads.draw();
            let one = &mut all[(payload % actors * senders + sender) as usize];
            one.count += 1;
            one.sum += u64::from(payload);
        }
    }
    all
}

/// Judges what a receiver saw of the sequences.
pub(crate) fn judge(
    expected: &[SenderCounts],
    seen: &RemoteServerAccount,
    order_required: bool,
) -> Judgement {
    if expected.len() <= LISTED_MAX {
        return Judgement::of(verify(expected, &seen.senders), order_required);
    }
    let all = expected.iter().fold(SenderCounts::default(), |all, one| SenderCounts {
        count: all.count + one.count,
        sum: all.sum.wrapping_add(one.sum),
        reordered: 0,
    });
    let mut judged = Judgement::of(verify(&[all], &seen.senders), order_required);
    let told = expected.iter().filter(|one| one.count > 0).count() as u64;
    judged.demand(seen.in_order == Some(told), || {
        let seen = seen.in_order.map_or("no number".to_owned(), |seen| seen.to_string());
        format!("{seen} of its sequences came in order, where {told} were due")
    });
    let pairs = (0_u64..).zip(expected).map(|(at, one)| at.wrapping_mul(one.sum));
    judged.demand(seen.pairs == Some(pairs.fold(0, u64::wrapping_add)), || {
        "messages came to other actors than they were sent to".to_owned()
    });
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u32 = 20_000;

    fn order() -> Order {
        Order { messages: 100_000, seed: 7, ..Order::default() }
    }

    fn account(seen: &[SenderCounts]) -> RemoteServerAccount {
        let pairs = (0_u64..).zip(seen).map(|(at, one)| at * one.sum);
        let sum = |of: fn(&SenderCounts) -> u64| seen.iter().map(of).sum();
        let all = SenderCounts {
            count: sum(|one| one.count),
            sum: sum(|one| one.sum),
            reordered: sum(|one| one.reordered),
        };
        let right = seen.iter().filter(|one| one.count > 0 && one.reordered == 0).count() as u64;
        RemoteServerAccount { senders: vec![all], in_order: Some(right), pairs: Some(pairs.sum()) }
    }

    #[test]
    fn a_payload_says_which_actor_is_told() {
        let each = of_actors(order(), MANY, 1);
        let mut payloads = Payloads::new(7, 0);
        let mut left = each.clone();
        for _ in 0..100_000 {
            let payload = payloads.draw();
            let one = &mut left[payload as usize % MANY as usize];
            one.count -= 1;
            one.sum -= u64::from(payload);
        }
        assert!(left.iter().all(|one| *one == SenderCounts::default()));
        assert!(each.iter().any(|one| one.count == 0) && each.iter().any(|one| one.count > 9));
    }

    /// The sums are all right when a message went to another actor, and only one number tells.
    #[test]
    fn very_many_sequences_are_judged_by_three_numbers() {
        let due = of_actors(order(), MANY, 1);
        let said = |seen: &[SenderCounts]| judge(&due, &account(seen), true).void.join("; ");
        assert_eq!(said(&due), "");
        let mut swapped = due.clone();
        swapped.swap(5, 6);
        assert!(said(&swapped).contains("came to other actors"), "{}", said(&swapped));
        let mut lost = due.clone();
        lost[9].count -= 1;
        assert!(said(&lost).contains("1 of 100000 messages were lost"));
        let mut reordered = due.clone();
        reordered[9].reordered = 2;
        assert!(said(&reordered).contains("2 messages"));
        assert!(said(&reordered).contains("of its sequences came in order"));
        let listed = RemoteServerAccount { senders: due.clone(), in_order: None, pairs: None };
        assert!(!judge(&due, &listed, true).void.is_empty());
    }

    #[test]
    fn fewer_sequences_are_listed() {
        let due = of_senders(Order { messages: 1_000, ..order() }, 10);
        let mut seen = account(&due);
        assert!(!judge(&due, &seen, true).void.is_empty());
        seen.senders = due.clone();
        assert!(judge(&due, &seen, true).void.is_empty());
    }
}
