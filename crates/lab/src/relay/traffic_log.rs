//! The notes of a relay: bytes that went to the server, moment by moment, and its cuts.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::RelayPlan;

/// Length of a step, as long as there are few.
const STEP: Duration = Duration::from_millis(10);
/// Steps that are kept; when there would be more, every two become one.
pub const POINTS_MAX: usize = 1_000;
/// Two cuts are never closer: a session that has just come back must be at work again.
const APART: Duration = Duration::from_millis(100);

/// The account of a relay, from when it was told to begin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RelayAccount {
    /// Connections that were passed on, from the start of the relay.
    pub connections: u64,
    /// Those beyond the limit, which were reset.
    pub refused: u64,
    /// Bytes that went to the server.
    pub bytes: u64,
    /// Length of a step in milliseconds.
    pub step_ms: u64,
    /// Bytes of each step.
    pub steps: Vec<u64>,
    /// In their order.
    pub cuts: Vec<RelayCut>,
    /// Processor time of its process, which tells it itself: threads that have ended are in it.
    pub cpu_seconds: f64,
}

/// A cut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelayCut {
    /// When both sides were reset.
    pub at_ms: f64,
    /// Until the next connection brought the server its first bytes; `None`: there were none.
    pub resumed_ms: Option<f64>,
}

pub(super) struct TrafficLog {
    plan: RelayPlan,
    pub(super) connections: u64,
    pub(super) refused: u64,
    began: Option<Instant>,
    bytes: u64,
    step: Duration,
    steps: Vec<u64>,
    cuts: Vec<OpenCut>,
}

struct OpenCut {
    at: Instant,
    /// The last connection that it hit; later ones come back.
    newest: u64,
    resumed: Option<Instant>,
}

impl TrafficLog {
    pub(super) fn new(plan: RelayPlan) -> TrafficLog {
        TrafficLog {
            plan,
            connections: 0,
            refused: 0,
            began: None,
            bytes: 0,
            step: STEP,
            steps: Vec::new(),
            cuts: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, now: Instant) {
        self.began = Some(now);
    }

    /// Connection `number` has brought the server so many bytes. True when all connections are to
    /// be cut now, of which `newest` is the last.
    pub(super) fn passed(&mut self, now: Instant, number: u64, bytes: u64, newest: u64) -> bool {
        let Some(began) = self.began else {
            return false;
        };
        self.bytes += bytes;
        self.count(now.saturating_duration_since(began), bytes);
        if let Some(last) = self.cuts.last_mut() {
            if last.resumed.is_none() && number > last.newest {
                last.resumed = Some(now);
            }
            // By what was on its way still, or too early.
            if last.resumed.is_none() || now.saturating_duration_since(last.at) < APART {
                return false;
            }
        }
        let due = self.plan.cut_bytes.saturating_mul(self.cuts.len() as u64 + 1);
        let is_due = due > 0 && self.bytes >= due && self.cuts.len() < self.plan.cuts;
        if is_due {
            self.cuts.push(OpenCut { at: now, newest, resumed: None });
        }
        is_due
    }

    /// The sockets of connection `number` were closed: if that was by a cut, it was one now.
    pub(super) fn closed(&mut self, now: Instant, number: u64) {
        if let Some(last) = self.cuts.last_mut()
            && last.newest == number
            && last.resumed.is_none()
        {
            last.at = now;
        }
    }

    pub(super) fn account(&self) -> RelayAccount {
        let began = self.began.unwrap_or_else(Instant::now);
        let from = |at: Instant, since: Instant| {
            let passed = at.saturating_duration_since(since);
            (passed.as_secs_f64() * 1e6).round() / 1e3
        };
        let cut = |cut: &OpenCut| RelayCut {
            at_ms: from(cut.at, began),
            resumed_ms: cut.resumed.map(|resumed| from(resumed, cut.at)),
        };
        RelayAccount {
            connections: self.connections,
            refused: self.refused,
            bytes: self.bytes,
            step_ms: self.step.as_millis() as u64,
            steps: self.steps.clone(),
            cuts: self.cuts.iter().map(cut).collect(),
            cpu_seconds: 0.0,
        }
    }

    fn count(&mut self, at: Duration, bytes: u64) {
        let place = |step: Duration| (at.as_nanos() / step.as_nanos()) as usize;
        while place(self.step) >= POINTS_MAX {
            self.steps = self.steps.chunks(2).map(|two| two.iter().sum()).collect();
            self.step *= 2;
        }
        let place = place(self.step);
        if self.steps.len() <= place {
            self.steps.resize(place + 1, 0);
        }
        self.steps[place] += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: RelayPlan =
        RelayPlan { server: 0, delay: Duration::ZERO, cut_bytes: 1_000, cuts: 2 };

    fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    #[test]
    fn it_cuts_by_bytes_and_never_twice_within_a_tenth_of_a_second() {
        let began = Instant::now();
        let mut ledger = TrafficLog::new(PLAN);
        // Before it is told to begin nothing counts.
        assert!(!ledger.passed(began, 1, 5_000, 1));
        ledger.begin(began);
        assert!(!ledger.passed(began + ms(1), 1, 999, 1));
        assert!(ledger.passed(began + ms(2), 1, 1, 1));
        // A write that was still under way is no sign of life.
        assert!(!ledger.passed(began + ms(3), 1, 500, 1));
        ledger.closed(began + ms(4), 1);
        // The second is due by bytes, and not yet by the clock.
        assert!(!ledger.passed(began + ms(24), 2, 1_000, 2));
        assert!(!ledger.passed(began + ms(103), 2, 1, 2));
        assert!(ledger.passed(began + ms(104), 2, 1, 2));
        assert!(!ledger.passed(began + ms(300), 3, 9_000, 3));
        let account = ledger.account();
        let cut = |at_ms, resumed_ms| RelayCut { at_ms, resumed_ms: Some(resumed_ms) };
        assert_eq!(account.cuts, [cut(4.0, 20.0), cut(104.0, 196.0)]);
        assert_eq!((account.bytes, account.step_ms), (11_502, 10));
        assert_eq!((account.steps[0], account.steps[2], account.steps.len()), (1_500, 1_000, 31));
    }

    #[test]
    fn a_cut_without_a_new_connection_has_no_time() {
        let began = Instant::now();
        let mut ledger = TrafficLog::new(PLAN);
        ledger.begin(began);
        assert!(ledger.passed(began, 7, 2_000, 7));
        assert!(!ledger.passed(began + ms(500), 7, 2_000, 7));
        assert_eq!(ledger.account().cuts[0].resumed_ms, None);
    }

    #[test]
    fn a_long_run_has_no_more_steps_than_a_short_one() {
        let began = Instant::now();
        let mut ledger = TrafficLog::new(RelayPlan { cuts: 0, ..PLAN });
        ledger.begin(began);
        for step in 0..5_000 {
            ledger.passed(began + ms(step * 10), 1, 3, 1);
        }
        let account = ledger.account();
        assert!(account.steps.len() <= POINTS_MAX && account.step_ms == 80, "{account:?}");
        assert_eq!(account.steps.iter().sum::<u64>(), 15_000);
        assert!(account.steps.iter().all(|step| *step == 24));
    }
}
