//! The fate of messages: the receiver's check of numbered messages from several senders.
//!
//! Each sender numbers its messages from zero. The receiver keeps the next number it expects of
//! each sender, so order is held by one comparison per message, and adds up a digest that binds
//! each value to its number, so that content is held by one multiplication. Memory is bounded by
//! the number of senders; numbers that were skipped wait in a small table, so that a late message
//! is told from a lost one and a lost one is not masked by a duplicate.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Gaps remembered per sender, 16 bytes each. A participant that loses one message in a thousand
/// out of three million opens 3,000; one that reorders closes its gaps again soon.
#[cfg(not(test))]
pub const GAPS_MAX: usize = 4_096;
/// Tiny under test, so that tests cross it.
#[cfg(test)]
pub const GAPS_MAX: usize = 4;

/// Numbers that may be skipped at once. A jump beyond it is a number that was damaged on the way,
/// not a loss: no run sends as many.
pub const JUMP_MAX: u64 = 1 << 32;

/// The fate of the messages of a run. Only a [clean](Verified::is_clean) one earns a figure without
/// a remark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// Messages that the senders sent.
    pub sent: u64,
    /// Messages that arrived, whatever was wrong with them.
    pub received: u64,
    /// Messages that never arrived.
    pub lost: u64,
    /// Arrivals beyond the first of the same number.
    pub duplicated: u64,
    /// Messages that arrived after a later one of the same sender.
    pub reordered: u64,
    /// Arrivals that no sender sent, that could not be classified, or, when all numbers are right
    /// and a sender's digest is not, at least one changed value.
    pub corrupt: u64,
}

impl Verified {
    /// Whether everything sent arrived once, in order, unchanged.
    pub fn is_clean(&self) -> bool {
        let [sent, received, damage @ ..] = self.to_words();
        received == sent && damage == [0; 4]
    }

    /// The six counts in the order of the fields, as a receiver sends them home.
    pub fn to_words(self) -> [u64; 6] {
        let Self { sent, received, lost, duplicated, reordered, corrupt } = self;
        [sent, received, lost, duplicated, reordered, corrupt]
    }

    /// The six counts as [`to_words`](Self::to_words) wrote them.
    pub fn from_words(words: [u64; 6]) -> Self {
        let [sent, received, lost, duplicated, reordered, corrupt] = words;
        Self { sent, received, lost, duplicated, reordered, corrupt }
    }
}

impl std::ops::Add for Verified {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (ours, theirs) = (self.to_words(), other.to_words());
        Self::from_words(std::array::from_fn(|at| ours[at] + theirs[at]))
    }
}

/// One sender's side: numbers its messages and keeps the digest that the receiver must reach.
///
/// ```
/// use wigwag_lab::digest::{SentDigest, SequenceDigest};
///
/// let (mut sent, mut received) = (SentDigest::default(), SequenceDigest::new(1));
/// for value in [7, 7, 9] {
///     let sequence = sent.stamp(value);
///     received.accept(0, sequence, value);
/// }
/// assert!(received.verdict_against(&[sent]).is_clean());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentDigest {
    /// Messages stamped, which is also the number of the next one.
    pub count: u64,
    /// Sum of all numbers bound to their values.
    pub content: u64,
}

impl SentDigest {
    /// The number under which `value` is to be sent.
    #[inline]
    pub fn stamp(&mut self, value: u64) -> u64 {
        let sequence = self.count;
        self.count += 1;
        self.content = self.content.wrapping_add(bind(sequence, value));
        sequence
    }
}

/// The receiver's side, for senders numbered from zero.
#[derive(Clone, Debug)]
pub struct SequenceDigest {
    senders: Vec<Sender>,
    /// Messages of senders that do not exist.
    strangers: u64,
}

impl SequenceDigest {
    /// Ready for the first message of each of `senders` senders.
    pub fn new(senders: usize) -> Self {
        Self { senders: vec![Sender::default(); senders], strangers: 0 }
    }

    /// Takes note of a message. One comparison and one multiplication when it is the one that was
    /// due; no allocation unless it opens a gap.
    #[inline]
    pub fn accept(&mut self, sender: usize, sequence: u64, value: u64) {
        match self.senders.get_mut(sender) {
            Some(state) if state.expected == sequence => state.advance(sequence, value),
            _ => self.accept_unexpected(sender, sequence, value),
        }
    }

    #[cold]
    #[inline(never)]
    fn accept_unexpected(&mut self, sender: usize, sequence: u64, value: u64) {
        match self.senders.get_mut(sender) {
            Some(state) => state.unexpected(sequence, value),
            None => self.strangers += 1,
        }
    }

    /// The fate of the messages, given how many each sender sent. Says nothing of their values: ask
    /// [`matches`](Self::matches) or [`verdict_against`](Self::verdict_against).
    pub fn verdict(&self, sent: &[u64]) -> Verified {
        let mut total = Verified {
            sent: sent.iter().sum(),
            received: self.strangers,
            corrupt: self.strangers,
            ..Verified::default()
        };
        total.lost += sent.iter().skip(self.senders.len()).sum::<u64>();
        for (index, sender) in self.senders.iter().enumerate() {
            sender.add_to(&mut total, sent.get(index).copied().unwrap_or(0));
        }
        total
    }

    /// Whether the values that `sender` sent are the values that arrived, each under its number.
    /// Arrivals out of order count; duplicates do not.
    pub fn matches(&self, sender: usize, sent: &SentDigest) -> bool {
        self.content(sender) == sent.content
    }

    /// The digest of what arrived from `sender`, to be compared elsewhere.
    pub fn content(&self, sender: usize) -> u64 {
        self.senders.get(sender).map_or(0, |state| state.content)
    }

    /// The [`verdict`](Self::verdict), and for each sender of which nothing is lost also whether
    /// the values are right: if not, at least one is corrupt.
    pub fn verdict_against(&self, sent: &[SentDigest]) -> Verified {
        let counts: Vec<u64> = sent.iter().map(|sender| sender.count).collect();
        let mut total = self.verdict(&counts);
        for (index, sender) in sent.iter().enumerate() {
            let complete = self.senders.get(index).is_some_and(|it| it.is_complete(sender.count));
            total.corrupt += u64::from(complete && !self.matches(index, sender));
        }
        total
    }
}

/// State of one sender, at the receiver.
#[derive(Clone, Debug, Default)]
struct Sender {
    /// One more than the highest number accepted.
    expected: u64,
    content: u64,
    /// Numbers that were skipped and have not come yet: ascending, disjoint, none empty.
    gaps: Vec<Range<u64>>,
    /// How many skipped numbers found no room in `gaps`. They stay lost, even if they come late.
    forgotten: u64,
    /// The lowest of them. A late number from here on cannot be told from a duplicate.
    forgotten_from: Option<u64>,
    duplicated: u64,
    reordered: u64,
    corrupt: u64,
}

impl Sender {
    #[inline]
    fn advance(&mut self, sequence: u64, value: u64) {
        self.expected = sequence.wrapping_add(1);
        self.content = self.content.wrapping_add(bind(sequence, value));
    }

    fn unexpected(&mut self, sequence: u64, value: u64) {
        if sequence < self.expected {
            return self.late(sequence, value);
        }
        let skipped = sequence - self.expected;
        if skipped > JUMP_MAX {
            self.corrupt += 1;
            return;
        }
        self.remember(self.expected..sequence);
        self.advance(sequence, value);
    }

    fn remember(&mut self, gap: Range<u64>) {
        if self.gaps.len() < GAPS_MAX {
            self.gaps.push(gap);
        } else {
            self.forget(&gap);
        }
    }

    fn forget(&mut self, gap: &Range<u64>) {
        let known = self.forgotten_from.filter(|from| *from < gap.start);
        self.forgotten_from = known.or(Some(gap.start));
        self.forgotten += gap.end - gap.start;
    }

    /// A number below the expected one fills a gap, or has been seen, or cannot be told.
    fn late(&mut self, sequence: u64, value: u64) {
        let index = self.gaps.partition_point(|gap| gap.end <= sequence);
        if self.gaps.get(index).is_some_and(|gap| gap.contains(&sequence)) {
            self.fill(index, sequence);
            self.reordered += 1;
            self.content = self.content.wrapping_add(bind(sequence, value));
        } else if self.forgotten_from.is_some_and(|from| from <= sequence) {
            self.corrupt += 1;
        } else {
            self.duplicated += 1;
        }
    }

    /// Takes `sequence` out of the gap at `index`: what is left of it is nothing, one piece, or two.
    fn fill(&mut self, index: usize, sequence: u64) {
        let Range { start, end } = self.gaps[index].clone();
        let pieces = [start..sequence, sequence + 1..end];
        let left = pieces.into_iter().filter(|piece| !piece.is_empty());
        self.gaps.splice(index..=index, left);
        if self.gaps.len() > GAPS_MAX
            && let Some(highest) = self.gaps.pop()
        {
            self.forget(&highest);
        }
    }

    fn is_complete(&self, sent: u64) -> bool {
        self.expected == sent && self.gaps.is_empty() && self.forgotten == 0
    }

    fn add_to(&self, total: &mut Verified, sent: u64) {
        let missing = |range: &Range<u64>| range.end.saturating_sub(range.start);
        let gaps: u64 = self.gaps.iter().map(missing).sum();
        let below: u64 = self.gaps.iter().map(|gap| missing(&(gap.start..gap.end.min(sent)))).sum();
        let at_the_end = sent.saturating_sub(self.expected);
        // Numbers that were accepted and never sent: the number itself was damaged.
        let unsent = self.expected.saturating_sub(sent).saturating_sub(gaps - below);

        let distinct = self.expected.saturating_sub(gaps).saturating_sub(self.forgotten);
        total.received += distinct + self.duplicated + self.corrupt;
        total.lost += (below + at_the_end + self.forgotten).min(sent);
        total.duplicated += self.duplicated;
        total.reordered += self.reordered;
        total.corrupt += self.corrupt + unsent;
    }
}

/// Binds a value to its number. The two halves of a full product are folded, because a plain
/// product would let the top bits of two messages change together unseen; products are added, so
/// that the digest also holds for those that arrive out of order.
#[inline]
fn bind(sequence: u64, value: u64) -> u64 {
    let product = u128::from(sequence ^ 0xa076_1d64_78bd_642f)
        .wrapping_mul(u128::from(value ^ 0xe703_7ed1_a0b4_28db));
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
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
}
