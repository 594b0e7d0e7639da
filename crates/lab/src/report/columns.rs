//! Figures as a reader sees them, the same on a terminal and on a page.
//!
//! A figure exists only for a row that earned it: [`earned`] is the one door, and every column
//! goes through it.

use crate::figures::digest::Verified;
pub(crate) use crate::figures::numbers::{bytes, grouped, microseconds, rate, significant};
use crate::figures::statistics::Spread;
use crate::results::cpu_by_side::SideCpu;
use crate::results::reasons::is_lower_bound;
use crate::results::workers;
use crate::results::{Interval, Row, Run, Verdict};
use crate::workload::counter::{FLAT_BYTES, ONE_BY_ONE, SLOW, SPAWN};
use crate::workload::sp::fan_out::is_published;

/// A row whose numbers may be shown.
#[derive(Clone, Copy)]
pub(crate) struct Earned<'a>(&'a Row);

/// The row as one with numbers; `None` when it earned none, whatever its fields hold.
pub(crate) fn earned(row: &Row) -> Option<Earned<'_>> {
    match row.verdict {
        Verdict::Valid | Verdict::Flagged => Some(Earned(row)),
        Verdict::Void | Verdict::NotInstalled | Verdict::Absent => None,
    }
}

impl<'a> Earned<'a> {
    /// The row, of which every field may be read now.
    pub(crate) fn row(self) -> &'a Row {
        self.0
    }

    /// The ratio to the limit, if it is made of numbers.
    pub(crate) fn ratio(self) -> Option<Interval> {
        let finite = |interval: &Interval| {
            [interval.low, interval.median, interval.high].iter().all(|end| end.is_finite())
        };
        self.0.ratio_to_raw.filter(finite)
    }
}

/// The verdict as a word, with a sign that does without colour.
pub(crate) fn verdict_word(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Valid => ("✓", "VALID"),
        Verdict::Flagged => ("▲", "FLAGGED"),
        Verdict::Void => ("✕", "VOID"),
        Verdict::NotInstalled => ("○", "NOT INSTALLED"),
        Verdict::Absent => ("–", "HAS NONE"),
    }
}

/// A figure and, in smaller letters, how sure it is.
pub(crate) struct Figure {
    /// The figure itself.
    pub(crate) main: String,
    /// Its interval or its extremes.
    pub(crate) detail: Option<String>,
}

impl Figure {
    fn plain(main: String) -> Option<Figure> {
        Some(Figure { main, detail: None })
    }

    /// On one line.
    pub(crate) fn line(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{} ({detail})", self.main),
            None => self.main.clone(),
        }
    }
}

/// The form in which a column fits on a terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TerminalDetail {
    /// Nothing.
    None,
    /// The figure alone.
    Figure,
    /// The figure and how sure it is.
    All,
}

/// One column of the tables of figures.
pub(crate) struct Column {
    /// Its head.
    pub(crate) title: &'static str,
    /// The meaning of the head, in a sentence.
    pub(crate) meaning: &'static str,
    /// A terminal has room for little: the columns that a reader asks for first.
    pub(crate) terminal: TerminalDetail,
    value: fn(&Row) -> Option<Figure>,
}

impl Column {
    /// The figure of `row`, if it earned one and has it.
    pub(crate) fn of(&self, row: &Row) -> Option<Figure> {
        (self.value)(earned(row)?.row())
    }

    /// Every one, in the order of the tables.
    pub(crate) fn all() -> &'static [Column] {
        COLUMNS
    }

    /// The columns for which at least one of `rows` has a figure.
    pub(crate) fn used_by(rows: &[&Row]) -> Vec<&'static Column> {
        COLUMNS.iter().filter(|column| rows.iter().any(|row| column.of(row).is_some())).collect()
    }
}

/// In the order of the tables: the ratio first, then what a message costs, then the clock.
const COLUMNS: &[Column] = &[
    Column {
        title: "÷ raw",
        meaning: "Rate divided by that of raw in the same round: median and 95 % interval.",
        terminal: TerminalDetail::All,
        value: |row| row.ratio_to_raw.map(|ratio| at_least(row, interval(ratio))),
    },
    Column {
        title: "kept",
        meaning: "Rate divided by its own through the same relay without a delay, or beside a third \
                  peer that is well, in the same round: median, least and most of the rounds.",
        terminal: TerminalDetail::All,
        value: |row| row.kept.map(|kept| spread_of(kept, significant)),
    },
    Column {
        title: "delivered",
        meaning: "Messages of PUB that got to the peers that are measured, in per cent of those that \
                  were sent, over all rounds.",
        terminal: TerminalDetail::Figure,
        value: |row| {
            let Verified { sent, lost, .. } = row.verified;
            let share = 100.0 * (sent.saturating_sub(lost)) as f64 / sent.max(1) as f64;
            let text = if lost == 0 { "100 %".to_owned() } else { format!("{share:.3} %") };
            is_published(&row.cell).then(|| Figure::plain(text))?
        },
    },
    Column {
        title: "CPU s / M",
        meaning: "Processor seconds of all its processes for a million messages.",
        terminal: TerminalDetail::Figure,
        value: |row| row.cpu_s_per_million.map(|spread| spread_of(spread, significant)),
    },
    Column {
        title: "CPU by side",
        meaning: "The part of CPU s / M that each side took in the round of its median: they add up \
                  to it. One program: both sides are within it and cannot be told apart.",
        terminal: TerminalDetail::Figure,
        value: |row| Figure::plain(cpu_of_sides(row)?),
    },
    Column {
        title: "generator CPU",
        meaning: "Processor seconds of the lab's own client for a million answers.",
        terminal: TerminalDetail::Figure,
        value: |row| {
            let each = |run: &Run| Some(run.per_million(run.generator_cpu_seconds?));
            over_rounds(row, each, significant)
        },
    },
    Column {
        title: "busiest ÷ mean",
        meaning: "Processor time of the server's busiest worker, divided by the mean of its workers: \
                  threads that took a tenth of the busiest one's or more.",
        terminal: TerminalDetail::Figure,
        value: |row| {
            let unevenness = |run: &Run| workers::busiest_to_mean(run).filter(|_| has_workers(run));
            over_rounds(row, unevenness, significant)
        },
    },
    Column {
        title: "workers",
        meaning: "Shares of the server's processor time that its workers took in the last round, in \
                  per cent.",
        terminal: TerminalDetail::Figure,
        value: |row| {
            let run = row.runs.last().filter(|run| has_workers(run))?;
            Figure::plain(workers::shares(run)?)
        },
    },
    Column {
        title: "header B",
        meaning: "Bytes of the head of an answer: status line, headers, and the empty line.",
        terminal: TerminalDetail::Figure,
        value: |row| over_rounds(row, |run| run.header_bytes, significant),
    },
    Column {
        title: "rate",
        meaning: "Messages or round trips a second: median, least and most of the rounds.",
        terminal: TerminalDetail::Figure,
        value: |row| row.rate.map(|spread| at_least(row, spread_of(spread, rate))),
    },
    Column {
        title: "Gb/s",
        meaning: "Billions of bits of messages a second, without headers: median, least and most of \
                  the rounds.",
        terminal: TerminalDetail::Figure,
        value: |row| {
            let (bytes, rate) = (row.message_bytes?, row.rate?);
            let scale = bytes as f64 * 8.0 / 1e9;
            let [median, min, max] = [rate.median, rate.min, rate.max].map(|rate| rate * scale);
            Some(at_least(row, spread_of(Spread { median, min, max }, significant)))
        },
    },
    Column {
        title: "each",
        meaning: "Time by the clock for one ask, one hop, or one actor, where one follows the other.",
        terminal: TerminalDetail::Figure,
        value: |row| {
            let each = |run: &Run| Some(run.seconds * 1e6 / run.messages.max(1) as f64);
            ONE_BY_ONE.contains(&row.cell.as_str()).then(|| over_rounds(row, each, short))?
        },
    },
    Column {
        title: "÷ best peer",
        meaning: "Rate divided by that of the best valid peer other than raw and wigwag.",
        terminal: TerminalDetail::None,
        value: |row| row.ratio_to_best_peer.map(|ratio| at_least(row, interval(ratio))),
    },
    Column {
        title: "RTT p50",
        meaning: "Half of the round trips were faster.",
        terminal: TerminalDetail::Figure,
        value: |row| Figure::plain(microseconds(row.rtt_us.as_ref()?.p50)),
    },
    Column {
        title: "RTT p90",
        meaning: "Nine of ten round trips were faster.",
        terminal: TerminalDetail::None,
        value: |row| Figure::plain(microseconds(row.rtt_us.as_ref()?.p90?)),
    },
    Column {
        title: "RTT p99",
        meaning: "99 of a hundred round trips were faster.",
        terminal: TerminalDetail::Figure,
        value: |row| Figure::plain(microseconds(row.rtt_us.as_ref()?.p99?)),
    },
    Column {
        title: "RTT p99.9",
        meaning: "999 of a thousand round trips were faster.",
        terminal: TerminalDetail::None,
        value: |row| Figure::plain(microseconds(row.rtt_us.as_ref()?.curve.at(0.999)?)),
    },
    Column {
        title: "RTT max",
        meaning: "The slowest round trip.",
        terminal: TerminalDetail::None,
        value: |row| Figure::plain(microseconds(row.rtt_us.as_ref()?.max)),
    },
    Column {
        title: "last ÷ first",
        meaning: "Rate of the last tenth of the bytes on the wire, divided by that of the first: \
                  below 1 it tires.",
        terminal: TerminalDetail::Figure,
        value: |row| over_rounds(row, |run| run.last_tenth_to_first, significant),
    },
    Column {
        title: "wire B / msg",
        meaning: "Bytes on the wire for a message, headers of TCP and acknowledgements included.",
        terminal: TerminalDetail::Figure,
        value: |row| {
            let bytes = |run: &Run| Some(run.wire_bytes? as f64 / run.messages.max(1) as f64);
            over_rounds(row, bytes, significant)
        },
    },
    Column {
        title: "cuts",
        meaning: "Times that the relay reset its connection in the last round.",
        terminal: TerminalDetail::Figure,
        value: |row| Figure::plain(row.cuts.as_ref()?.cuts.len().to_string()),
    },
    Column {
        title: "resumed",
        meaning: "From a cut until the next connection brought the server its first bytes: median, \
                  least and most of all cuts.",
        terminal: TerminalDetail::All,
        value: |row| Some(spread_of(row.cuts.as_ref()?.resumed_ms?, milliseconds)),
    },
    Column {
        title: "deaths",
        meaning: "Times that a peer beside those that are measured was killed in the last round.",
        terminal: TerminalDetail::Figure,
        value: |row| Figure::plain(row.runs.last()?.deaths?.to_string()),
    },
    Column {
        title: "ordered",
        meaning: "Messages a second that were ordered: a share of those that it answers at most, or the \
                  same for everyone.",
        terminal: TerminalDetail::Figure,
        value: |row| Figure::plain(rate(row.rate_ordered? as f64)),
    },
    Column {
        title: "latency p50",
        meaning: "Half of the replies, or messages, came faster, from when they were due.",
        terminal: TerminalDetail::Figure,
        value: |row| Figure::plain(microseconds(row.latency_us.as_ref()?.p50)),
    },
    Column {
        title: "latency p99",
        meaning: "99 of a hundred came faster, from when they were due.",
        terminal: TerminalDetail::Figure,
        value: |row| Figure::plain(microseconds(row.latency_us.as_ref()?.p99?)),
    },
    Column {
        title: "latency p99.9",
        meaning: "999 of a thousand came faster, from when they were due.",
        terminal: TerminalDetail::Figure,
        value: |row| Figure::plain(microseconds(row.latency_us.as_ref()?.p999?)),
    },
    Column {
        title: "latency max",
        meaning: "The slowest one, from when it was due.",
        terminal: TerminalDetail::None,
        value: |row| Figure::plain(microseconds(row.latency_us.as_ref()?.max)),
    },
    Column {
        title: "late",
        meaning: "Messages that were sent more than 1 ms after they were due, in per cent.",
        terminal: TerminalDetail::Figure,
        value: |row| {
            let latency = row.latency_us.as_ref()?;
            let share = 100.0 * latency.late as f64 / latency.samples.max(1) as f64;
            Figure::plain(format!("{} %", significant(share)))
        },
    },
    Column {
        title: "memory",
        meaning: "The largest resident memory of all its processes.",
        terminal: TerminalDetail::Figure,
        value: |row| Figure::plain(bytes(row.peak_rss_bytes?)),
    },
    Column {
        title: "grown",
        meaning: "By how much the resident memory grew while the clock ran, and whether that counts \
                  as flat.",
        terminal: TerminalDetail::All,
        value: |row| {
            let grown = row.runs.iter().filter_map(|run| run.grown_bytes).max()?;
            let flat = if grown <= FLAT_BYTES { "flat" } else { "not flat" };
            let detail = (row.cell == SLOW).then(|| flat.to_owned());
            Some(Figure { main: bytes(grown), detail })
        },
    },
    Column {
        title: "bytes each",
        meaning: "That growth divided by the actors that were alive at the same time.",
        terminal: TerminalDetail::Figure,
        value: |row| {
            let each = |run: &Run| Some(run.grown_bytes? as f64 / run.messages.max(1) as f64);
            let word = |bytes: f64| grouped(bytes as u64);
            (row.cell == SPAWN).then(|| over_rounds(row, each, word))?
        },
    },
    Column {
        title: "server mem",
        meaning: "The part of the memory that its server held, when both together held most.",
        terminal: TerminalDetail::None,
        value: |row| Figure::plain(bytes(memory_of_sides(row)?.0)),
    },
    Column {
        title: "client mem",
        meaning: "The part of the memory that its client held then.",
        terminal: TerminalDetail::None,
        value: |row| Figure::plain(bytes(memory_of_sides(row)?.1)),
    },
    Column {
        title: "threads",
        meaning: "The most threads that ran at once.",
        terminal: TerminalDetail::Figure,
        value: |row| Figure::plain(row.threads?.to_string()),
    },
    Column {
        title: "switches / k",
        meaning: "Context switches for a thousand messages.",
        terminal: TerminalDetail::None,
        value: |row| Figure::plain(significant(row.switches_per_thousand?)),
    },
    Column {
        title: "messages",
        meaning: "Messages that were sent and accounted for, over all rounds.",
        terminal: TerminalDetail::None,
        value: |row| Figure::plain(grouped(row.verified.received)),
    },
    Column {
        title: "lines",
        meaning: "Source lines of its programs.",
        terminal: TerminalDetail::None,
        value: |row| Figure::plain(grouped(row.source_lines?)),
    },
];

fn milliseconds(time: f64) -> String {
    microseconds(time * 1e3)
}

/// Microseconds, or nanoseconds where it is less than one.
fn short(time: f64) -> String {
    if time < 1.0 { format!("{} ns", significant(time * 1e3)) } else { microseconds(time) }
}

/// Workers are a question of servers that share the work of the lab's own client.
fn has_workers(run: &Run) -> bool {
    run.generator_cpu_seconds.is_some()
}

/// The processor time of each side with its name; `None` if the row does not tell.
fn cpu_of_sides(row: &Row) -> Option<String> {
    let by_side = row.cpu_by_side.as_ref()?;
    if by_side.one_program {
        return Some("one program".to_owned());
    }
    let one =
        |side: &SideCpu| format!("{} {}", side.side.word(), significant(side.cpu_s_per_million));
    Some(by_side.sides.iter().map(one).collect::<Vec<_>>().join(" + "))
}

/// Memory of server and client in the round in which both together held most.
pub(crate) fn memory_of_sides(row: &Row) -> Option<(u64, u64)> {
    let most = row.runs.iter().max_by_key(|run| run.peak_rss_bytes)?;
    match most.sides.as_slice() {
        [server, client] => Some((server.peak_rss_bytes, client.peak_rss_bytes)),
        _ => None,
    }
}

/// The middle of a figure that rounds have, with the least and the most.
fn over_rounds(row: &Row, of: fn(&Run) -> Option<f64>, word: fn(f64) -> String) -> Option<Figure> {
    let rounds: Vec<f64> = row.runs.iter().filter_map(of).collect();
    Some(spread_of(Spread::of(&rounds)?, word))
}

/// Where the lab's own side was the limit, a rate is no more than a lower bound.
fn at_least(row: &Row, figure: Figure) -> Figure {
    match is_lower_bound(row) {
        true => Figure { main: format!("≥ {}", figure.main), ..figure },
        false => figure,
    }
}

/// A ratio and its interval; one without width, as that of the limit to itself, has none.
pub(crate) fn interval(interval: Interval) -> Figure {
    let Interval { median, low, high } = interval;
    let (low, high) = (significant(low), significant(high));
    let detail = (low != high).then(|| format!("{low}–{high}"));
    Figure { main: significant(median), detail }
}

/// The extremes are left out when there was one round, whose only figure is the median.
fn spread_of(spread: Spread, word: fn(f64) -> String) -> Figure {
    let (min, max) = (word(spread.min), word(spread.max));
    // A unit that both share is printed once.
    let least = match (min.split_once(' '), max.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => &min,
    };
    let detail = (min != max).then(|| format!("{least}–{max}"));
    Figure { main: word(spread.median), detail }
}

#[cfg(test)]
mod tests;
