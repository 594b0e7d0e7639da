//! Work that the clock does not see: before GO, after the account, and in processes that stole
//! away from their group and their parents.
//!
//! Getting ready may cost what it likes, for a virtual machine starts slowly. But it must not grow
//! with the number of messages: then the work itself was done before the clock began. So the starts
//! of two windows are compared.

use crate::trial::Outcome;

/// Below this no two starts of a program are alike, in seconds of processor time.
const START_SECONDS: f64 = 0.05;
/// And such a part of a start is no difference: some are asked for a fixed time before the clock runs, as
/// often as the machine lets them, and others may take half of it.
const START_SHARE: f64 = 1.0;
/// Ending a program may cost so much: memory is given back, a virtual machine shuts down.
const END_SECONDS: f64 = 0.1;
/// And so much of what its window cost.
const END_SHARE: f64 = 0.1;
/// Starts are compared when one had so many times the messages of the other.
const MESSAGES_TIMES: u64 = 4;

/// Starts of a participant.
#[derive(Clone, Copy, Debug, Default)]
pub struct StartupCosts {
    /// Messages and processor seconds before GO, where there were fewest messages.
    least: Option<(u64, f64)>,
}

impl StartupCosts {
    /// Takes a trial; says why it is void if the work was done before GO.
    pub fn take(&mut self, messages: u64, before: f64, within: f64) -> Option<String> {
        let Some((fewer, then)) = self.least else {
            self.least = Some((messages, before));
            return None;
        };
        if messages < fewer {
            self.least = Some((messages, before));
        }
        let more = before - then;
        let grew = messages >= fewer.saturating_mul(MESSAGES_TIMES);
        (grew && more > START_SECONDS.max(within).max(then * START_SHARE)).then(|| {
            format!(
                "it worked before GO: {before:.2} s of processor time for {messages} messages, \
                 {then:.2} s for {fewer}, and {within:.2} s while the clock ran"
            )
        })
    }
}

/// Remarks on the end of a trial that a reader must know.
pub fn flags(outcome: &Outcome) -> Vec<String> {
    let mut flags = Vec::new();
    let after = outcome.after_cpu_seconds;
    if after > END_SECONDS && after > outcome.cost.cpu_seconds * END_SHARE {
        flags.push(format!(
            "it worked on for {after:.2} s of processor time after its account, which no figure \
             covers"
        ));
    }
    if outcome.hidden > 0 {
        flags.push(format!(
            "{} of its processes left their group and their parents: what they cost before they \
             were found is in no figure",
            outcome.hidden
        ));
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::tree::Cost;

    #[test]
    fn a_start_that_grows_with_the_work_is_the_work() {
        let mut starts = StartupCosts::default();
        assert_eq!(starts.take(24_000, 0.01, 0.02), None);
        assert_eq!(starts.take(100_000, 0.02, 0.02), None);
        let said = starts.take(60_000_000, 0.9, 0.01).unwrap();
        assert!(said.contains("0.90 s") && said.contains("24000"), "{said}");
    }

    /// One side warmed up for two seconds and says so in no figure of its window; it does so for
    /// few messages too. That is a slow start, and the document has it in every run.
    #[test]
    fn a_slow_start_that_is_always_as_slow_is_a_slow_start() {
        let mut starts = StartupCosts::default();
        assert_eq!(starts.take(5_000, 2.0, 0.1), None);
        assert_eq!(starts.take(500_000, 2.2, 1.5), None);
    }

    /// A server that was asked for a fixed time before the clock ran, while others took a third of the
    /// processors and then none, and whose window was short.
    #[test]
    fn a_start_whose_cost_varies_with_the_machine_is_no_work_before_the_clock() {
        let mut starts = StartupCosts::default();
        assert_eq!(starts.take(400, 0.37, 0.01), None);
        assert_eq!(starts.take(20_000, 0.44, 0.06), None);
        assert!(starts.take(20_000, 0.90, 0.06).is_some());
        let mut starts = StartupCosts::default();
        assert_eq!(starts.take(2_000, 0.92, 0.01), None);
        assert_eq!(starts.take(1_245_100, 1.72, 0.71), None);
    }

    /// Drawing the payloads beforehand costs less than sending them.
    #[test]
    fn preparing_what_will_be_sent_is_no_work_before_the_clock() {
        let mut starts = StartupCosts::default();
        assert_eq!(starts.take(20_000, 0.0, 0.01), None);
        assert_eq!(starts.take(10_000_000, 0.1, 1.5), None);
    }

    #[test]
    fn work_outside_the_clock_and_hidden_processes_are_reported() {
        let cost = |cpu_seconds| Cost { cpu_seconds, ..Cost::default() };
        let leak = Outcome { cost: cost(0.3), after_cpu_seconds: 0.5, ..Outcome::default() };
        assert!(flags(&leak)[0].contains("0.50 s of processor time after its account"));
        let tidy = Outcome { cost: cost(3.0), after_cpu_seconds: 0.2, ..Outcome::default() };
        assert_eq!(flags(&tidy), [""; 0]);
        let hides = Outcome { hidden: 1, ..Outcome::default() };
        assert!(flags(&hides)[0].starts_with("1 of its processes left their group"));
    }
}
