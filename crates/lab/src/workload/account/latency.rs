//! Latency at a fixed rate: what passed from when each ask was due until its reply.
//!
//! A client counts by length, and the percentiles are read off here, over all rounds together: none
//! from fewer samples than it needs, and none that is only somebody's word.

use crate::figures::statistics::SAMPLES_BEYOND_MIN;
use crate::results::Latency;
use crate::workload::account::LatencyBins;

/// Bins of an account, and of a document: sixty for each doubling between a microsecond and a
/// minute, and more.
pub const BINS_MAX: usize = 4_096;
/// A slowest one may lie so far beyond the end of its bin, for times are written in decimals.
const ROUNDING: f64 = 1.001;

/// Counts by length, of one round or of many.
#[derive(Clone, Debug, Default)]
pub struct LatencyHistogram {
    /// Upper ends in microseconds, ascending.
    bins: Vec<(f64, u64)>,
    max: f64,
    samples: u64,
    late: u64,
}

impl LatencyHistogram {
    /// Reads the latencies of `messages` asks, `late` of which were sent late; or says why they
    /// cannot be.
    pub fn read(said: LatencyBins, late: u64, messages: u64) -> Result<LatencyHistogram, String> {
        let LatencyBins { bins, max } = said;
        if bins.len() > BINS_MAX {
            return Err(format!("it has {} bins, {BINS_MAX} are allowed", bins.len()));
        }
        if !bins.iter().all(|(end, _)| end.is_finite() && *end > 0.0)
            || !bins.is_sorted_by(|before, bin| before.0 < bin.0)
        {
            return Err("the ends of its bins do not ascend".to_owned());
        }
        let samples = bins.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        if samples != messages {
            return Err(format!("its bins hold {samples} asks of {messages}"));
        }
        let filled: Vec<f64> =
            bins.iter().filter(|(_, count)| *count > 0).map(|(end, _)| *end).collect();
        let (last, before) = (filled.last().copied(), filled.iter().rev().nth(1).copied());
        let fits = max <= last.unwrap_or(0.0) * ROUNDING && max * ROUNDING >= before.unwrap_or(0.0);
        if !max.is_finite() || max < 0.0 || !fits {
            return Err(format!("a slowest of {max} µs does not lie in the last of its bins"));
        }
        if late > messages {
            return Err(format!("{late} of {messages} asks were late"));
        }
        Ok(LatencyHistogram { bins, max, samples, late })
    }

    /// Those that may have taken so long: all of a bin, if its end is not below.
    pub fn at_least(&self, microseconds: f64) -> u64 {
        let slow = self.bins.iter().filter(|(end, _)| *end >= microseconds);
        slow.map(|(_, count)| count).sum()
    }

    /// Those that were sent late, as a share of all.
    pub fn late_share(&self) -> f64 {
        self.late as f64 / self.samples.max(1) as f64
    }

    /// Both together.
    pub fn with(mut self, other: LatencyHistogram) -> LatencyHistogram {
        self.bins.extend(other.bins);
        self.bins.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.bins.dedup_by(|bin, before| {
            let same = bin.0.total_cmp(&before.0).is_eq();
            before.1 += if same { bin.1 } else { 0 };
            same
        });
        // Rounds of one client have the same bins, unless it draws them anew each time.
        while self.bins.len() > BINS_MAX {
            let pairs = self.bins.chunks(2).filter_map(|pair| {
                Some((pair.last()?.0, pair.iter().map(|(_, count)| count).sum()))
            });
            self.bins = pairs.collect();
        }
        self.max = self.max.max(other.max);
        self.samples += other.samples;
        self.late += other.late;
        self
    }

    /// As the document has it; `None` of no samples.
    pub fn to_document(&self) -> Option<Latency> {
        let beyond = |share: u64| self.samples / share >= SAMPLES_BEYOND_MIN as u64;
        let percentile = |per_mille: u64| {
            let rank = (self.samples * per_mille).div_ceil(1_000).max(1);
            let mut seen = 0;
            let found = self.bins.iter().find(|(_, count)| {
                seen += count;
                seen >= rank
            });
            found.map(|(end, _)| end.min(self.max))
        };
        Some(Latency {
            p50: percentile(500)?,
            p90: percentile(900).filter(|_| beyond(10)),
            p99: percentile(990).filter(|_| beyond(100)),
            p999: percentile(999).filter(|_| beyond(1_000)),
            max: self.max,
            samples: self.samples,
            late: self.late,
            bins: self.bins.iter().copied().filter(|(_, count)| *count > 0).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bins: &[(f64, u64)], max: f64, messages: u64) -> Result<LatencyHistogram, String> {
        LatencyHistogram::read(LatencyBins { bins: bins.to_vec(), max }, 0, messages)
    }

    #[test]
    fn percentiles_are_read_off_all_rounds_together() {
        let quick = read(&[(10.0, 900), (20.0, 100)], 19.5, 1_000).unwrap();
        let slow = read(&[(10.0, 800), (30.0, 200)], 29.0, 1_000).unwrap();
        assert_eq!((slow.at_least(25.0), slow.at_least(31.0)), (200, 0));
        let both = quick.with(slow).to_document().unwrap();
        assert_eq!((both.p50, both.p90, both.max), (10.0, Some(20.0), 29.0));
        assert_eq!(both.bins, [(10.0, 1_700), (20.0, 100), (30.0, 200)]);
        assert_eq!((both.samples, both.p99), (2_000, Some(29.0)));
        assert_eq!(both.p999, None, "two samples lie beyond it");
        assert!(LatencyHistogram::default().to_document().is_none());
    }

    #[test]
    fn impossible_values_are_refused() {
        for (bins, max, messages, why) in [
            (vec![(10.0, 5), (10.0, 5)], 9.0, 10, "ascend"),
            (vec![(f64::NAN, 10)], 9.0, 10, "ascend"),
            (vec![(10.0, 9)], 9.0, 10, "9 asks of 10"),
            (vec![(10.0, u64::MAX), (20.0, 10)], 9.0, 10, "asks of 10"),
            (vec![(10.0, 10)], 300_000.0, 10, "slowest"),
            (vec![(10.0, 5), (90.0, 5)], 3.0, 10, "slowest"),
        ] {
            let refused = read(&bins, max, messages).unwrap_err();
            assert!(refused.contains(why), "{why}: {refused}");
        }
        let many = (1..=BINS_MAX as u64 + 1).map(|end| (end as f64, 1)).collect::<Vec<_>>();
        assert!(read(&many, 4_097.0, 4_097).unwrap_err().contains("bins"));
    }

    #[test]
    fn a_client_that_draws_its_bins_anew_does_not_make_the_document_grow() {
        let round = |shift: f64| {
            let bins: Vec<(f64, u64)> =
                (1..=3_000).map(|end| (f64::from(end) + shift, 1)).collect();
            read(&bins, 3_000.0 + shift, 3_000).unwrap()
        };
        let all = round(0.0).with(round(0.3)).with(round(0.6)).to_document().unwrap();
        assert!(all.bins.len() <= BINS_MAX);
        assert_eq!(all.bins.iter().map(|(_, count)| count).sum::<u64>(), 9_000);
    }
}
