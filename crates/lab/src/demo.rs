//! The demo: a preset of the lab's own harness, and its result as one small document.
//!
//! The demo runs five cells of raw and wigwag in short windows. They are interleaved, verified and
//! judged as in every other run of the lab.

pub mod actors;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::figures::digest::Verified;
use crate::figures::statistics::{Percentiles, Spread};
use crate::participants::Participant;
use crate::results::{Results, Row, Run, Verdict};
use crate::run::{Effort, Options};
use crate::workload::Workload;

/// Rounds of a run, by default.
pub const ROUNDS: usize = 5;

/// The name and version of the document's form. Version 2 has the lab's own figures: bytes on the
/// wire are one number, with all headers, and local tells stand beside raw.
pub const SCHEMA: &str = "wigwag-demo/2";

/// Participants: the limit, and the one that is shown.
const PARTICIPANTS: [&str; 2] = ["raw", "wigwag"];

/// Tells from one task.
const TELL: &str = "tell";
/// Tells from a plain loop on a thread.
const THREAD: &str = "tell, thread";
/// Asks, many in flight.
const ASK: &str = "ask";
/// Asks, one at a time.
const ROUND_TRIP: &str = "rtt";
/// Tells from one task within the process.
const LOCAL: &str = "1 sender";
/// Cells, as the lab's tables name them.
const CELLS: [&str; 5] = [TELL, THREAD, ASK, ROUND_TRIP, LOCAL];

/// Options of the demo's run; `program` is the one that has the embedded participants.
pub fn options(program: &Path, rounds: usize, seed: u64) -> Options {
    let mut participants = Participant::embedded(program);
    participants.retain(|participant| PARTICIPANTS.contains(&participant.name()));
    Options {
        workloads: vec![Workload::Remote, Workload::Counter],
        participants,
        cells: CELLS.map(str::to_owned).to_vec(),
        program: program.to_owned(),
        rounds,
        effort: Effort::Demo,
        http_rate: None,
        seed,
    }
}

/// The direction in which a ratio is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// A rate.
    Higher,
    /// A time.
    Lower,
}

/// The result of a run of the demo.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// The fate of all messages of wigwag in all cells, including trials before the first round.
    /// It comes first because no figure counts without it.
    pub verified: Verified,
    /// The fate of all messages of raw in all cells.
    pub raw_verified: Verified,
    /// True when Ctrl-C ended the run early.
    pub interrupted: bool,
    /// Complete rounds.
    pub rounds: usize,
    /// Tells from one task.
    pub tell: Option<Rate>,
    /// Tells from a plain loop on a thread.
    pub tell_from_thread: Option<Rate>,
    /// Asks, many in flight.
    pub ask: Option<Rate>,
    /// Asks, one at a time.
    pub rtt: Option<RoundTrip>,
    /// Tells within one process.
    pub local_tell: Option<Local>,
    /// The cells without a figure, and what went wrong in each.
    #[serde(skip)]
    pub void: Vec<String>,
}

/// A rate and its limit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rate {
    /// Messages a second.
    pub per_second: Spread,
    /// Messages a second of raw.
    pub raw_per_second: Spread,
    /// Ours ÷ raw, round by round.
    pub ratio_to_raw: Spread,
    /// Higher.
    pub better: Better,
    /// Processor time of all processes for a message, in nanoseconds.
    pub cpu_ns_per_message: Spread,
    /// Processor time of raw for a message, in nanoseconds.
    pub raw_cpu_ns_per_message: Spread,
    /// Bytes on the wire for a message, both ways, headers of TCP and acknowledgements included;
    /// `None` where the lab could not give the programs a network of their own.
    pub wire_bytes_per_message: Option<f64>,
    /// Bytes on the wire for a message of raw.
    pub raw_bytes_per_message: Option<f64>,
}

/// Round trips and their limit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RoundTrip {
    /// Nanoseconds: the middle of the rounds.
    pub ns: Percentiles,
    /// Round trips of raw, in nanoseconds.
    pub raw_ns: Percentiles,
    /// The time of our round trips ÷ that of raw's, round by round.
    pub ratio_to_raw: Spread,
    /// Lower.
    pub better: Better,
    /// Processor time of both processes for an ask, in nanoseconds.
    pub cpu_ns_per_message: Spread,
}

/// Tells within one process and their limit: two threads that hand chunks of messages to each
/// other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Local {
    /// Nanoseconds for a message.
    pub ns_per_message: Spread,
    /// Nanoseconds for a message of raw.
    pub raw_ns_per_message: Spread,
    /// Our time ÷ raw's, round by round.
    pub ratio_to_raw: Spread,
    /// Lower.
    pub better: Better,
    /// Calls that the actor's mailbox holds.
    pub capacity: usize,
}

impl Report {
    /// The report of a run of [`options`].
    pub fn of(results: &Results) -> Report {
        let verified = |participant: &str| {
            let rows = results.rows.iter().filter(|row| row.participant == participant);
            rows.fold(Verified::default(), |sum, row| sum + row.verified)
        };
        let [raw, wigwag] = PARTICIPANTS;
        let pair = |cell: &str| Pair::of(&results.rows, cell);
        let void = results.rows.iter().filter(|row| row.verdict == Verdict::Void);
        Report {
            schema: SCHEMA.to_owned(),
            verified: verified(wigwag),
            raw_verified: verified(raw),
            interrupted: results.interrupted,
            rounds: complete_rounds(&results.rows),
            tell: pair(TELL).and_then(|pair| pair.rate()),
            tell_from_thread: pair(THREAD).and_then(|pair| pair.rate()),
            ask: pair(ASK).and_then(|pair| pair.rate()),
            rtt: pair(ROUND_TRIP).and_then(|pair| pair.round_trip()),
            local_tell: pair(LOCAL).and_then(|pair| pair.local()),
            void: void.map(|row| format!("{}: {}", row.place(), row.reasons.join("; "))).collect(),
        }
    }
}

/// Rounds in which every cell of every participant was measured.
fn complete_rounds(rows: &[Row]) -> usize {
    let wanted = CELLS.len() * PARTICIPANTS.len();
    let fewest = rows.iter().map(|row| row.runs.len()).min().unwrap_or(0);
    if rows.len() < wanted { 0 } else { fewest }
}

/// The rows of one cell.
struct Pair<'a> {
    ours: &'a Row,
    raw: &'a Row,
    /// Runs of the rounds that both have.
    runs: Vec<(&'a Run, &'a Run)>,
}

impl<'a> Pair<'a> {
    fn of(rows: &'a [Row], cell: &str) -> Option<Pair<'a>> {
        let row = |name: &str| rows.iter().find(|row| row.cell == cell && row.participant == name);
        let [raw, wigwag] = PARTICIPANTS;
        let (ours, raw) = (row(wigwag)?, row(raw)?);
        let same = |run: &Run| raw.runs.iter().find(|other| other.round == run.round);
        let runs = ours.runs.iter().filter_map(|run| Some((run, same(run)?))).collect();
        Some(Pair { ours, raw, runs })
    }

    fn rate(&self) -> Option<Rate> {
        let (ours, raw) = self.each(Run::rate);
        let (cpu, raw_cpu) = self.each(cpu_ns);
        Some(Rate {
            per_second: Spread::of(&ours)?,
            raw_per_second: Spread::of(&raw)?,
            ratio_to_raw: Spread::of_ratios(&ours, &raw)?,
            better: Better::Higher,
            cpu_ns_per_message: Spread::of(&cpu)?,
            raw_cpu_ns_per_message: Spread::of(&raw_cpu)?,
            wire_bytes_per_message: wire_bytes(self.ours),
            raw_bytes_per_message: wire_bytes(self.raw),
        })
    }

    fn round_trip(&self) -> Option<RoundTrip> {
        let (ours, raw) = self.each(ns);
        Some(RoundTrip {
            ns: percentiles(self.ours)?,
            raw_ns: percentiles(self.raw)?,
            ratio_to_raw: Spread::of_ratios(&ours, &raw)?,
            better: Better::Lower,
            cpu_ns_per_message: Spread::of(&self.each(cpu_ns).0)?,
        })
    }

    fn local(&self) -> Option<Local> {
        let (ours, raw) = self.each(ns);
        Some(Local {
            ns_per_message: Spread::of(&ours)?,
            raw_ns_per_message: Spread::of(&raw)?,
            ratio_to_raw: Spread::of_ratios(&ours, &raw)?,
            better: Better::Lower,
            capacity: wigwag::ActorOptions::default().get_mailbox_calls(),
        })
    }

    /// A figure of every round, ours and raw's.
    fn each(&self, figure: fn(&Run) -> f64) -> (Vec<f64>, Vec<f64>) {
        self.runs.iter().map(|(ours, raw)| (figure(ours), figure(raw))).unzip()
    }
}

/// Nanoseconds by the clock for a message.
fn ns(run: &Run) -> f64 {
    1e9 / run.rate()
}

/// Nanoseconds of processor time for a message.
fn cpu_ns(run: &Run) -> f64 {
    run.cpu_seconds * 1e9 / run.messages.max(1) as f64
}

/// Bytes on the wire for a message, over all rounds; `None` if they were not counted in each.
fn wire_bytes(row: &Row) -> Option<f64> {
    let bytes: Option<u64> = row.runs.iter().map(|run| run.wire_bytes).sum();
    let messages: u64 = row.runs.iter().map(|run| run.messages).sum();
    Some(bytes? as f64 / messages.max(1) as f64)
}

/// The round trips of a row in whole nanoseconds.
fn percentiles(row: &Row) -> Option<Percentiles> {
    let found = row.rtt_us.as_ref()?;
    let ns = |microseconds: f64| (microseconds * 1e3).round() as u64;
    Some(Percentiles {
        samples: found.samples as usize,
        p50: ns(found.p50),
        p90: found.p90.map(ns),
        p99: found.p99.map(ns),
        p999: found.curve.at(0.999).map(ns),
        max: ns(found.max),
    })
}

#[cfg(test)]
mod tests;
