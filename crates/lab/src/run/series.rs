//! The trials of one participant in one cell, until they are a row.

use crate::figures::curve::Curve;
use crate::figures::digest::Verified;
use crate::figures::statistics::{SAMPLES_BEYOND_MIN, Spread};
use crate::process::timeline::WireTimeline;
use crate::relay::RelayAccount;
use crate::results::cpu_by_side::CpuBySide;
use crate::results::reasons::{INNOCENT, is_against};
use crate::results::{Cuts, Row, RttPercentiles, Run, Verdict};
use crate::trial::Outcome;
use crate::workload::account::latency::LatencyHistogram;
use crate::workload::outside_clock::StartupCosts;
use crate::workload::{Cell, Entry, Judgement};

/// The most reasons of a row; usually the same fault occurs in every round.
const REASONS_MAX: usize = 8;

/// A row to be.
pub struct Series<'a> {
    /// The participant and the cell.
    pub entry: Entry<'a>,
    /// Messages of a window.
    pub messages: u64,
    /// A second, where they are sent at a fixed rate; otherwise 0.
    pub rate: u64,
    /// Bytes between two cuts; 0: nothing is cut.
    pub cut_bytes: u64,
    relayed: Option<RelayAccount>,
    resumed_ms: Vec<f64>,
    verified: Verified,
    void: Vec<String>,
    flags: Vec<String>,
    runs: Vec<Run>,
    times: Vec<crate::workload::account::RoundTripTimes>,
    latency: LatencyHistogram,
    threads: u64,
    switches: Vec<f64>,
    /// Programs of a trial.
    programs: usize,
    starts: StartupCosts,
    /// Trials that were begun.
    trials: usize,
    /// Windows that were not quiet, and the worst of them.
    loud: (usize, f64),
}

impl<'a> Series<'a> {
    /// Nothing yet.
    pub fn new(entry: Entry<'a>) -> Self {
        Self {
            entry,
            messages: 0,
            rate: 0,
            cut_bytes: 0,
            relayed: None,
            resumed_ms: Vec::new(),
            verified: Verified::default(),
            void: Vec::new(),
            flags: Vec::new(),
            runs: Vec::new(),
            times: Vec::new(),
            latency: LatencyHistogram::default(),
            threads: 0,
            switches: Vec::new(),
            programs: 0,
            starts: StartupCosts::default(),
            trials: 0,
            loud: (0, 0.0),
        }
    }

    /// Whether the row cannot have a number any more.
    pub fn is_void(&self) -> bool {
        !self.void.is_empty()
    }

    /// Messages a second in the middle of its rounds; `None` when it has no number.
    pub fn median_rate(&self) -> Option<f64> {
        let rates: Vec<f64> = self.runs.iter().map(Run::rate).collect();
        Spread::of(&rates).filter(|_| !self.is_void()).map(|rate| rate.median)
    }

    /// The reason why the row is void.
    pub fn reasons(&self) -> &[String] {
        &self.void
    }

    /// There is something to tell.
    pub fn has_begun(&self) -> bool {
        self.is_void() || !self.runs.is_empty()
    }

    /// Counts a trial; true for the first one.
    pub fn begin_trial(&mut self) -> bool {
        self.trials += 1;
        self.trials == 1
    }

    /// Whether a fault of the participant was found already.
    pub fn is_found_out(&self) -> bool {
        self.is_void() || is_against(&self.flags)
    }

    /// Makes the row void for a reason.
    pub fn make_void(&mut self, reason: String) {
        note(&mut self.void, reason);
    }

    /// Takes what a trial's accounts came to; false when that makes it void.
    pub fn take_trial(&mut self, judged: Judgement) -> bool {
        // Misses of a window that was not quiet, and was tried again, are no figure.
        if !self.entry.cell.may_miss() || !judged.void.is_empty() {
            self.verified = self.verified + judged.verified;
        }
        for reason in judged.void {
            self.make_void(reason);
        }
        !self.is_void()
    }

    /// Takes what a trial has cost; work that was done before the clock makes it void.
    pub fn take_cost(&mut self, messages: u64, outcome: &Outcome) {
        let (before, within) = (outcome.before_cpu_seconds, outcome.cost.cpu_seconds);
        if let Some(reason) = self.starts.take(messages, before, within) {
            self.make_void(reason);
        }
    }

    /// Takes the window of a round.
    pub fn take_window(&mut self, round: usize, judged: Judgement, outcome: Outcome, loud: bool) {
        for reason in judged.flags {
            note(&mut self.flags, reason);
        }
        if self.entry.cell.may_miss() {
            self.verified = self.verified + judged.verified;
        }
        if loud {
            self.loud = (self.loud.0 + 1, self.loud.1.max(outcome.foreign_cpu_share));
        }
        self.times.extend(judged.times);
        if let Some(latency) = judged.latency {
            self.latency = std::mem::take(&mut self.latency).with(latency);
        }
        self.programs = outcome.programs;
        self.threads = self.threads.max(outcome.cost.threads_max);
        self.switches.push(outcome.cost.switches as f64 * 1e3 / self.messages.max(1) as f64);
        let relayed = outcome.relay;
        let relay_cpu_seconds = relayed.as_ref().map(|relayed| relayed.cpu_seconds);
        // Bytes that cross the device twice, with headers that are the relay's, are nobody's
        // figure.
        let wire = outcome.wire.and_then(Result::ok).filter(|_| relayed.is_none());
        if self.cut_bytes > 0 {
            let cuts = relayed.iter().flat_map(|relayed| &relayed.cuts);
            self.resumed_ms.extend(cuts.filter_map(|cut| cut.resumed_ms));
            self.relayed = relayed;
        }
        self.runs.iter_mut().for_each(Run::forget_its_course);
        let mut cost = outcome.cost;
        if outcome.sides.len() < 2 {
            cost.threads.iter_mut().for_each(|thread| thread.side = None);
        }
        self.runs.push(Run {
            round,
            seconds: outcome.seconds,
            messages: judged.answered.unwrap_or(self.messages),
            cpu_seconds: cost.cpu_seconds,
            cpu_seconds_before: outcome.before_cpu_seconds,
            cpu_seconds_after: outcome.after_cpu_seconds,
            generator_cpu_seconds: matches!(self.entry.cell, Cell::HttpServer(_))
                .then_some(outcome.witness_cpu_seconds),
            header_bytes: judged.header_bytes,
            foreign_cpu_share: outcome.foreign_cpu_share,
            peak_rss_bytes: cost.peak_rss_bytes,
            grown_bytes: cost.grown_bytes.filter(|_| self.entry.cell.asks_memory()),
            threads: cost.threads,
            moments: cost.moments,
            sides: if outcome.sides.len() > 1 { outcome.sides } else { Vec::new() },
            wire_bytes: wire.as_ref().map(WireTimeline::bytes),
            last_tenth_to_first: wire.and_then(|wire| wire.last_tenth_to_first()),
            relay_cpu_seconds,
            deaths: outcome.deaths,
        });
    }

    /// The row of a participant that is not installed.
    pub fn into_missing(self, reason: &str) -> Row {
        let mut row = self.into_row();
        row.verdict = Verdict::NotInstalled;
        row.reasons = vec![reason.to_owned()];
        row
    }

    /// The row of a participant that lacks the cell.
    pub fn into_absent(self, reason: String) -> Row {
        let mut row = self.into_row();
        row.verdict = Verdict::Absent;
        row.reasons = vec![reason];
        row
    }

    /// The row. A void one has no number anywhere.
    pub fn into_row(mut self) -> Row {
        if !self.entry.participant.is_ordered() && !self.runs.is_empty() {
            self.flags.insert(0, "it promises no order".to_owned());
        }
        if self.loud.0 > 0 {
            self.flags.push(format!(
                "{} in {} of {} rounds: others took up to {:.0} % of the processors",
                INNOCENT[0],
                self.loud.0,
                self.runs.len(),
                self.loud.1 * 100.0
            ));
        }
        let participant = self.entry.participant;
        let void = self.is_void();
        if void {
            self.runs.clear();
            self.times.clear();
            self.latency = LatencyHistogram::default();
            self.relayed = None;
        }
        let counts = |of: fn(&Run) -> f64| -> Vec<f64> { self.runs.iter().map(of).collect() };
        let measured = !self.runs.is_empty();
        Row {
            workload: self.entry.cell.workload().name().to_owned(),
            cell: self.entry.cell_name(),
            participant: participant.name().to_owned(),
            version: participant.version(),
            known_bad: self.entry.is_known_bad(),
            verdict: match (void, self.flags.is_empty()) {
                (true, _) => Verdict::Void,
                (false, true) => Verdict::Valid,
                (false, false) => Verdict::Flagged,
            },
            witness: self.entry.cell.witness(),
            verified: self.verified,
            message_bytes: self.entry.cell.message_bytes(),
            rate: Spread::of(&counts(Run::rate)),
            cpu_s_per_million: Spread::of(&counts(Run::cpu_s_per_million)),
            cpu_by_side: CpuBySide::of(&self.runs, self.programs),
            rtt_us: percentiles(&self.times, self.messages),
            rate_ordered: (measured && self.rate > 0).then_some(self.rate),
            latency_us: self.latency.to_document(),
            peak_rss_bytes: self.runs.iter().map(|run| run.peak_rss_bytes).max(),
            threads: measured.then_some(self.threads),
            switches_per_thousand: Spread::of(&self.switches)
                .filter(|_| measured)
                .map(|spread| spread.median),
            ratio_to_raw: None,
            ratio_to_best_peer: None,
            kept: None,
            cuts: self.relayed.map(|relayed| Cuts::of(relayed, Spread::of(&self.resumed_ms))),
            source_lines: participant.source_lines(),
            reasons: if void { self.void } else { self.flags },
            runs: self.runs,
        }
    }
}

impl Run {
    /// One run of a row shows how it went; all of them would make the document many times longer.
    fn forget_its_course(&mut self) {
        self.moments.clear();
        self.threads.iter_mut().for_each(|thread| thread.over_time.clear());
    }
}

impl Cuts {
    fn of(relayed: RelayAccount, resumed_ms: Option<Spread>) -> Cuts {
        let RelayAccount { step_ms, steps, cuts, .. } = relayed;
        let per_second = |bytes: &u64| *bytes as f64 * 1e3 / step_ms.max(1) as f64;
        Cuts { resumed_ms, step_ms, bytes_per_second: steps.iter().map(per_second).collect(), cuts }
    }
}

/// A reason once, and not too many.
fn note(reasons: &mut Vec<String>, reason: String) {
    // Reasons that differ in numbers alone are equal.
    let shape = |reason: &str| reason.replace(|it: char| it.is_ascii_digit() || it == '.', "");
    let known = reasons.iter().any(|known| shape(known) == shape(&reason));
    if !known && reasons.len() < REASONS_MAX {
        reasons.push(reason);
    }
}

/// The middle of the rounds' percentiles, as far as the samples of a round bear them.
fn percentiles(
    times: &[crate::workload::account::RoundTripTimes],
    samples: u64,
) -> Option<RttPercentiles> {
    let middle = |of: fn(&crate::workload::account::RoundTripTimes) -> f64| {
        let values: Vec<f64> = times.iter().map(of).collect();
        Spread::of(&values)
    };
    let beyond = |share: u64| samples / share >= SAMPLES_BEYOND_MIN as u64;
    Some(RttPercentiles {
        p50: middle(|times| times.p50)?.median,
        p90: middle(|times| times.p90).filter(|_| beyond(10)).map(|spread| spread.median),
        p99: middle(|times| times.p99).filter(|_| beyond(100)).map(|spread| spread.median),
        max: middle(|times| times.max)?.max,
        samples: samples * times.len() as u64,
        curve: Curve::middle(times.iter().map(|times| &times.curve), samples),
    })
}

#[cfg(test)]
mod tests;
