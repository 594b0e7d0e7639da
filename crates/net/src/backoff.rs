//! Backoff: how long to wait before the next dial.
//!
//! The pause doubles from the shortest to the longest. Each is shortened at random by up to a half,
//! so that the clients of a restarted server do not all reconnect at once. A connection that held
//! resets the backoff; one that ended at once does not, or a peer that refuses us would be dialled
//! ten times a second.

use std::time::Duration;

use crate::options::Redial;

/// Lifetime after which a connection counts as good, whatever the longest pause is.
const GOOD_AFTER: Duration = Duration::from_secs(1);

/// The pauses between dials.
#[derive(Debug)]
pub struct Backoff {
    redial: Redial,
    /// The next pause before it is shortened; `None`: dial at once.
    longest: Option<Duration>,
}

impl Backoff {
    /// A backoff for an address that was dialled already.
    pub fn new(redial: Redial) -> Backoff {
        Backoff { redial, longest: Some(redial.least()) }
    }

    /// A backoff for an address that was never dialled: the first pause is zero.
    pub fn immediate(redial: Redial) -> Backoff {
        Backoff { redial, longest: None }
    }

    /// The next pause: between half and all of its full length, chosen by `random`, a uniformly
    /// distributed 64-bit number.
    pub fn next(&mut self, random: u64) -> Duration {
        let Some(longest) = self.longest else {
            self.longest = Some(self.redial.least());
            return Duration::ZERO;
        };
        self.longest = Some((longest * 2).min(self.redial.most()));
        let half = longest / 2;
        half + half.mul_f64(random as f64 / u64::MAX as f64)
    }

    /// Notes the end of a connection that lived for `time`.
    pub fn connected_for(&mut self, time: Duration) {
        if time >= GOOD_AFTER.min(self.redial.most()) {
            self.longest = Some(self.redial.least());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(backoff: &mut Backoff, random: u64) -> [u128; 6] {
        [(); 6].map(|()| backoff.next(random).as_millis())
    }

    #[test]
    fn pauses_double_up_to_a_second_and_vary_by_half() {
        let new = || Backoff::new(Redial::default());
        assert_eq!(milliseconds(&mut new(), u64::MAX), [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(milliseconds(&mut new(), 0), [50, 100, 200, 400, 500, 500]);
        let mut background = Backoff::immediate(Redial::default());
        assert_eq!(milliseconds(&mut background, u64::MAX), [0, 100, 200, 400, 800, 1000]);
    }

    #[test]
    fn pauses_stay_within_bounds_and_equal_bounds_mean_no_growth() {
        let ms = Duration::from_millis;
        let mut same = Backoff::new(Redial::new(ms(30), ms(30)).unwrap());
        assert_eq!(milliseconds(&mut same, u64::MAX), [30; 6]);
        let mut wide = Backoff::new(Redial::new(ms(1), ms(5)).unwrap());
        assert_eq!(milliseconds(&mut wide, u64::MAX), [1, 2, 4, 5, 5, 5]);
    }

    #[test]
    fn only_a_good_connection_resets_the_backoff() {
        let mut backoff =
            Backoff::new(Redial::new(Redial::LEAST, Duration::from_secs(3600)).unwrap());
        milliseconds(&mut backoff, u64::MAX);
        backoff.connected_for(Duration::from_millis(999));
        assert_eq!(backoff.next(u64::MAX), 64 * Redial::LEAST);
        backoff.connected_for(Duration::from_secs(1));
        assert_eq!(backoff.next(u64::MAX), Redial::LEAST);
    }
}
