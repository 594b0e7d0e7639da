//! A histogram of durations of fixed size: a run of a million takes no more memory than one of ten,
//! and nothing is sorted while the clock runs.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use crate::figures::curve::Curve;
use crate::figures::statistics::{Percentiles, SAMPLES_BEYOND_MIN};

/// The longest duration that has a bin of its own: over half an hour, in nanoseconds.
const NANOSECONDS_MAX: u64 = 1 << 41;
/// Decimal digits that a bin keeps: a percentile is right to one per cent.
const DIGITS: u8 = 2;

/// Durations, counted by length.
#[derive(Clone, Debug)]
pub struct Times {
    counts: Histogram<u64>,
    /// The bin of the last duration, and the durations in a row that fell into it and are not in
    /// `counts` yet.
    bin: RangeInclusive<u64>,
    pending: u64,
    /// The longest, exactly; in nanoseconds.
    max: u64,
}

impl Default for Times {
    fn default() -> Times {
        Times::new()
    }
}

impl Times {
    /// An empty histogram.
    pub fn new() -> Times {
        let counts = Histogram::new_with_bounds(1, NANOSECONDS_MAX, DIGITS);
        let counts = counts.expect("these bounds are far apart");
        Times { counts, bin: 0..=0, pending: 0, max: 0 }
    }

    /// Counts one more, without an allocation. Durations that are taken together mostly fall into
    /// one bin, which is then not looked up again: looking it up takes about 6 ns.
    #[inline]
    pub fn take(&mut self, took: Duration) {
        let nanoseconds = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        if !self.bin.contains(&nanoseconds) {
            self.look_up(nanoseconds);
        }
        self.pending += 1;
        self.max = self.max.max(nanoseconds);
    }

    #[inline(never)]
    fn look_up(&mut self, nanoseconds: u64) {
        Times::settle(&mut self.counts, &self.bin, std::mem::take(&mut self.pending));
        let nanoseconds = nanoseconds.min(self.counts.high());
        self.bin = self.counts.lowest_equivalent(nanoseconds)
            ..=self.counts.highest_equivalent(nanoseconds);
    }

    fn settle(counts: &mut Histogram<u64>, bin: &RangeInclusive<u64>, pending: u64) {
        if pending > 0 {
            counts.saturating_record_n(*bin.start(), pending);
        }
    }

    /// All durations.
    fn settled(&self) -> Cow<'_, Histogram<u64>> {
        let mut counts = Cow::Borrowed(&self.counts);
        if self.pending > 0 {
            Times::settle(counts.to_mut(), &self.bin, self.pending);
        }
        counts
    }

    /// Adds all of another histogram.
    pub fn add(&mut self, other: &Times) {
        self.counts.add(&*other.settled()).expect("all have the same bounds");
        self.max = self.max.max(other.max);
    }

    /// The percentiles that so many samples bear, in nanoseconds; `None` of no samples.
    pub fn percentiles(&self) -> Option<Percentiles> {
        let counts = self.settled();
        let samples = counts.len();
        let at = |share: f64| self.at_in(&counts, share);
        let borne = |per_mille: u64| {
            let beyond = samples * (1_000 - per_mille) / 1_000;
            (beyond >= SAMPLES_BEYOND_MIN as u64).then(|| at(per_mille as f64 / 1e3))
        };
        (samples > 0).then(|| Percentiles {
            samples: samples as usize,
            p50: at(0.5),
            p90: borne(900),
            p99: borne(990),
            p999: borne(999),
            max: self.max,
        })
    }

    /// The percentiles that the contract wants, in microseconds.
    pub(crate) fn to_json(&self) -> Value {
        let counts = self.settled();
        let us = |share| self.at_in(&counts, share) as f64 / 1e3;
        let curve = Curve::of(counts.len(), us);
        let max = self.max as f64 / 1e3;
        json!({ "p50": us(0.5), "p90": us(0.9), "p99": us(0.99), "max": max, "curve": curve })
    }

    /// The bins that hold something, as the contract wants them: the upper end of each in
    /// microseconds, and how many lie in it.
    pub(crate) fn to_bins(&self) -> Value {
        let counts = self.settled();
        let bins = counts.iter_recorded().map(|bin| {
            let end = (bin.value_iterated_to() + 1) as f64 / 1e3;
            (end, bin.count_since_last_iteration())
        });
        json!({ "bins": bins.collect::<Vec<_>>(), "max": self.max as f64 / 1e3 })
    }

    /// Nanoseconds that a share of the durations does not exceed; 0 of no durations.
    pub(crate) fn at(&self, share: f64) -> u64 {
        self.at_in(&self.settled(), share)
    }

    fn at_in(&self, counts: &Histogram<u64>, share: f64) -> u64 {
        counts.value_at_quantile(share).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_right_to_one_per_cent_whatever_the_length() {
        for nanoseconds in (0..40).map(|bit| 1_u64 << bit).chain([0, 3, 17, 999, 40_123_456]) {
            let mut times = Times::new();
            times.take(Duration::from_nanos(nanoseconds));
            times.take(Duration::MAX);
            let found = times.at(0.5);
            assert!(found >= nanoseconds && found - nanoseconds <= nanoseconds / 100, "{found}");
        }
    }

    #[test]
    fn durations_count_once_whatever_comes_between_them() {
        let mut times = Times::new();
        let mut each = Histogram::<u64>::new_with_bounds(1, NANOSECONDS_MAX, DIGITS).unwrap();
        for nanoseconds in [0, 5_000, 5_001, 5_002, 70, 5_000, u64::MAX, u64::MAX, 70, 70, 0] {
            times.take(Duration::from_nanos(nanoseconds));
            each.saturating_record(nanoseconds);
            assert_eq!(times.settled().len(), each.len());
        }
        let counts = |counts: &Histogram<u64>| -> Vec<(u64, u64)> {
            let bins = counts.iter_recorded();
            bins.map(|bin| (bin.value_iterated_to(), bin.count_since_last_iteration())).collect()
        };
        assert_eq!(counts(&times.settled()), counts(&each));
    }

    #[test]
    fn one_long_trip_of_a_thousand_is_the_slowest_and_no_percentile() {
        let mut times = Times::new();
        (0..999).for_each(|_| times.take(Duration::from_micros(100)));
        times.take(Duration::from_millis(300));
        let times = times.to_json();
        assert_eq!(times["max"], 300_000.0);
        assert!(times["p99"].as_f64().unwrap() < 110.0, "{times}");
    }

    #[test]
    fn a_percentile_that_too_few_samples_bear_is_none() {
        let mut times = Times::new();
        assert_eq!(times.percentiles(), None);
        (0..999).for_each(|_| times.take(Duration::from_micros(100)));
        let found = times.percentiles().unwrap();
        assert_eq!((found.samples, found.p90.is_some(), found.p99), (999, true, None));
        let mut other = Times::new();
        other.take(Duration::from_millis(1));
        times.add(&other);
        let found = times.percentiles().unwrap();
        assert_eq!((found.samples, found.max, found.p999), (1_000, 1_000_000, None));
        assert!(found.p99.unwrap().abs_diff(100_000) < 1_700, "{found:?}");
    }

    #[test]
    fn bins_ascend_and_hold_everything() {
        let mut times = Times::new();
        for nanoseconds in [0, 1, 70, 5_000, 5_001, 900_000] {
            times.take(Duration::from_nanos(nanoseconds));
        }
        let bins = times.to_bins();
        assert_eq!(bins["max"], 900.0);
        let bins = bins["bins"].as_array().unwrap();
        let counts: u64 = bins.iter().map(|bin| bin[1].as_u64().unwrap()).sum();
        assert_eq!((bins.len(), counts), (5, 6));
        assert!(bins.is_sorted_by(|a, b| a[0].as_f64() < b[0].as_f64()));
        assert!(bins[4][0].as_f64() >= Some(900.0));
    }
}
