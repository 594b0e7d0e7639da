//! Counts per second, so that a rate can be reported with its spread.

use std::time::Duration;

use wigwag_lab::statistics::Spread;

/// Seconds that are kept, which is also the longest run.
pub(super) const SECONDS_MAX: usize = 3_600;

/// Counts for each second since the start of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Seconds(Vec<u64>);

impl Seconds {
    /// Adds one event, `after` the start of the run.
    pub(super) fn count(&mut self, after: Duration) {
        let second = usize::try_from(after.as_secs()).unwrap_or(usize::MAX).min(SECONDS_MAX - 1);
        if self.0.len() <= second {
            self.0.resize(second + 1, 0);
        }
        self.0[second] += 1;
    }

    /// Adds the counts of another client.
    pub(super) fn add(&mut self, other: &Seconds) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (count, more) in self.0.iter_mut().zip(&other.0) {
            *count += more;
        }
    }

    /// The counts as they are sent over the wire.
    pub(super) fn to_vec(&self) -> Vec<u64> {
        self.0.clone()
    }

    /// The counts as they were received; seconds beyond [`SECONDS_MAX`] are dropped.
    pub(super) fn from_vec(mut counts: Vec<u64>) -> Seconds {
        counts.truncate(SECONDS_MAX);
        Seconds(counts)
    }

    /// The number of whole seconds and the spread of their counts. The last second is never whole.
    pub(super) fn whole(&self) -> Option<(usize, Spread)> {
        let whole = self.0.len().checked_sub(1)?;
        let rates: Vec<f64> = self.0[..whole].iter().map(|count| *count as f64).collect();
        Some((whole, Spread::of(&rates)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_covers_whole_seconds_including_empty_ones() {
        let mut seconds = Seconds::default();
        assert!(seconds.whole().is_none());
        for milliseconds in [0, 100, 999, 2_000, 2_100, 3_500] {
            seconds.count(Duration::from_millis(milliseconds));
        }
        let (whole, spread) = seconds.whole().unwrap();
        assert_eq!((whole, spread.min, spread.median, spread.max), (3, 0.0, 2.0, 3.0));
        seconds.add(&Seconds::from_vec(vec![1, 1, 1, 1, 1]));
        assert_eq!(seconds.to_vec(), [4, 1, 3, 2, 1]);
    }

    #[test]
    fn a_long_run_is_bounded() {
        let mut seconds = Seconds::default();
        seconds.count(Duration::MAX);
        assert_eq!(seconds.to_vec().len(), SECONDS_MAX);
    }
}
