//! Trials of whether spinning pays: what waits cost that spin, and what waits cost that sleep.
//!
//! Waits are counted in windows. In a trial the windows alternate: the waits of one sleep, the waits
//! of the next one spin. The two are a pair, and the pairs decide by their median, so one that a
//! stranger disturbed does not count. After the trial all waits do what was found to be better, for
//! a number of windows that grows while trials agree.
//!
//! Pure: costs come in, and whether to spin comes out.

/// Pairs of windows that decide, an odd number.
const PAIRS: usize = 5;

/// Windows between two trials: the first time, and at most. A trial has [`PAIRS`] windows that
/// spin, so at most one window in fifty spins where that does not pay, or sleeps where it does. A
/// window has 12 ms at least, so the longest rest has 3 s or more.
///
/// Measured gain of 64 windows instead of 16 the first time: `rtt` of the lab, 23.0 instead of 21.4
/// thousand waits a second, of 23.7 if every wait spins.
const REST_FIRST: u32 = 64;
const REST_MAX: u32 = 256;

/// The average cost of a wait in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WaitCost {
    /// Processor time of this process, in nanoseconds.
    pub(crate) cpu_ns: u64,
    /// Time until the answer was there, in nanoseconds.
    pub(crate) wait_ns: u64,
}

impl WaitCost {
    /// The time that a wait saves if it costs this and not `sleeping`; negative for a loss.
    ///
    /// Only the processor time of this process can be read. The peer's is estimated from the
    /// time by which the answer comes earlier: the peer need not wake a sleeping processor.
    fn saves_ns(self, sleeping: WaitCost) -> i64 {
        let less = |from: u64, to: u64| from.cast_signed().saturating_sub(to.cast_signed());
        let peer = less(sleeping.wait_ns, self.wait_ns) * PEER_SHARE.0 / PEER_SHARE.1;
        less(sleeping.cpu_ns, self.cpu_ns).saturating_add(peer)
    }
}

/// The part of the time by which an answer comes earlier that the peer saves as processor time.
///
/// Measured over loopback on an idle virtual machine: 0.5 to 0.6, in a runtime with two workers and
/// in one with a single thread. With exactly that, chance would decide where the processor time of
/// both sides is equal; with a little more, the earlier answer does.
const PEER_SHARE: (i64, i64) = (3, 4);

/// Decides for each window of waits whether they spin.
#[derive(Debug)]
pub(crate) struct SpinTrials {
    /// The first window of a pair, whose waits slept.
    sleeping: Option<WaitCost>,
    /// The times that the pairs of this trial save.
    saved_ns: Vec<i64>,
    /// The result of the last trial.
    pays: bool,
    /// Windows until the next trial.
    rest: u32,
    /// Windows that the next rest has, if its trial agrees with the last one.
    rest_next: u32,
}

impl SpinTrials {
    /// Begins with a trial.
    pub(crate) fn new() -> SpinTrials {
        SpinTrials {
            sleeping: None,
            saved_ns: Vec::with_capacity(PAIRS),
            pays: false,
            rest: 0,
            rest_next: REST_FIRST,
        }
    }

    /// Whether waits of this window spin.
    pub(crate) fn spins(&self) -> bool {
        if self.rest > 0 { self.pays } else { self.sleeping.is_some() }
    }

    /// Ends a window.
    pub(crate) fn end_window(&mut self, cost: WaitCost) {
        if self.rest > 0 {
            self.rest -= 1;
            return;
        }
        let Some(sleeping) = self.sleeping.take() else {
            self.sleeping = Some(cost);
            return;
        };
        self.saved_ns.push(cost.saves_ns(sleeping));
        if self.saved_ns.len() == PAIRS {
            self.decide();
        }
    }

    /// Ends a window whose cost is unknown or says nothing, and so the pair that it belongs to.
    pub(crate) fn void_window(&mut self) {
        self.sleeping = None;
    }

    fn decide(&mut self) {
        self.saved_ns.sort_unstable();
        let pays = self.saved_ns[PAIRS / 2] > 0;
        self.saved_ns.clear();
        self.rest = if pays == self.pays { self.rest_next.min(REST_MAX) } else { REST_FIRST };
        self.rest_next = self.rest * 2;
        self.pays = pays;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLEEPING: WaitCost = WaitCost { cpu_ns: 30_000, wait_ns: 90_000 };
    const CHEAPER: WaitCost = WaitCost { cpu_ns: 25_000, wait_ns: 60_000 };
    const DEARER: WaitCost = WaitCost { cpu_ns: 90_000, wait_ns: 80_000 };

    /// Runs a trial, and returns the number of windows before the next one.
    fn trial(trials: &mut SpinTrials, spinning: impl Fn(usize) -> WaitCost) -> u32 {
        for pair in 0..PAIRS {
            assert!(!trials.spins(), "pair {pair} sleeps first");
            trials.end_window(SLEEPING);
            assert!(trials.spins(), "pair {pair} spins then");
            trials.end_window(spinning(pair));
        }
        trials.rest
    }

    /// Ends windows until the next trial begins.
    fn rest(trials: &mut SpinTrials) {
        let spins = trials.spins();
        while trials.rest > 0 {
            assert_eq!(trials.spins(), spins, "{trials:?}");
            trials.end_window(SLEEPING);
        }
    }

    #[test]
    fn waits_spin_where_that_is_cheaper_and_sleep_where_it_is_dearer() {
        for (cost, pays) in [(CHEAPER, true), (DEARER, false), (SLEEPING, false)] {
            let mut trials = SpinTrials::new();
            assert!(!trials.spins(), "the first window sleeps");
            trial(&mut trials, |_| cost);
            assert_eq!(trials.spins(), pays, "{cost:?}");
        }
    }

    #[test]
    fn pairs_that_were_disturbed_do_not_decide() {
        for (usual, disturbed, pays) in [(CHEAPER, DEARER, true), (DEARER, CHEAPER, false)] {
            let mut trials = SpinTrials::new();
            trial(&mut trials, |pair| if pair % 2 == 1 { disturbed } else { usual });
            assert_eq!(trials.spins(), pays);
        }
    }

    /// The peer is taken to save a part of the time by which the answer comes earlier.
    #[test]
    fn a_wait_may_cost_as_much_more_as_the_peer_saves() {
        let faster = |cpu_ns| WaitCost { cpu_ns, wait_ns: SLEEPING.wait_ns - 20_000 };
        let most = SLEEPING.cpu_ns + (20_000 * PEER_SHARE.0 / PEER_SHARE.1).unsigned_abs();
        for (cpu_ns, pays) in [(most - 1, true), (most, false)] {
            let mut trials = SpinTrials::new();
            trial(&mut trials, |_| faster(cpu_ns));
            assert_eq!(trials.spins(), pays, "{cpu_ns}");
        }
        let slower = WaitCost { cpu_ns: SLEEPING.cpu_ns - 1, wait_ns: SLEEPING.wait_ns + 20_000 };
        let mut trials = SpinTrials::new();
        trial(&mut trials, |_| slower);
        assert!(!trials.spins(), "what answers later costs the peer more");
    }

    #[test]
    fn trials_that_agree_are_ever_rarer_and_a_change_is_noticed() {
        let mut trials = SpinTrials::new();
        let rests = |trials: &mut SpinTrials, cost, count: usize| -> Vec<u32> {
            let one = |_| {
                rest(trials);
                trial(trials, |_| cost)
            };
            (0..count).map(one).collect()
        };
        assert_eq!(rests(&mut trials, DEARER, 4), [64, 128, 256, 256]);
        assert_eq!(rests(&mut trials, CHEAPER, 4), [64, 128, 256, 256]);
        assert!(trials.spins());
        assert_eq!(rests(&mut trials, DEARER, 2), [64, 128]);
        assert!(!trials.spins());
    }

    #[test]
    fn a_window_that_is_void_takes_its_pair_along() {
        let mut trials = SpinTrials::new();
        trials.end_window(DEARER);
        assert!(trials.spins());
        trials.void_window();
        assert!(!trials.spins(), "the pair begins anew");
        trial(&mut trials, |_| CHEAPER);
        assert!(trials.spins(), "the void window is in no pair");
        let rest = trials.rest;
        trials.void_window();
        assert_eq!((trials.rest, trials.spins()), (rest, true), "a rest goes on");
    }
}
