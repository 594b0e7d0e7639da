//! Figures from rounds and samples.
//!
//! A figure of one round is an anecdote: rounds are interleaved in shuffled order, and what is
//! reported is their median with the least and the most. Ratios pair the two figures of one
//! round, because a machine that is slow for a while is slow for both. No percentile is given from
//! fewer samples than it needs.

use serde::{Deserialize, Serialize};

/// The middle of some rounds, and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The middle one; between the two middle ones if their number is even.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The most.
    pub max: f64,
}

impl Spread {
    /// The spread of `rounds`; `None` of no rounds, or when one of them is no finite number.
    pub fn of(rounds: &[f64]) -> Option<Self> {
        if rounds.iter().any(|round| !round.is_finite()) {
            return None;
        }
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Self { median: low.midpoint(high), min, max })
    }

    /// The spread of ours ÷ theirs, round by round; `None` when the rounds do not pair up.
    pub fn of_ratios(ours: &[f64], theirs: &[f64]) -> Option<Self> {
        if ours.len() != theirs.len() {
            return None;
        }
        let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(our, their)| our / their).collect();
        Self::of(&ratios)
    }
}

/// Runs of the same length that chance might have given instead, drawn from the rounds we have.
const RESAMPLES: usize = 2_000;

/// The median of `rounds` between the ends of its 95 % interval: low, median, high. The interval is
/// found by drawing as many rounds again from those that we have, many times over; the draws are
/// always the same, so a document can be checked. `None` of no rounds or of one that is not finite.
pub fn median_interval(rounds: &[f64]) -> Option<[f64; 3]> {
    let median = Spread::of(rounds)?.median;
    let mut random = SplitMix64::new(rounds.len() as u64);
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let draw = |_| rounds[(random.draw() % rounds.len() as u64) as usize];
            let drawn: Vec<f64> = (0..rounds.len()).map(draw).collect();
            Spread::of(&drawn).map(|spread| spread.median)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let at = |per_mille: usize| medians.get((medians.len() - 1) * per_mille / 1_000).copied();
    Some([at(25)?, median, at(975)?])
}

/// Samples that must lie beyond a percentile for it to be given: 100 samples for the 90th, 1,000
/// for the 99th, 10,000 for the 99.9th. With fewer, chance decides it.
pub const SAMPLES_BEYOND_MIN: usize = 10;

/// Latency of single messages, in nanoseconds. A percentile that has too few samples is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Percentiles {
    /// How many samples there are.
    pub samples: usize,
    /// The median.
    pub p50: u64,
    /// Nine in ten are not slower.
    pub p90: Option<u64>,
    /// 99 in a hundred are not slower.
    pub p99: Option<u64>,
    /// 999 in a thousand are not slower.
    pub p999: Option<u64>,
    /// The slowest.
    pub max: u64,
}

impl Percentiles {
    /// Sorts `nanoseconds` and reads the percentiles off; `None` of no samples.
    pub fn of(nanoseconds: &mut [u64]) -> Option<Self> {
        nanoseconds.sort_unstable();
        let samples = nanoseconds.len();
        let max = *nanoseconds.last()?;
        // Nearest rank: the least sample that so many of a thousand samples do not exceed.
        let rank = |per_mille: usize| nanoseconds[(samples * per_mille).div_ceil(1_000) - 1];
        let supported = |per_mille: usize| {
            let beyond = samples * (1_000 - per_mille) / 1_000;
            (beyond >= SAMPLES_BEYOND_MIN).then(|| rank(per_mille))
        };
        let [p90, p99, p999] = [900, 990, 999].map(supported);
        Some(Self { samples, p50: rank(500), p90, p99, p999, max })
    }
}

/// A small generator of well-mixed numbers (splitmix64). Equal seeds give equal runs, so a run is
/// repeated by its printed seed.
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts at `seed`; any will do.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, all 64 bits of it usable.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Puts `items` into an order that this generator decides: that of the cells of one round.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            // The remainder favours low places by less than one in 2^57 for a hundred cells.
            let other = self.draw() % (last as u64 + 1);
            items.swap(last, other as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_or_between_the_middle_two() {
        let odd = Spread::of(&[5.0, 1.0, 3.0]).unwrap();
        assert_eq!(odd, Spread { median: 3.0, min: 1.0, max: 5.0 });
        assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 8.0]).unwrap().median, 3.0);
        assert_eq!(Spread::of(&[7.0]).unwrap(), Spread { median: 7.0, min: 7.0, max: 7.0 });
    }

    #[test]
    fn no_figure_comes_from_no_rounds_or_broken_ones() {
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[1.0, f64::NAN]), None);
        assert_eq!(Spread::of_ratios(&[1.0], &[0.0]), None);
        assert_eq!(Spread::of_ratios(&[1.0], &[]), None);
    }

    /// The machine halves its speed in the second round; the ratio does not move.
    #[test]
    fn ratios_pair_the_figures_of_one_round() {
        let ratios = Spread::of_ratios(&[60.0, 30.0, 66.0], &[100.0, 50.0, 100.0]).unwrap();
        assert_eq!(ratios, Spread { median: 0.6, min: 0.6, max: 0.66 });
    }

    #[test]
    fn percentiles_are_read_at_the_nearest_rank() {
        let mut samples: Vec<u64> = (1..=10_000).rev().collect();
        let found = Percentiles::of(&mut samples).unwrap();
        assert_eq!((found.p50, found.p90), (5_000, Some(9_000)));
        assert_eq!((found.p99, found.p999, found.max), (Some(9_900), Some(9_990), 10_000));
    }

    #[test]
    fn a_percentile_is_refused_one_sample_below_what_it_needs() {
        let of = |samples: u64| Percentiles::of(&mut (0..samples).collect::<Vec<_>>()).unwrap();
        assert_eq!(
            of(1),
            Percentiles { samples: 1, p50: 0, p90: None, p99: None, p999: None, max: 0 }
        );
        assert_eq!((of(99).p90, of(100).p90.is_some()), (None, true));
        assert_eq!((of(999).p99, of(1_000).p99.is_some()), (None, true));
        assert_eq!((of(9_999).p999, of(10_000).p999.is_some()), (None, true));
        assert_eq!(Percentiles::of(&mut []), None);
    }

    /// The first numbers of splitmix64 for seed 1234567, as its reference program prints them.
    #[test]
    fn the_generator_is_splitmix64() {
        let mut generator = SplitMix64::new(1_234_567);
        assert_eq!(generator.draw(), 6_457_827_717_110_365_317);
        assert_eq!(generator.draw(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn the_interval_lies_around_the_median_and_repeats() {
        let rounds = [0.9, 1.0, 1.1, 0.95, 1.05];
        let [low, median, high] = median_interval(&rounds).unwrap();
        assert!(low < median && median < high, "{low} {median} {high}");
        assert!((0.9..=1.1).contains(&low) && (0.9..=1.1).contains(&high));
        assert_eq!(median_interval(&rounds), Some([low, median, high]));
        assert_eq!(median_interval(&[2.0]), Some([2.0; 3]));
        assert_eq!(median_interval(&[]), None);
        assert_eq!(median_interval(&[f64::NAN]), None);
    }

    /// The distribution of a resampled median is known: it is at most the value of rank `k` when
    /// more than half of the draws are, and each is with a chance of `k / n`.
    #[test]
    fn the_interval_leaves_out_a_fortieth_at_each_end() {
        let n = 101_i32;
        let at_most = |k: i32| {
            let chance = f64::from(k) / f64::from(n);
            let exactly = |hits: i32| {
                let ways = (1..=hits).map(|i| f64::from(n - hits + i) / f64::from(i));
                ways.product::<f64>() * chance.powi(hits) * (1.0 - chance).powi(n - hits)
            };
            (n / 2 + 1..=n).map(exactly).sum::<f64>()
        };
        let rounds: Vec<f64> = (1..=n).map(f64::from).collect();
        let [low, median, high] = median_interval(&rounds).unwrap();
        assert_eq!(median, 51.0);
        // Ranks are whole, so an end may be off by the chance of one of them, about 1 %.
        let (below, above) = (at_most(low as i32 - 1), 1.0 - at_most(high as i32));
        for beyond in [below, above] {
            assert!((0.01..=0.04).contains(&beyond), "{low} {high}: {below} {above}");
        }
    }

    #[test]
    fn a_shuffle_keeps_every_cell_and_repeats_with_its_seed() {
        let order = |seed| {
            let mut cells: Vec<u32> = (0..20).collect();
            SplitMix64::new(seed).shuffle(&mut cells);
            cells
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let mut sorted = order(7);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn every_cell_comes_first_about_equally_often() {
        let mut generator = SplitMix64::new(1);
        let mut first = [0_u32; 4];
        for _ in 0..4_000 {
            let mut cells = [0, 1, 2, 3];
            generator.shuffle(&mut cells);
            first[cells[0]] += 1;
        }
        assert!(first.iter().all(|times| (800..1_200).contains(times)), "{first:?}");
    }
}
