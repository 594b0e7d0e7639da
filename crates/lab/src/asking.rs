//! Sums of two full-width numbers, many asked for at once, each held against its own request.

use std::time::Instant;

use wigwag::{Pipeline, Unsent};

use crate::actors::{Sum, SumMessage, SumRef};
use crate::cells::Failure;
use crate::digest::{Moved, Verified};
use crate::statistics::SplitMix64;

/// One unit of asks.
pub(crate) struct Asking {
    sum: SumRef,
    /// Beside each ask the sum that it should come to.
    sums: Pipeline<Sum, i64, i64>,
    random: SplitMix64,
    unsent: u64,
    wrong: u64,
}

impl Asking {
    /// `count` asks, up to `most` of them under way.
    pub(crate) fn new(sum: &SumRef, count: u64, most: usize, seed: u64) -> Result<Asking, Failure> {
        let (sum, sums) = (sum.clone(), sum.pipeline(most)?);
        Ok(Asking { sum, sums, random: SplitMix64::new(seed), unsent: count, wrong: 0 })
    }

    /// Asks, and takes the oldest eighth of the answers whenever no more asks may be under way.
    pub(crate) async fn run(mut self) -> Result<Moved, Failure> {
        let (count, begun) = (self.unsent, Instant::now());
        let mut received = 0;
        while received < count {
            if let Some(Unsent { refused, context }) = self.ask() {
                // No room on the way: wait for it.
                self.sums.push(self.sum.call(refused.message), context).await?;
                continue;
            }
            let keep = if self.unsent == 0 { 0 } else { self.sums.capacity() / 8 * 7 };
            while self.sums.len() > keep {
                received += self.take(keep)?;
                if self.sums.len() > keep
                    && let Some((expected, reply)) = self.sums.answer().await
                {
                    received += 1;
                    self.wrong += u64::from(reply? != expected);
                }
            }
        }
        let verified = Verified::from_words([count, received, count - received, 0, 0, self.wrong]);
        Ok(Moved::since(begun, verified))
    }

    /// Asks until all is sent or as much as may be; gives back what has found no room on the way.
    fn ask(&mut self) -> Option<Unsent<SumMessage, i64>> {
        while self.unsent > 0 && !self.sums.is_full() {
            let (a, b) = (self.random.draw() as i64, self.random.draw() as i64);
            self.unsent -= 1;
            if let Err(unsent) = self.sums.try_push(self.sum.add(a, b), a.wrapping_add(b)) {
                return Some(unsent);
            }
        }
        None
    }

    /// Takes the answers that have come, as long as more than `keep` are due.
    fn take(&mut self, keep: usize) -> Result<u64, Failure> {
        let (wrong, mut failed) = (&mut self.wrong, None);
        let most = self.sums.len().saturating_sub(keep);
        let taken = self.sums.take_ready(most, |expected, reply| match reply {
            Ok(sum) => *wrong += u64::from(sum != expected),
            Err(error) => failed = Some(error),
        });
        failed.map_or(Ok(taken as u64), |error| Err(error.into()))
    }
}
