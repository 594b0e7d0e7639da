//! An estimate of whether the runs of a job are short, so that a caller may run it inline, and
//! other jobs may wait behind it.
//!
//! Reading the clock twice costs a third of a short run, so a run is measured only if nothing is
//! known, and now and then; also by a caller that runs the job inline, so that it need not leave
//! that to others.

use std::time::Instant;

use crate::limits::{SHORT_RUN, SHORT_RUNS_TRUSTED};
use crate::sync::{AtomicU8, Ordering};

/// The estimate: 0 for nothing known; otherwise the runs are short, and after so many more of them
/// one is measured again, counted from 1.
pub(super) struct RunLength(AtomicU8);

impl RunLength {
    pub(super) fn unknown() -> RunLength {
        RunLength(AtomicU8::new(0))
    }

    /// True when the next run is likely short; it counts.
    pub(super) fn is_likely(&self) -> bool {
        let known = self.0.load(Ordering::Relaxed);
        if known > 1 {
            // Seldom does anybody else, and then two runs count as one.
            self.0.store(known - 1, Ordering::Relaxed);
        }
        known > 0
    }

    /// A run begins; it is measured if it must be.
    pub(super) fn begin(&self) -> Option<Instant> {
        (self.0.load(Ordering::Relaxed) <= 1).then(Instant::now)
    }

    /// It has ended.
    pub(super) fn end(&self, begun: Option<Instant>) {
        let Some(begun) = begun else { return };
        let known = if begun.elapsed() <= SHORT_RUN { 1 + SHORT_RUNS_TRUSTED } else { 0 };
        self.0.store(known, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_trusted_for_a_while_after_a_short_run_and_not_after_a_long_one() {
        let run_length = RunLength::unknown();
        assert!(!run_length.is_likely());
        let begun = run_length.begin();
        assert!(begun.is_some());
        run_length.end(begun);
        for _ in 1..SHORT_RUNS_TRUSTED {
            assert!(run_length.is_likely() && run_length.begin().is_none());
        }
        assert!(run_length.is_likely());
        assert!(
            run_length.begin().is_some() && run_length.is_likely(),
            "this one is measured again"
        );
        run_length.end(Instant::now().checked_sub(SHORT_RUN * 2));
        assert!(!run_length.is_likely());
    }
}
