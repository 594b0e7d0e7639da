//! Checks of single round trips. They are taken in a closed loop: while one waits the next is not
//! sent, so a stall is one slow trip however long it lasts, and no percentile shows it.

use crate::workload::Judgement;
use crate::workload::account::RoundTripTimes;

/// A round trip that takes so long in the middle waits for a delayed acknowledgement, as a rule.
const NAGLE_US: std::ops::Range<f64> = 35_000.0..48_000.0;
/// No trip on one machine takes so long while its server works: a stall.
const STALL_US: f64 = 200_000.0;
/// A stall is long against the usual trip too; where everything is slow, nothing stalls.
const STALL_TIMES: f64 = 20.0;

/// Checks round-trip times, and adds the remarks that a reader of them needs.
pub(super) fn judge(judged: &mut Judgement, times: &RoundTripTimes) {
    judged.demand(times.agree(), || {
        "its percentiles do not ascend, or its curve does not go through them".to_owned()
    });
    if NAGLE_US.contains(&times.p50) {
        let said = "a median near 40 ms: small writes wait for a delayed acknowledgement";
        judged.flags.push(said.to_owned());
    }
    if times.max > STALL_US && times.max > times.p50 * STALL_TIMES {
        judged.flags.push(format!(
            "a stall of {:.0} ms, where half of the round trips took {:.1} µs or less: the loop is \
             closed, so its percentiles do not show it",
            times.max / 1e3,
            times.p50
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(p50: f64, p99: f64, max: f64) -> String {
        let mut judged = Judgement::default();
        judge(
            &mut judged,
            &RoundTripTimes { p50, p90: p50, p99, max, ..RoundTripTimes::default() },
        );
        assert!(judged.void.is_empty());
        judged.flags.join("; ")
    }

    /// One trip of 300 ms in a hundred thousand: the 99th percentile knows nothing of it.
    #[test]
    fn a_stall_that_a_closed_loop_hides_is_flagged() {
        let said = said(20.0, 35.0, 300_000.0);
        assert!(said.contains("a stall of 300 ms") && said.contains("20.0 µs"), "{said}");
    }

    #[test]
    fn times_that_contradict_each_other_have_no_number() {
        let void = |p90, curve| {
            let curve = serde_json::from_value(curve).unwrap();
            let times = RoundTripTimes { p50: 20.0, p90, p99: 35.0, max: 90.0, curve };
            let mut judged = Judgement::default();
            judge(&mut judged, &times);
            judged.void.len()
        };
        assert_eq!(void(30.0, serde_json::json!([[0.5, 20.0], [0.999, 80.0]])), 0);
        assert_eq!(void(36.0, serde_json::json!([])), 1);
        assert_eq!(void(30.0, serde_json::json!([[0.5, 20.0], [0.999, 91.0]])), 1);
    }

    #[test]
    fn a_median_near_forty_milliseconds_is_a_delayed_acknowledgement() {
        assert!(said(40_900.0, 41_500.0, 44_000.0).contains("delayed acknowledgement"));
    }

    #[test]
    fn slow_and_unsteady_is_not_yet_a_stall() {
        assert_eq!(said(20.0, 900.0, 150_000.0), "");
        assert_eq!(said(15_000.0, 90_000.0, 240_000.0), "");
    }
}
