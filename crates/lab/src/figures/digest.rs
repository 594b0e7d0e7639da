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
mod tests;
