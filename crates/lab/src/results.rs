//! The results of a run of the lab: the JSON document, version 1.
//!
//! The verdict stands before the number: a row that is `Void` has no number at all.

pub mod cpu_by_side;
pub mod workers;
pub mod reasons;
pub mod schema;
pub mod environment;

use serde::{Deserialize, Serialize};

use crate::figures::curve::Curve;
use crate::figures::digest::Verified;
use crate::figures::statistics::Spread;
use crate::relay::RelayCut;
use crate::results::cpu_by_side::{CpuBySide, SideName};

/// The version of the document.
pub const SCHEMA: &str = "wigwag.lab/1";

/// One run of the lab.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: String,
    /// The machine of the run.
    pub environment: Environment,
    /// Short windows and embedded participants only.
    pub quick: bool,
    /// The run was stopped; the results have what was measured until then.
    pub interrupted: bool,
    /// Share of one core that the lab itself took, from the beginning to the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator_cpu_share: Option<f64>,
    /// One for each participant and cell, in the order of the tables.
    pub rows: Vec<Row>,
}

/// Facts that a figure depends on and a reader cannot see.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// When the run began, as RFC 3339 in UTC.
    pub started: String,
    /// The version of wigwag and the commit if it is known.
    pub wigwag: String,
    /// The processor's name.
    pub cpu: String,
    /// Processors that the run may use.
    pub cores: usize,
    /// The kernel's name and version.
    pub kernel: String,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// The TCP congestion control.
    pub congestion_control: String,
    /// Files that a process may open.
    pub open_files_max: u64,
    /// The processors that the programs were pinned to; the lab itself pins no program.
    #[serde(default)]
    pub pinning: String,
    /// The load of the last minute when the run began.
    pub load: f64,
    /// Disturbances of a run: `nice` under autogroup, frequency scaling, a container's limits.
    pub remarks: Vec<String>,
}

/// Whether a number was earned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every message was accounted for.
    Valid,
    /// Valid, with something that a reader must know.
    Flagged,
    /// The participant lost, duplicated, changed or faked messages, or did not follow its orders.
    /// It has no number.
    Void,
    /// The participant was not run, and the reason contains a remedy.
    NotInstalled,
    /// The participant does not support the cell, for the given reason.
    Absent,
}

/// The witness of the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Witness {
    /// A reference program of the lab stood on the other side.
    Full,
    /// The receiver's digest over payloads that only the sender knew.
    Digest,
}

/// One participant in one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// `pingpong`, `counter`, `remote`, `http`, `sp`.
    pub workload: String,
    /// The name of the cell within the workload: `tell`, `ask`, `1 sender`, `go × c-epoll`.
    pub cell: String,
    /// Its name.
    pub participant: String,
    /// The version that the participant reports.
    pub version: Option<String>,
    /// A participant that must come out void or flagged.
    pub known_bad: bool,
    /// Whether a number was earned.
    pub verdict: Verdict,
    /// The reasons why the row is not valid without reservation, one sentence each.
    pub reasons: Vec<String>,
    /// The witness of its numbers.
    pub witness: Witness,
    /// The fate of all messages of all rounds.
    pub verified: Verified,
    /// Bytes of each message, where its length is a question of the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_bytes: Option<u64>,
    /// Messages or round trips a second.
    pub rate: Option<Spread>,
    /// Processor seconds of the process tree for a million messages.
    pub cpu_s_per_million: Option<Spread>,
    /// The part of that which each side took; `None` if only one side is the participant's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_by_side: Option<CpuBySide>,
    /// Round trips in microseconds, where one is in flight on a connection: a closed loop, so no
    /// latency under a load.
    pub rtt_us: Option<RttPercentiles>,
    /// Messages a second that were ordered, where the rate is not what is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_ordered: Option<u64>,
    /// Latency at that rate, from when each message was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_us: Option<Latency>,
    /// The largest resident memory of the process tree.
    pub peak_rss_bytes: Option<u64>,
    /// The most threads that ran at once.
    pub threads: Option<u64>,
    /// Context switches for a thousand messages.
    pub switches_per_thousand: Option<f64>,
    /// Rate to that of `raw` in the same round: median and 95 % interval.
    pub ratio_to_raw: Option<Interval>,
    /// Rate to that of the best valid peer that is neither `raw` nor `wigwag`.
    pub ratio_to_best_peer: Option<Interval>,
    /// Rate through a relay with a delay, to that through one without, or beside a peer that is slow
    /// or dies, to that beside one that is well; in the same round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Spread>,
    /// The cuts, as the relay saw them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuts: Option<Cuts>,
    /// Lines of its programs.
    pub source_lines: Option<u64>,
    /// Each round.
    pub runs: Vec<Run>,
}

/// One round of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// From 0; rows of one round ran close to each other.
    pub round: usize,
    /// Seconds that the clock ran.
    pub seconds: f64,
    /// Messages or round trips.
    pub messages: u64,
    /// Processor time of the process tree.
    pub cpu_seconds: f64,
    /// Processor time before GO, where a program gets ready; in no figure.
    #[serde(default)]
    pub cpu_seconds_before: f64,
    /// Processor time between the account and the end; in no figure.
    #[serde(default)]
    pub cpu_seconds_after: f64,
    /// Processor time of the lab's own client, where that is a figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_cpu_seconds: Option<f64>,
    /// Bytes of the head of an answer, where the lab's own client read each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header_bytes: Option<f64>,
    /// Processor time of everything else, as a share of what there was.
    pub foreign_cpu_share: f64,
    /// Resident memory of the process tree.
    pub peak_rss_bytes: u64,
    /// By how much resident memory grew while the clock ran, where that is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown_bytes: Option<u64>,
    /// The processor time of each thread that took a hundredth of it or more, most first.
    pub threads: Vec<ThreadShare>,
    /// Ends of the stretches of `over_time`, in seconds since GO; in a row's last run alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<f64>,
    /// The cost of each program, where there are two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sides: Vec<Side>,
    /// Bytes on the wire, where the pair had a network of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_bytes: Option<u64>,
    /// The rate of the last tenth of these bytes, to that of the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_tenth_to_first: Option<f64>,
    /// Processor time of the lab's relay, where one stood between; in no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay_cpu_seconds: Option<f64>,
    /// Times that a peer beside those that are measured was killed, where one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deaths: Option<usize>,
}

impl Row {
    /// Workload, cell and participant, as conditions and errors name it.
    pub fn place(&self) -> String {
        format!("{}/{}/{}", self.workload, self.cell, self.participant)
    }

    /// A figure of each round divided by that of `other` in the same round, where both have one: a
    /// machine that is slow for a while is slow for both.
    pub fn ratios(&self, other: &Row, figure: impl Fn(&Run) -> f64) -> Vec<f64> {
        let paired = self.runs.iter().filter_map(|run| {
            let other = other.runs.iter().find(|other| other.round == run.round)?;
            Some(figure(run) / figure(other))
        });
        paired.collect()
    }
}

impl Run {
    /// Messages a second.
    pub fn rate(&self) -> f64 {
        self.messages as f64 / self.seconds
    }
}

/// Connections that were cut: how long until the next one brought the server something, and how a
/// run went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cuts {
    /// From a cut until the next connection brought the server its first bytes, over all rounds;
    /// `None`: it never did.
    pub resumed_ms: Option<Spread>,
    /// The row's last run in steps of so many milliseconds.
    pub step_ms: u64,
    /// Bytes a second that went to the server in each step.
    pub bytes_per_second: Vec<f64>,
    /// The cuts of that run.
    pub cuts: Vec<RelayCut>,
}

/// One program of a pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Side {
    /// The participant, and the role.
    pub program: String,
    /// Its side; `None` in documents of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<SideName>,
    /// Processor time.
    pub cpu_seconds: f64,
    /// Resident memory at its highest.
    pub peak_rss_bytes: u64,
}

/// The processor time of one thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThreadShare {
    /// Its name.
    pub name: String,
    /// Seconds.
    pub cpu_seconds: f64,
    /// The program of the thread: a place in the run's `sides`, where there are two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<usize>,
    /// The share of a processor that it took in each stretch of the run; in a row's last run
    /// alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_time: Vec<f64>,
}

/// A ratio and what it may be as well.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The one in the middle.
    pub median: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// How long round trips took; a percentile that has too few samples is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RttPercentiles {
    /// Half were faster.
    pub p50: f64,
    /// Nine of ten were faster.
    pub p90: Option<f64>,
    /// 99 of a hundred were faster.
    pub p99: Option<f64>,
    /// The slowest.
    pub max: f64,
    /// Round trips taken.
    pub samples: u64,
    /// The curve between them and behind the last: the middle of the rounds, share by share.
    #[serde(default, skip_serializing_if = "Curve::is_empty")]
    pub curve: Curve,
}

/// How long replies took from when their requests were due, over all rounds; a percentile that has
/// too few samples is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Half were faster.
    pub p50: f64,
    /// Nine of ten were faster.
    pub p90: Option<f64>,
    /// 99 of a hundred were faster.
    pub p99: Option<f64>,
    /// 999 of a thousand were faster.
    pub p999: Option<f64>,
    /// The slowest.
    pub max: f64,
    /// Requests.
    pub samples: u64,
    /// Those that were sent later than 1 ms after they were due.
    pub late: u64,
    /// Upper ends in microseconds, ascending, and how many lie below each and above the one
    /// before.
    pub bins: Vec<(f64, u64)>,
}
