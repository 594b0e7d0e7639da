//! A window moment by moment, by the bytes on its wire: whether anything goes on, and whether it
//! goes on as fast as it began.

use std::time::{Duration, Instant};

/// Moments that are kept; when there are more, every second one goes, and of those to come too.
const MOMENTS_MAX: usize = 2_048;
/// So few bytes are no progress: two programs that only tell each other that they live.
const STIR_BYTES: u64 = 16 * 1_024;
/// A tenth that is told from less than so many moments says nothing.
const TENTH_MOMENTS_MIN: usize = 2;

/// So few bytes are a silence: a connection that stalls probes whether the other side lives.
const HUSH_BYTES: u64 = 1_024;

/// A time in which next to nothing went over the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Silence {
    /// Seconds since the beginning.
    pub from: f64,
    /// And when it was seen last.
    pub to: f64,
    /// Bytes that did go.
    pub bytes: u64,
}

/// Bytes on the wire over time.
#[derive(Clone, Debug)]
pub struct WireTimeline {
    began: Instant,
    /// Seconds since the beginning, and bytes since then.
    moments: Vec<(f64, u64)>,
    /// One of so many moments is kept.
    stride: usize,
    seen: usize,
    bytes: u64,
    /// When the wire was last seen to carry something, and what it had carried by then.
    stirred: (Instant, u64),
}

impl WireTimeline {
    /// The window begins.
    pub fn new(began: Instant) -> WireTimeline {
        let moments = vec![(0.0, 0)];
        WireTimeline { began, moments, stride: 1, seen: 0, bytes: 0, stirred: (began, 0) }
    }

    /// Takes the bytes that have gone since the beginning.
    pub fn take(&mut self, now: Instant, bytes: u64) {
        if bytes >= self.stirred.1 + STIR_BYTES {
            self.stirred = (now, bytes);
        }
        self.bytes = bytes;
        self.seen += 1;
        if !self.seen.is_multiple_of(self.stride) {
            return;
        }
        if self.moments.len() == MOMENTS_MAX {
            let mut index = 0;
            self.moments.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
        self.moments.push((now.duration_since(self.began).as_secs_f64(), bytes));
    }

    /// For how long the wire has been silent.
    pub fn silent_for(&self, now: Instant) -> Duration {
        now.duration_since(self.stirred.0)
    }

    /// The longest time in which no more went over the wire than what keeps a connection alive.
    pub fn longest_silence(&self) -> Option<Silence> {
        let mut longest: Option<Silence> = None;
        let mut first = 0;
        for (last, (to, after)) in self.moments.iter().enumerate() {
            while after - self.moments[first].1 > HUSH_BYTES {
                first += 1;
            }
            let (from, before) = self.moments[first];
            let silence = Silence { from, to: *to, bytes: after - before };
            let is_longer = longest.is_none_or(|it| silence.to - silence.from > it.to - it.from);
            if first < last && is_longer {
                longest = Some(silence);
            }
        }
        longest
    }

    /// All of them.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The rate of the last tenth of the bytes, to that of the first. `None`: too short to tell.
    pub fn last_tenth_to_first(&self) -> Option<f64> {
        let all = self.moments.last()?.1;
        let first = self.moments.iter().position(|(_, bytes)| *bytes >= all / 10)?;
        let last = self.moments.iter().rposition(|(_, bytes)| *bytes <= all - all / 10)?;
        if first < TENTH_MOMENTS_MIN || self.moments.len() - 1 - last < TENTH_MOMENTS_MIN {
            return None;
        }
        let rate = |from: (f64, u64), to: (f64, u64)| (to.1 - from.1) as f64 / (to.0 - from.0);
        let (begin, end) = (self.moments[0], *self.moments.last()?);
        let (early, late) = (rate(begin, self.moments[first]), rate(self.moments[last], end));
        (early > 0.0 && late.is_finite()).then(|| late / early)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(bytes: impl Iterator<Item = u64>) -> WireTimeline {
        let began = Instant::now();
        let mut timeline = WireTimeline::new(began);
        for (step, bytes) in (1..).zip(bytes) {
            timeline.take(began + Duration::from_millis(50 * step), bytes);
        }
        timeline
    }

    #[test]
    fn a_steady_wire_ends_as_fast_as_it_began() {
        let steady = timeline((1..=100).map(|step| step * 1_000_000));
        let ratio = steady.last_tenth_to_first().unwrap();
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
        assert_eq!(steady.bytes(), 100_000_000);
        assert_eq!(timeline([1, 2].into_iter()).last_tenth_to_first(), None);
    }

    #[test]
    fn one_that_tires_is_seen() {
        let tiring = (1..=60).map(|step| step * 1_000_000);
        let tired = (1..=400).map(|step| 60_000_000 + step * 100_000);
        let ratio = timeline(tiring.chain(tired)).last_tenth_to_first().unwrap();
        assert!((ratio - 0.1).abs() < 0.01, "{ratio}");
    }

    #[test]
    fn a_long_window_keeps_its_shape_in_few_moments() {
        let long = timeline((1..=100_000).map(|step| step * 1_000));
        assert!(long.moments.len() <= MOMENTS_MAX);
        let ratio = long.last_tenth_to_first().unwrap();
        assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
    }

    #[test]
    fn the_longest_silence_is_found_with_what_dripped_through_it() {
        let steps = [1, 2, 2, 3, 4, 4, 4, 4, 5, 6].map(|step| step * 1_000_000);
        let silence = timeline(steps.into_iter()).longest_silence().unwrap();
        assert!((silence.from - 0.25).abs() < 1e-9 && (silence.to - 0.4).abs() < 1e-9);
        let drips = [1_000_000, 1_000_066, 1_000_132, 2_000_000];
        assert_eq!(timeline(drips.into_iter()).longest_silence().unwrap().bytes, 132);
        assert_eq!(timeline([1_000_000, 2_000_000].into_iter()).longest_silence(), None);
    }

    #[test]
    fn a_heartbeat_is_no_progress() {
        let quiet = timeline((1..=200).map(|step| 5_000_000 + step.min(40) * 100));
        let now = quiet.began + Duration::from_secs(10);
        assert_eq!(quiet.silent_for(now), Duration::from_millis(9_950));
    }
}
