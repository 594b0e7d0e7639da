//! The pauses between two dials to one address.

use std::time::Duration;

use wigwag_sp::OutOfRange;

/// The pauses between two dials to one address: they double from the shortest to the longest, each
/// shortened at random by up to a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redial {
    least: Duration,
    most: Duration,
}

impl Redial {
    /// Pause before the first redial unless set, as in nanomsg and mangos.
    pub const LEAST: Duration = Duration::from_millis(100);
    /// Longest pause unless set: a peer that comes back is found within a second.
    pub const MOST: Duration = Duration::from_secs(1);

    /// Pauses from `least`, at least 1 ms so that a refused dial does not become a busy loop, to
    /// `most`, at least `least` and at most a day. Equal ones mean no growth.
    pub const fn new(least: Duration, most: Duration) -> Result<Redial, OutOfRange> {
        const DAY_MS: u64 = 24 * 3600 * 1000;
        let (low, high) = (milliseconds(least), milliseconds(most));
        let unit = "milliseconds";
        if low < 1 || low > DAY_MS {
            let what = "the shortest pause between dials";
            return Err(OutOfRange { what, given: low, least: 1, most: DAY_MS, unit });
        }
        if high < low || high > DAY_MS {
            let what = "the longest pause between dials";
            return Err(OutOfRange { what, given: high, least: low, most: DAY_MS, unit });
        }
        Ok(Redial { least, most })
    }

    /// The pause before the first redial.
    pub const fn least(self) -> Duration {
        self.least
    }

    /// The longest pause.
    pub const fn most(self) -> Duration {
        self.most
    }
}

impl Default for Redial {
    fn default() -> Redial {
        Redial { least: Redial::LEAST, most: Redial::MOST }
    }
}

const fn milliseconds(time: Duration) -> u64 {
    let whole = time.as_millis();
    if whole > u64::MAX as u128 { u64::MAX } else { whole as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redial_pauses_have_an_order_and_bounds() {
        let ms = Duration::from_millis;
        assert!(Redial::new(ms(1), ms(1)).is_ok());
        for (least, most) in [(0, 1), (2, 1), (1, 86_400_001)] {
            let refused = Redial::new(ms(least), ms(most)).unwrap_err();
            assert_eq!(refused.unit, "milliseconds", "{refused}");
        }
        assert_eq!(Redial::new(Redial::LEAST, Redial::MOST), Ok(Redial::default()));
    }
}
