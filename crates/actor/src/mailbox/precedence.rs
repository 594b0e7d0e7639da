//! The precedence of urgent mail over the other mail of an actor.
//!
//! Urgent mail goes first, and the current run is broken off for it, so that an urgent call waits
//! for one handler at most. A flood of urgent calls must not hold up the others for ever: after
//! [`URGENT_RUNS_MAX`] runs of urgent mail, one run of other mail is granted, which is not broken
//! off.

use crate::limits::URGENT_RUNS_MAX;

/// The kind of mail that the actor handles, and how many urgent runs it has handled.
#[derive(Debug, Default)]
pub(crate) struct Precedence {
    /// Runs of urgent mail since other mail last had a granted run or two runs in succession.
    row: usize,
    current: CurrentRun,
}

/// The kind of the run that the actor has taken last.
#[derive(Debug, Default, PartialEq, Eq)]
enum CurrentRun {
    #[default]
    Ordinary,
    Urgent,
    /// Other mail, after as many urgent runs as may go before it.
    Granted,
}

impl Precedence {
    /// True when urgent mail goes before the other mail that waits.
    pub(crate) fn goes_first(&self) -> bool {
        self.row < URGENT_RUNS_MAX
    }

    /// True when the current run, if there is one, is broken off for urgent mail.
    pub(crate) fn breaks_off(&self) -> bool {
        self.current == CurrentRun::Ordinary
    }

    /// Notes that the actor takes a run of urgent mail.
    pub(crate) fn take_urgent(&mut self) {
        self.row = self.row.saturating_add(1);
        self.current = CurrentRun::Urgent;
    }

    /// Notes that the actor takes a run of other mail.
    pub(crate) fn take_ordinary(&mut self) {
        let granted = !self.goes_first();
        if granted || self.current != CurrentRun::Urgent {
            self.row = 0;
        }
        self.current = if granted { CurrentRun::Granted } else { CurrentRun::Ordinary };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_so_many_urgent_runs_one_of_other_mail_is_granted() {
        let mut precedence = Precedence::default();
        for _ in 0..3 {
            for _ in 0..URGENT_RUNS_MAX {
                assert!(precedence.goes_first());
                precedence.take_urgent();
            }
            assert!(!precedence.goes_first());
            precedence.take_ordinary();
            assert!(!precedence.breaks_off(), "a granted run is not broken off");
        }
    }

    /// A run that is followed by an urgent one counts as broken off.
    #[test]
    fn runs_that_are_broken_off_do_not_reset_the_count() {
        let mut precedence = Precedence::default();
        for _ in 0..URGENT_RUNS_MAX {
            precedence.take_ordinary();
            assert!(precedence.breaks_off());
            precedence.take_urgent();
        }
        assert!(!precedence.goes_first());
    }

    #[test]
    fn occasional_urgent_mail_is_never_held_up() {
        let mut precedence = Precedence::default();
        for _ in 0..10 * URGENT_RUNS_MAX {
            precedence.take_ordinary();
            precedence.take_ordinary();
            assert!(precedence.goes_first() && precedence.breaks_off());
            precedence.take_urgent();
        }
    }
}
