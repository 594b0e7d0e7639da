//! How long messages took, in a table of fixed size: a run of a million takes no more memory
//! than one of ten, and nothing is sorted while the clock runs.

use std::time::Duration;

use serde_json::{Value, json};

use crate::figures::curve::Curve;
use crate::figures::statistics::{Percentiles, SAMPLES_BEYOND_MIN};

/// Steps within a doubling: a percentile is right to one and a half per cent.
const STEPS: usize = 64;
/// Nanoseconds have so many doublings until half an hour.
const DOUBLINGS: usize = 41;

/// Counts by length.
#[derive(Clone, Debug)]
pub struct Times {
    counts: Vec<u64>,
    all: u64,
    max: u64,
}

impl Default for Times {
    fn default() -> Times {
        Times::new()
    }
}

impl Times {
    /// None yet.
    pub fn new() -> Times {
        Times { counts: vec![0; STEPS * DOUBLINGS], all: 0, max: 0 }
    }

    /// One more. No allocation.
    #[inline]
    pub fn take(&mut self, took: Duration) {
        let nanoseconds = took.as_nanos() as u64;
        let last = self.counts.len() - 1;
        self.counts[place(nanoseconds).min(last)] += 1;
        self.all += 1;
        self.max = self.max.max(nanoseconds);
    }

    /// Those of another table, too.
    pub fn add(&mut self, other: &Times) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.all += other.all;
        self.max = self.max.max(other.max);
    }

    /// The percentiles that so many samples bear, in nanoseconds; `None` of no samples.
    pub fn percentiles(&self) -> Option<Percentiles> {
        let borne = |per_mille: u64| {
            let beyond = self.all * (1_000 - per_mille) / 1_000;
            let share = per_mille as f64 / 1_000.0;
            (beyond >= SAMPLES_BEYOND_MIN as u64).then(|| self.rank(share) as u64)
        };
        (self.all > 0).then(|| Percentiles {
            samples: self.all as usize,
            p50: self.rank(0.5) as u64,
            p90: borne(900),
            p99: borne(990),
            p999: borne(999),
            max: self.max,
        })
    }

    /// The percentiles that the contract wants, in microseconds.
    pub(crate) fn to_json(&self) -> Value {
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| self.rank(share) / 1e3);
        let curve = Curve::of(self.all, |share| self.rank(share) / 1e3);
        json!({ "p50": p50, "p90": p90, "p99": p99, "max": self.max as f64 / 1e3, "curve": curve })
    }

    /// The bins that hold something, as the contract wants them: the upper end of each in
    /// microseconds, and how many lie in it.
    pub(crate) fn to_bins(&self) -> Value {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let bins: Vec<Value> =
            filled.map(|(place, count)| json!([(upper(place) + 1.0) / 1e3, count])).collect();
        json!({ "bins": bins, "max": self.max as f64 / 1e3 })
    }

    fn rank(&self, share: f64) -> f64 {
        let wanted = (self.all as f64 * share).ceil() as u64;
        let mut passed = 0;
        for (place, count) in self.counts.iter().enumerate() {
            passed += count;
            if passed >= wanted && *count > 0 {
                // The step's upper end, which is never beyond the slowest.
                return upper(place).min(self.max as f64);
            }
        }
        0.0
    }
}

/// Where a length is counted: its doubling, and the next four bits.
fn place(nanoseconds: u64) -> usize {
    let doubling = nanoseconds.max(STEPS as u64).ilog2() - STEPS.ilog2();
    (doubling as usize) * STEPS + (nanoseconds >> doubling) as usize
}

/// The longest that is counted at `place`.
fn upper(place: usize) -> f64 {
    // Below two doublings of steps each place is one nanosecond.
    let doubling = (place / STEPS).saturating_sub(1);
    let step = place - doubling * STEPS;
    ((step + 1) as f64) * 2_f64.powi(doubling as i32) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_lies_within_its_step_and_the_step_is_narrow() {
        for nanoseconds in (0..40).map(|bit| 1_u64 << bit).chain([0, 3, 17, 999, 40_123_456]) {
            let upper = upper(place(nanoseconds));
            assert!(nanoseconds as f64 <= upper, "{nanoseconds} {upper}");
            assert!(upper <= nanoseconds as f64 * 1.07 + 1.0, "{nanoseconds} {upper}");
        }
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
