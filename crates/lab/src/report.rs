//! What the demo found, as one document.

use serde::{Deserialize, Serialize};

use crate::cells::Measured;
use crate::digest::Verified;
use crate::statistics::{Percentiles, Spread};

/// The name and version of the document's form.
pub const SCHEMA: &str = "wigwag-demo/1";

/// Which direction is good, beside every ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// A rate.
    Higher,
    /// A time.
    Lower,
}

/// Everything that a run of the demo found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// Over all cells of wigwag, first because without it no figure counts.
    pub verified: Verified,
    /// The same for the limits beside it.
    pub raw_verified: Verified,
    /// True when Ctrl-C ended the run early.
    pub interrupted: bool,
    /// Rounds that are complete.
    pub rounds: usize,
    /// Tells from two tasks.
    pub tell: Option<Rate>,
    /// Tells from a naive loop on a plain thread.
    pub tell_from_thread: Option<Rate>,
    /// Asks, many in flight.
    pub ask: Option<Rate>,
    /// Asks one at a time.
    pub rtt: Option<RoundTrip>,
    /// Tells within one process.
    pub local_tell: Option<Local>,
}

/// A rate and its limit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rate {
    /// Messages a second.
    pub per_second: Spread,
    /// The limit's messages a second.
    pub raw_per_second: Spread,
    /// Ours ÷ raw, round by round.
    pub ratio_to_raw: Spread,
    /// Higher.
    pub better: Better,
    /// Nanoseconds of processor time of both processes for each message.
    pub cpu_ns_per_message: Spread,
    /// The same for the limit.
    pub raw_cpu_ns_per_message: Spread,
    /// Bytes on the wire for each message: from driver to service, and back.
    pub wire_bytes_per_message: [f64; 2],
    /// Bytes for each message that the limit moved.
    pub raw_bytes_per_message: [usize; 2],
}

/// Round trips and their limit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RoundTrip {
    /// Over all rounds, nanoseconds.
    pub ns: Percentiles,
    /// The limit's.
    pub raw_ns: Percentiles,
    /// Our median ÷ raw's, round by round.
    pub ratio_to_raw: Spread,
    /// Lower.
    pub better: Better,
    /// Nanoseconds of processor time of both processes for each ask.
    pub cpu_ns_per_message: Spread,
}

/// Tells within one process, beside a channel of the same capacity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Local {
    /// Nanoseconds for each message.
    pub ns_per_message: Spread,
    /// The channel's.
    pub kanal_ns_per_message: Spread,
    /// Our time ÷ the channel's, round by round.
    pub ratio_to_kanal: Spread,
    /// Lower.
    pub better: Better,
    /// Calls that mailbox and channel hold.
    pub capacity: usize,
}

/// One cell and its limit, round by round; both have as many.
#[derive(Clone, Debug, Default)]
pub struct Pair {
    /// wigwag's.
    pub ours: Vec<Measured>,
    /// The limit's.
    pub limit: Vec<Measured>,
}

impl Pair {
    /// Only rounds in which both sides were measured count.
    fn even(&self) -> (&[Measured], &[Measured]) {
        let rounds = self.ours.len().min(self.limit.len());
        (&self.ours[..rounds], &self.limit[..rounds])
    }

    /// As a rate; `None` without a complete round.
    pub fn rate(&self, raw_bytes: [usize; 2]) -> Option<Rate> {
        let (ours, limit) = self.even();
        let per_second = each(ours, Measured::rate);
        let raw_per_second = each(limit, Measured::rate);
        let messages: u64 = ours.iter().map(|cell| cell.verified.received).sum();
        let bytes = |way: usize| {
            let sum: u64 = ours.iter().map(|cell| cell.bytes[way]).sum();
            sum as f64 / messages.max(1) as f64
        };
        Some(Rate {
            ratio_to_raw: Spread::of_ratios(&per_second, &raw_per_second)?,
            per_second: Spread::of(&per_second)?,
            raw_per_second: Spread::of(&raw_per_second)?,
            better: Better::Higher,
            cpu_ns_per_message: Spread::of(&each(ours, Measured::cpu_ns))?,
            raw_cpu_ns_per_message: Spread::of(&each(limit, Measured::cpu_ns))?,
            wire_bytes_per_message: [bytes(0), bytes(1)],
            raw_bytes_per_message: raw_bytes,
        })
    }

    /// As round trips; `None` without a complete round.
    pub fn round_trip(&self) -> Option<RoundTrip> {
        let (ours, limit) = self.even();
        let all = |cells: &[Measured]| -> Vec<u64> {
            cells.iter().flat_map(|cell| cell.laps.iter().copied()).collect()
        };
        let median = |cell: &Measured| {
            Percentiles::of(&mut cell.laps.clone()).map_or(f64::NAN, |laps| laps.p50 as f64)
        };
        Some(RoundTrip {
            ns: Percentiles::of(&mut all(ours))?,
            raw_ns: Percentiles::of(&mut all(limit))?,
            ratio_to_raw: Spread::of_ratios(&each(ours, median), &each(limit, median))?,
            better: Better::Lower,
            cpu_ns_per_message: Spread::of(&each(ours, Measured::cpu_ns))?,
        })
    }

    /// As local tells; `None` without a complete round.
    pub fn local(&self, capacity: usize) -> Option<Local> {
        let (ours, limit) = self.even();
        let ns = |cell: &Measured| 1e9 / cell.rate();
        let (ours, limit) = (each(ours, ns), each(limit, ns));
        Some(Local {
            ns_per_message: Spread::of(&ours)?,
            kanal_ns_per_message: Spread::of(&limit)?,
            ratio_to_kanal: Spread::of_ratios(&ours, &limit)?,
            better: Better::Lower,
            capacity,
        })
    }
}

fn each(cells: &[Measured], figure: impl Fn(&Measured) -> f64) -> Vec<f64> {
    cells.iter().map(figure).collect()
}

/// The sum of all that was verified in `cells`.
pub fn total<'a>(cells: impl Iterator<Item = &'a Measured>) -> Verified {
    cells.fold(Verified::default(), |sum, cell| sum + cell.verified)
}
