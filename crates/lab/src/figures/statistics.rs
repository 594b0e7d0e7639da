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

/// Rounds from which on the interval is read off the rounds themselves. With fewer, the true median lies
/// outside of all of them more often than one time in twenty: with three, one time in four.
const ORDERED_ROUNDS_MIN: usize = 6;

/// The quantiles of Student's distribution that leave out a fortieth at each end, for two rounds to
/// five: one degree of freedom to four.
const STUDENT: [f64; ORDERED_ROUNDS_MIN - 2] = [12.706, 4.303, 3.182, 2.776];

/// The median of `rounds` between the ends of its 95 % interval: low, median, high. A single round has
/// an interval without width, which says nothing. `None` of no rounds, or of one that is not finite or
/// not above zero.
///
/// From six rounds on, the ends are the rounds of such a rank that the true median lies beyond either
/// of them with a chance of a fortieth at most (the binomial distribution), whatever the rounds are
/// distributed like. Two to five rounds cannot say that by their ranks; their interval is that of
/// Student's distribution for the logarithms, since what disturbs a rate multiplies it.
pub fn median_interval(rounds: &[f64]) -> Option<[f64; 3]> {
    let Spread { median, min, max } = Spread::of(rounds)?;
    if min <= 0.0 {
        return None;
    }
    if min == max {
        return Some([median; 3]);
    }
    if rounds.len() >= ORDERED_ROUNDS_MIN {
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let left_out = ranks_left_out(sorted.len());
        return Some([sorted[left_out], median, sorted[sorted.len() - 1 - left_out]]);
    }
    let count = rounds.len() as f64;
    let logarithms: Vec<f64> = rounds.iter().map(|round| round.ln()).collect();
    let mean = logarithms.iter().sum::<f64>() / count;
    let squares: f64 = logarithms.iter().map(|logarithm| (logarithm - mean).powi(2)).sum();
    let half = STUDENT[rounds.len() - 2] * (squares / (count - 1.0) / count).sqrt();
    Some([(mean - half).exp(), median, (mean + half).exp()])
}

/// The rounds at each end that the interval of the median leaves out: as many as the true median lies
/// among or beyond with a chance of a fortieth at most.
fn ranks_left_out(rounds: usize) -> usize {
    let n = rounds as f64;
    // The chance that exactly `k` of `n` rounds lie below the median, in logarithms: 2^-n has no
    // number for a thousand rounds.
    let mut exactly = -n * f64::ln(2.0);
    let mut at_most = exactly.exp();
    let mut left_out = 0;
    for k in 1..=rounds / 2 {
        exactly += ((n - k as f64 + 1.0) / k as f64).ln();
        at_most += exactly.exp();
        if at_most > 0.025 {
            break;
        }
        left_out = k;
    }
    left_out
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
    fn the_interval_of_a_few_rounds_is_students_for_their_logarithms() {
        let ends = |rounds: &[f64]| median_interval(rounds).unwrap().map(|end| (end * 1e3).round());
        // Logarithms -0.1, 0, 0.1: 0.1 / √3 × 4.303 = 0.2484.
        let rounds = [-0.1_f64, 0.0, 0.1].map(f64::exp);
        assert_eq!(ends(&rounds), [780.0, 1000.0, 1282.0]);
        // With five rounds: 0.1 × √(5/8) / √5 × 2.776 = 0.0982.
        let rounds = [-0.1_f64, -0.05, 0.0, 0.05, 0.1].map(f64::exp);
        assert_eq!(ends(&rounds), [907.0, 1000.0, 1103.0]);
        assert_eq!(median_interval(&[2.0]), Some([2.0; 3]));
        assert_eq!(median_interval(&[2.0; 4]), Some([2.0; 3]));
        for none in [&[][..], &[f64::NAN], &[1.0, 0.0], &[1.0, -1.0]] {
            assert_eq!(median_interval(none), None);
        }
    }

    /// The ranks are those of the tables for the sign test at 5 %.
    #[test]
    fn the_interval_of_many_rounds_leaves_out_the_ranks_of_the_sign_test() {
        for (rounds, left_out) in
            [(6, 0), (8, 0), (9, 1), (12, 2), (25, 7), (100, 39), (2_000, 955)]
        {
            assert_eq!(ranks_left_out(rounds), left_out, "{rounds}");
        }
        let rounds: Vec<f64> = (1..=9).rev().map(f64::from).collect();
        assert_eq!(median_interval(&rounds), Some([2.0, 5.0, 8.0]));
    }

    /// Rounds of which each is drawn from one distribution, half of it below 1: about 19 of 20
    /// intervals contain the true median.
    #[test]
    fn the_interval_contains_the_true_median_as_often_as_it_says() {
        let mut random = SplitMix64::new(7);
        for count in [3, 5, 6, 9, 20] {
            let mut round = |_| {
                let uniform = || (random.draw() >> 11) as f64 / (1_u64 << 53) as f64;
                (std::iter::repeat_with(uniform).take(12).sum::<f64>() - 6.0).exp()
            };
            let contains = |rounds: Vec<f64>| {
                let [low, _, high] = median_interval(&rounds).unwrap();
                low <= 1.0 && 1.0 <= high
            };
            let hits =
                (0..2_000).filter(|_| contains((0..count).map(&mut round).collect())).count();
            assert!((1_880..1_990).contains(&hits), "{count} rounds: {hits} of 2,000");
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
