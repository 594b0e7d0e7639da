//! The time limits of the programs of a trial.

use std::time::Duration;

/// The time limits of a program: those of the contract, or shorter ones for a quick run.
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// Until READY.
    pub ready: Duration,
    /// From GO to the last account.
    pub work: Duration,
    /// Without anything on the wire, where that is counted.
    pub silence: Duration,
    /// From the account, or from SIGTERM, to the end.
    pub end: Duration,
    /// Time that the lab's own clients grant a server for each answer.
    pub answer: Duration,
}

/// The deadlines of the contract.
pub const CONTRACT: Deadlines = deadlines(20, 30, 5, 3_000);

/// The deadlines of a quick run, which knows its participants and must end soon: its windows are a
/// quarter of a second. The lab's own programs wait for others and have the contract's time.
pub const QUICK: Deadlines = deadlines(4, 4, 2, 1_500);

const fn deadlines(ready: u64, work: u64, end: u64, answer_ms: u64) -> Deadlines {
    Deadlines {
        ready: Duration::from_secs(ready),
        work: Duration::from_secs(work),
        silence: Duration::from_secs(30),
        end: Duration::from_secs(end),
        answer: Duration::from_millis(answer_ms),
    }
}
