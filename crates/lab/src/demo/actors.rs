//! The two actors that `wigwag demo --serve` exports.

use crate::figures::digest::{SentDigest, SequenceDigest};

/// The number of senders whose messages a counter can tell apart.
pub const SENDERS_MAX: u64 = 16;

/// A counter that detects, for each sender, messages that are lost, duplicated, reordered or
/// corrupt.
pub struct Counter {
    total: u64,
    digest: SequenceDigest,
}

impl Default for Counter {
    fn default() -> Counter {
        Counter { total: 0, digest: SequenceDigest::new(SENDERS_MAX as usize) }
    }
}

#[wigwag::actor]
impl Counter {
    /// Adds `amount`. Each of the senders, 0 to 15, numbers its messages from 0.
    #[inline]
    pub fn count(&mut self, amount: u64, sender: u64, number: u64) {
        self.total = self.total.wrapping_add(amount);
        self.digest.accept((sender % SENDERS_MAX) as usize, number, amount);
    }

    /// The total, and begins anew.
    pub fn get_and_reset(&mut self) -> u64 {
        std::mem::take(self).total
    }

    /// The total and what became of the messages, and begins anew. `sent` is what each sender
    /// knows of its own: how many, and their digest.
    pub fn verify_and_reset(&mut self, sent: Vec<(u64, u64)>) -> (u64, [u64; 6]) {
        let counter = std::mem::take(self);
        let sent: Vec<SentDigest> =
            sent.into_iter().map(|(count, content)| SentDigest { count, content }).collect();
        (counter.total, counter.digest.verdict_against(&sent).to_words())
    }
}

/// Adds two numbers.
#[derive(Default)]
pub struct Sum;

#[wigwag::actor]
impl Sum {
    /// The sum, wrapping around.
    #[inline]
    pub fn add(&mut self, a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }
}
