//! An estimate of whether a job's runs are short, so that an asker may run it inline and other jobs
//! may wait behind it.
//!
//! Reading the clock twice costs a third of the time that a short run may take, so runs are
//! measured one by one only until one was short, and now and then after that. Inline runs are
//! measured too, so that an asker need not leave the job to an executor.

use std::time::Instant;

use crate::limits::{SHORT_RUN, SHORT_RUNS_TRUSTED};
use crate::sync::{AtomicU8, Ordering};

/// The estimate for one job. Zero when no run was measured or the last one was long. Otherwise the
/// runs count as short, and the value counts down to 1, at which the next run is measured again.
pub(super) struct RunLength(AtomicU8);

impl RunLength {
    pub(super) fn unknown() -> RunLength {
        RunLength(AtomicU8::new(0))
    }

    /// True when the next run is likely short; each query counts as a run.
    pub(super) fn is_likely(&self) -> bool {
        let known = self.0.load(Ordering::Relaxed);
        if known > 1 {
            // If another thread does this at the same moment, which is rare, two runs count as one.
            self.0.store(known - 1, Ordering::Relaxed);
        }
        known > 0
    }

    /// True while runs count as short.
    pub(super) fn is_known(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Begins a run; returns the start time if the run is to be measured.
    pub(super) fn begin(&self) -> Option<Instant> {
        (self.0.load(Ordering::Relaxed) <= 1).then(Instant::now)
    }

    /// Ends a run; `begun` is its start time if it is measured.
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
            "the run is measured again"
        );
        run_length.end(Instant::now().checked_sub(SHORT_RUN * 2));
        assert!(!run_length.is_likely());
    }
}
