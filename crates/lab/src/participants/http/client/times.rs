//! How long round trips took: counted in bins that are a sixty-fourth wide, so that a run of any
//! length takes the same memory and a percentile is right to 1.6 %.

use std::time::Duration;

use serde_json::{Value, json};

use crate::figures::curve::Curve;

/// Bins of each doubling.
const FINE: u64 = 64;
/// Doublings: the longest is 2^40 ns, eighteen minutes.
const DOUBLINGS: usize = 36;

pub(super) struct Times {
    bins: Vec<u64>,
    count: u64,
    max: u64,
}

impl Times {
    pub(super) fn new() -> Times {
        Times { bins: vec![0; DOUBLINGS * FINE as usize], count: 0, max: 0 }
    }

    /// One more. No allocation.
    #[inline]
    pub(super) fn add(&mut self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let last = self.bins.len() - 1;
        self.bins[bin(nanoseconds).min(last)] += 1;
        self.count += 1;
        self.max = self.max.max(nanoseconds);
    }

    /// In microseconds, as the contract has them.
    pub(super) fn to_json(&self) -> Value {
        let at = |share| self.percentile(share) as f64 / 1e3;
        let max = self.max as f64 / 1e3;
        let curve = Curve::of(self.count, at);
        json!({ "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": max, "curve": curve })
    }

    /// Half were faster, in microseconds.
    pub(super) fn median_us(&self) -> f64 {
        self.percentile(0.5) as f64 / 1e3
    }

    fn percentile(&self, share: f64) -> u64 {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.bins.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        found.map_or(0, |bin| middle(bin as u64).min(self.max))
    }
}

/// Exact below 64 ns, and from there on a sixty-fourth of the doubling.
fn bin(nanoseconds: u64) -> usize {
    let doubling = u64::from((nanoseconds / FINE).checked_ilog2().map_or(0, |log| log + 1));
    let bin = match doubling {
        0 => nanoseconds,
        _ => doubling * FINE + (nanoseconds >> (doubling - 1)) - FINE,
    };
    usize::try_from(bin).unwrap_or(usize::MAX)
}

fn middle(bin: u64) -> u64 {
    match bin / FINE {
        0 => bin,
        doubling => {
            let width = 1 << (doubling - 1);
            (bin % FINE + FINE) * width + width / 2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_holds_what_is_near_its_middle() {
        let mut before = 0;
        for nanoseconds in (0..5_000).chain([1_000_000, 999_999_999, 1 << 40]) {
            let bin = bin(nanoseconds);
            assert!(bin >= before, "{nanoseconds}");
            before = bin;
            let off = middle(bin as u64).abs_diff(nanoseconds);
            assert!(off * 64 <= nanoseconds.max(64), "{nanoseconds} is {off} off");
        }
    }

    #[test]
    fn percentiles_are_those_of_what_was_added() {
        let mut times = Times::new();
        assert_eq!(times.to_json()["p50"], 0.0);
        for microseconds in 1..=1_000 {
            times.add(Duration::from_micros(microseconds));
        }
        let found = times.to_json();
        for (name, due) in [("p50", 500.0), ("p90", 900.0), ("p99", 990.0), ("max", 1_000.0)] {
            let found = found[name].as_f64().unwrap();
            assert!((found / due - 1.0).abs() < 0.016, "{name}: {found}");
        }
        times.add(Duration::MAX);
    }
}
