//! Whether the machine was quiet while a window was measured, and which of several tries counts.
//!
//! A window in which other programs took more than a little of the machine is thrown away and tried
//! again. When no try was quiet, the quietest one counts, and its row says so.

use crate::trial::Outcome;
use crate::workload::Judgement;

/// The share of the processors that other programs may take while the lab measures.
pub const FOREIGN_MAX: f64 = 0.05;
/// The ticks by which the kernel's count of the machine may be wrong, in seconds: two of 10 ms.
const TICKS_WRONG: f64 = 0.02;
/// The longest window in seconds that is tried again when it was not quiet.
const RETRIED_SECONDS_MAX: f64 = 20.0;

/// The quietest of the tries that one window has had.
#[derive(Default)]
pub struct QuietestTrial {
    best: Option<(Judgement, Outcome)>,
}

impl QuietestTrial {
    /// Takes a try. True when no other one is needed: it was quiet, or too long to be repeated.
    pub fn take(&mut self, judged: Judgement, outcome: Outcome) -> bool {
        let enough = is_quiet(&outcome) || outcome.seconds > RETRIED_SECONDS_MAX;
        let quieter = self
            .best
            .as_ref()
            .is_none_or(|(_, best)| outcome.foreign_cpu_share < best.foreign_cpu_share);
        if quieter {
            self.best = Some((judged, outcome));
        }
        enough
    }

    /// The quietest try, and whether even that one was loud; `None` without a try.
    pub fn into_window(self) -> Option<(Judgement, Outcome, bool)> {
        self.best.map(|(judged, outcome)| {
            let loud = !is_quiet(&outcome);
            (judged, outcome, loud)
        })
    }
}

fn is_quiet(outcome: &Outcome) -> bool {
    outcome.foreign_cpu_share <= foreign_max(outcome.seconds)
}

/// The share of the processors that other programs may take in a window of `seconds`.
fn foreign_max(seconds: f64) -> f64 {
    let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
    FOREIGN_MAX + TICKS_WRONG / (seconds * cores).max(0.01)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Length of a usual window in seconds, and that of a quick run.
    const USUAL: f64 = 1.5;
    const QUICK: f64 = 0.25;

    /// Takes tries of `seconds` in which others took these shares, until one is enough. Returns how
    /// many were taken, the share of the one that counts, and whether it is loud.
    fn tries(seconds: f64, shares: &[f64]) -> (usize, f64, bool) {
        let mut quietest = QuietestTrial::default();
        let mut taken = 0;
        for share in shares {
            taken += 1;
            let outcome = Outcome { seconds, foreign_cpu_share: *share, ..Outcome::default() };
            if quietest.take(Judgement::default(), outcome) {
                break;
            }
        }
        let (_, outcome, loud) = quietest.into_window().unwrap();
        (taken, outcome.foreign_cpu_share, loud)
    }

    /// The limit is a twentieth, with the error of the kernel's ticks added.
    #[test]
    fn a_window_is_loud_when_others_took_more_than_a_twentieth() {
        assert!((FOREIGN_MAX..FOREIGN_MAX + 0.02).contains(&foreign_max(USUAL)));
        // Ticks weigh more in a short window, and never so much that a busy neighbour passes.
        assert!(foreign_max(QUICK) < 0.14);
        assert_eq!(tries(USUAL, &[FOREIGN_MAX]), (1, FOREIGN_MAX, false));
        assert_eq!(tries(USUAL, &[0.08]), (1, 0.08, true));
    }

    #[test]
    fn the_quietest_of_loud_tries_counts_and_is_called_loud() {
        assert_eq!(tries(USUAL, &[0.4, 0.3, 0.6]), (3, 0.3, true));
        assert_eq!(tries(USUAL, &[0.3, 0.4, 0.6]), (3, 0.3, true));
        assert_eq!(tries(USUAL, &[0.6, 0.4, 0.3]), (3, 0.3, true));
    }

    #[test]
    fn a_quiet_try_ends_the_search_and_counts() {
        assert_eq!(tries(USUAL, &[0.5, 0.01, 0.001]), (2, 0.01, false));
    }

    #[test]
    fn a_long_window_is_not_repeated_and_its_noise_is_reported() {
        assert_eq!(tries(RETRIED_SECONDS_MAX + 1.0, &[0.5, 0.01]), (1, 0.5, true));
        assert!(QuietestTrial::default().into_window().is_none());
    }
}
