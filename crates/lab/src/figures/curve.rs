//! The latency curve of round trips: the times between the four percentiles of an account and above
//! the last of them.
//!
//! A curve is at most [`POINTS_MAX`] points, so that an account stays one line and a document
//! small. It comes from a foreign program, so it is checked where it is read; and a point that
//! chance decides, because too few samples lie beyond it, is given by nobody and shown by nobody.

use serde::{Deserialize, Serialize};

use crate::figures::statistics::{SAMPLES_BEYOND_MIN, Spread};

/// Points of a curve, at most: as many as a plot of a phone's width can show apart.
pub const POINTS_MAX: usize = 40;

/// The shares of the lab's own programs. They stand closer where a logarithmic scale of what is
/// beyond them needs it.
const SHARES: [f64; 28] = [
    0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98,
    0.985, 0.99, 0.993, 0.995, 0.997, 0.998, 0.999, 0.9993, 0.9995, 0.9998, 0.9999,
];

/// An account's percentile and the curve at the same share may be rounded differently.
const ROUNDING: f64 = 0.001;

/// Points of a share and the microseconds that it did not exceed; both ascend.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<[f64; 2]>")]
pub struct Curve(Vec<[f64; 2]>);

impl TryFrom<Vec<[f64; 2]>> for Curve {
    type Error = String;

    fn try_from(points: Vec<[f64; 2]>) -> Result<Self, String> {
        if points.len() > POINTS_MAX {
            let count = points.len();
            return Err(format!("its curve has {count} points, {POINTS_MAX} are allowed"));
        }
        let mut before = [0.0, 0.0];
        for point in points.iter().copied() {
            let [share, time] = point;
            let follows = share > before[0] && share < 1.0 && time >= before[1];
            if !follows || !time.is_finite() {
                return Err(format!("its curve does not ascend at share {share}, {time} µs"));
            }
            before = point;
        }
        Ok(Self(points))
    }
}

impl Curve {
    /// The curve of `samples`, where `at` gives the time that a share did not exceed. Points that
    /// have too few samples are left out.
    pub fn of(samples: u64, at: impl Fn(f64) -> f64) -> Self {
        let borne = SHARES.into_iter().filter(|share| is_borne(*share, samples));
        Self(borne.map(|share| [share, at(share)]).collect())
    }

    /// The middle of the rounds, share by share, of those shares that every round has and that the
    /// `samples` of a round bear. Empty when a round has no curve.
    pub fn middle<'a>(rounds: impl Iterator<Item = &'a Curve>, samples: u64) -> Self {
        let rounds: Vec<&Curve> = rounds.collect();
        let shares = rounds.first().map_or(&[][..], |first| &first.0);
        let middle = |share: f64| {
            let times: Option<Vec<f64>> = rounds.iter().map(|round| round.at(share)).collect();
            Some([share, Spread::of(&times?)?.median])
        };
        let borne = shares.iter().map(|point| point[0]).filter(|share| is_borne(*share, samples));
        Self(borne.filter_map(middle).collect())
    }

    /// Whether it goes through `time` at `share`: nothing before it is slower, nothing behind it
    /// is faster.
    pub fn goes_through(&self, share: f64, time: f64) -> bool {
        self.0.iter().all(|[at, found]| {
            let slower = *found > time * (1.0 + ROUNDING) + ROUNDING;
            let faster = *found < time * (1.0 - ROUNDING) - ROUNDING;
            !(*at <= share && slower || *at >= share && faster)
        })
    }

    /// Share and microseconds of each point.
    pub fn points(&self) -> &[[f64; 2]] {
        &self.0
    }

    /// True when the curve has no points.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The time at exactly this share, if it is a point.
    pub fn at(&self, share: f64) -> Option<f64> {
        self.0.iter().find(|point| (point[0] - share).abs() < 1e-9).map(|point| point[1])
    }
}

/// Whether enough of `samples` lie beyond `share`, on the side where there are fewer.
fn is_borne(share: f64, samples: u64) -> bool {
    // 0.999 of 10,000 leaves ten, and a hair less in floating point.
    samples as f64 * share.min(1.0 - share) + 1e-6 >= SAMPLES_BEYOND_MIN as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(json: &str) -> Result<Curve, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn a_foreign_curve_ascends_and_is_short_or_it_is_none() {
        assert!(curve("[[0.5, 10.0], [0.9, 10.0], [0.99, 31.5]]").is_ok());
        for bad in
            ["[[0.5, 10], [0.5, 11]]", "[[0.5, 10], [0.9, 9]]", "[[0, 1]]", "[[1, 1]]", "[[0.5]]"]
        {
            assert!(curve(bad).is_err(), "{bad}");
        }
        let long: Vec<[f64; 2]> = (1..=41).map(|step| [f64::from(step) / 50.0, 1.0]).collect();
        assert!(Curve::try_from(long.clone()).unwrap_err().contains("41 points, 40 are allowed"));
        assert!(Curve::try_from(long[..40].to_vec()).is_ok());
        assert!(Curve::try_from(vec![[0.5, f64::INFINITY]]).is_err());
        assert!(Curve::try_from(vec![[f64::NAN, 1.0]]).is_err());
    }

    /// Ten samples beyond each end.
    #[test]
    fn a_point_that_chance_decides_is_not_given() {
        let ends = |samples| {
            let curve = Curve::of(samples, |share| share);
            let first = curve.points().first().map(|point| point[0]);
            first.zip(curve.points().last().map(|point| point[0]))
        };
        assert_eq!(ends(19), None);
        assert_eq!(ends(20), Some((0.5, 0.5)));
        assert_eq!(ends(1_000), Some((0.01, 0.99)));
        assert_eq!(ends(9_999), Some((0.01, 0.998)));
        assert_eq!(ends(10_000), Some((0.01, 0.999)));
        assert_eq!(ends(100_000), Some((0.01, 0.9999)));
        assert!(SHARES.len() <= POINTS_MAX);
    }

    #[test]
    fn rounds_meet_in_the_middle_of_each_share_that_all_have() {
        let rounds = [
            curve("[[0.5, 10], [0.9, 20], [0.999, 90]]").unwrap(),
            curve("[[0.5, 12], [0.9, 19], [0.999, 70]]").unwrap(),
            curve("[[0.5, 11], [0.8, 15], [0.9, 30], [0.999, 80]]").unwrap(),
        ];
        let of = |samples| Curve::middle(rounds.iter(), samples);
        assert_eq!(of(10_000).points(), [[0.5, 11.0], [0.9, 20.0], [0.999, 80.0]]);
        assert_eq!(of(1_000).points(), [[0.5, 11.0], [0.9, 20.0]]);
        let none = Curve::default();
        assert!(Curve::middle(rounds.iter().chain([&none]), 10_000).is_empty());
        assert!(Curve::middle([].into_iter(), 10_000).is_empty());
    }

    #[test]
    fn a_curve_that_tells_another_tale_than_its_percentiles_is_seen() {
        let told = curve("[[0.5, 10], [0.95, 30], [0.99, 31]]").unwrap();
        assert!(told.goes_through(0.5, 10.0) && told.goes_through(0.9, 25.0));
        assert!(told.goes_through(0.5, 10.005));
        assert!(!told.goes_through(0.5, 12.0) && !told.goes_through(0.9, 31.0));
        assert!(!told.goes_through(1.0, 30.0) && told.goes_through(1.0, 31.0));
    }
}
