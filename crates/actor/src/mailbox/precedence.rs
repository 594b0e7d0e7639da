//! When urgent mail goes before the other mail of an actor, and when it waits.
//!
//! It goes first, and the calls at hand are broken off for it, so that an urgent call waits for one
//! handler and no more. Somebody who says that everything is urgent must not hold up the rest for
//! ever: after [`URGENT_RUNS_MAX`] runs of urgent mail one run of other mail is granted, and that one
//! is not broken off.

use crate::limits::URGENT_RUNS_MAX;

/// The kind of mail that was served, and for how many runs.
#[derive(Debug, Default)]
pub(crate) struct Precedence {
    /// Runs of urgent mail since other mail had a turn that was not broken off for some.
    row: usize,
    current: CurrentRun,
}

/// The mail that the actor has taken last.
#[derive(Debug, Default, PartialEq, Eq)]
enum CurrentRun {
    #[default]
    Ordinary,
    Urgent,
    /// Other mail after as much urgent mail as may go before it.
    Granted,
}

impl Precedence {
    /// True when urgent mail goes before what waits already.
    pub(crate) fn goes_first(&self) -> bool {
        self.row < URGENT_RUNS_MAX
    }

    /// True when the calls at hand, if there are some, are broken off for urgent mail.
    pub(crate) fn breaks_off(&self) -> bool {
        self.current == CurrentRun::Ordinary
    }

    /// The actor takes a run of urgent mail.
    pub(crate) fn take_urgent(&mut self) {
        self.row = self.row.saturating_add(1);
        self.current = CurrentRun::Urgent;
    }

    /// The actor takes a run of other mail.
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
            assert!(!precedence.breaks_off(), "it is not broken off");
        }
    }

    /// A run that is broken off has not been served, so it does not count.
    #[test]
    fn runs_that_are_broken_off_do_not_begin_the_count_anew() {
        let mut precedence = Precedence::default();
        for _ in 0..URGENT_RUNS_MAX {
            precedence.take_ordinary();
            assert!(precedence.breaks_off());
            precedence.take_urgent();
        }
        assert!(!precedence.goes_first());
    }

    #[test]
    fn urgent_mail_now_and_then_is_never_held_up() {
        let mut precedence = Precedence::default();
        for _ in 0..10 * URGENT_RUNS_MAX {
            precedence.take_ordinary();
            precedence.take_ordinary();
            assert!(precedence.goes_first() && precedence.breaks_off());
            precedence.take_urgent();
        }
    }
}
