//! The report of a measurement: the verdict first, and numbers only for a clean run.

use std::time::Duration;

use serde_json::{Value, json};
use wigwag_lab::digest::Verified;
use wigwag_lab::numbers::{bytes, grouped, rate};
use wigwag_lab::statistics::Percentiles;

use super::seconds::Seconds;
use crate::exit::Code;
use crate::options::condition::{self, Comparison};
use crate::options::units;
use crate::socket::{in_microseconds, percentiles};

/// The schema of the document.
pub(super) const SCHEMA: &str = "wigwag.bench/1";

/// The results of a measurement.
pub(super) struct Report {
    /// `latency` or `throughput`.
    pub(super) kind: &'static str,
    /// The socket type that sent the messages: `req`, `pair` or `push`.
    pub(super) mode: &'static str,
    pub(super) at: String,
    pub(super) clients: usize,
    pub(super) size: usize,
    pub(super) verified: Verified,
    pub(super) elapsed: Duration,
    pub(super) seconds: Seconds,
    /// Round-trip times, if the run measured any.
    pub(super) times: Option<Percentiles>,
    pub(super) reply_bytes: u64,
    pub(super) interrupted: bool,
    pub(super) trouble: Option<String>,
}

impl Report {
    /// True if every message arrived intact, once and in order. Only such a run has numbers.
    fn is_clean(&self) -> bool {
        self.verified.is_clean() && self.verified.sent > 0
    }

    fn rate(&self) -> Option<f64> {
        let seconds = self.elapsed.as_secs_f64();
        (self.is_clean() && seconds > 0.0).then(|| self.verified.received as f64 / seconds)
    }

    fn times(&self) -> Option<Percentiles> {
        self.times.filter(|_| self.is_clean())
    }

    /// The report as text.
    pub(super) fn lines(&self) -> String {
        let mut lines = vec![self.verdict()];
        lines.extend(self.trouble.as_ref().map(|trouble| format!("trouble   {trouble}")));
        if let Some(overall) = self.rate() {
            let spread = match self.seconds.whole() {
                Some((whole, spread)) => format!(
                    "  ({whole} × 1 s: median {}, min {}, max {})",
                    rate(spread.median),
                    rate(spread.min),
                    rate(spread.max)
                ),
                None => "  (less than a whole second)".to_owned(),
            };
            lines.push(format!("rate      {}{spread}", rate(overall)));
        }
        if let Some(times) = self.times() {
            let samples = grouped(times.samples as u64);
            lines.push(format!("round trip  {}  ({samples} samples)", percentiles(times)));
        }
        if self.is_clean() {
            let sent = self.verified.sent * self.size as u64;
            lines.push(format!(
                "bytes     {} sent, {} received; {} by {} {}",
                bytes(sent),
                bytes(self.reply_bytes),
                self.mode,
                self.clients,
                if self.clients == 1 { "client" } else { "clients" }
            ));
        }
        if self.interrupted {
            lines.push("interrupted: the figures cover the time until then".to_owned());
        }
        lines.join("\n")
    }

    fn verdict(&self) -> String {
        let Verified { sent, received, lost, duplicated, reordered, corrupt } = self.verified;
        let word = match self.is_clean() {
            true => "verified",
            false if sent == 0 => return "nothing was sent".to_owned(),
            false => "NOT VERIFIED",
        };
        let nouns = if self.mode == "push" { "messages" } else { "replies" };
        let right = received.saturating_sub(corrupt + duplicated);
        format!(
            "{word}  {} of {} {nouns} right, {lost} lost, {duplicated} duplicated, {reordered} \
             reordered, {corrupt} wrong",
            grouped(right),
            grouped(sent)
        )
    }

    /// The report as a JSON document.
    pub(super) fn document(&self) -> Value {
        let whole = self.seconds.whole();
        let rates = self.rate().map(|overall| {
            json!({
                "overall": overall,
                "whole_seconds": whole.map_or(0, |(count, _)| count),
                "median": whole.map(|(_, spread)| spread.median),
                "min": whole.map(|(_, spread)| spread.min),
                "max": whole.map(|(_, spread)| spread.max),
            })
        });
        json!({
            "schema": SCHEMA,
            "kind": self.kind,
            "mode": self.mode,
            "at": self.at,
            "clients": self.clients,
            "size_bytes": self.size,
            "verdict": if self.is_clean() { "verified" } else { "void" },
            "verified": serde_json::to_value(self.verified).unwrap_or_default(),
            "seconds": self.elapsed.as_secs_f64(),
            "rate": rates,
            "round_trip_us": self.times().map(|times| in_microseconds(&times)),
            "sent_bytes": self.verified.sent * self.size as u64,
            "received_bytes": self.reply_bytes,
            "interrupted": self.interrupted,
            "trouble": self.trouble,
        })
    }

    /// The exit code, and the reasons if it is not 0.
    pub(super) fn code(&self, gates: &[Gate]) -> (Code, Vec<String>) {
        if self.verified.sent > 0 && !self.is_clean() {
            return match self.verified.received {
                0 => (Code::NoAnswer, Vec::new()),
                _ => (Code::VerificationFailed, Vec::new()),
            };
        }
        let why: Vec<String> = gates.iter().filter_map(|gate| gate.fails(self)).collect();
        let code = match (why.is_empty(), self.interrupted) {
            (false, _) => Code::ConditionFailed,
            (true, true) => Code::Interrupted,
            (true, false) => Code::Ok,
        };
        (code, why)
    }
}

/// `--fail-if`: such as `p99>5ms` or `rate<1000`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gate {
    text: String,
    figure: Figure,
    comparison: Comparison,
    /// Messages a second, or nanoseconds.
    limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    Rate,
    P50,
    P90,
    P99,
    P999,
    Max,
}

const FIGURES: [(&str, Figure); 6] = [
    ("rate", Figure::Rate),
    ("p50", Figure::P50),
    ("p90", Figure::P90),
    ("p99", Figure::P99),
    ("p99.9", Figure::P999),
    ("max", Figure::Max),
];

impl std::str::FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Gate, String> {
        let form = || {
            let names = FIGURES.map(|(name, _)| name).join(", ");
            format!("write it as p99>5ms or rate<1000; figures are {names}; < and > compare")
        };
        let (name, comparison, limit) = condition::split(text).ok_or_else(form)?;
        let figure = FIGURES.into_iter().find(|(known, _)| *known == name).ok_or_else(form)?.1;
        let limit = match figure {
            Figure::Rate => condition::number(limit).ok_or_else(form)?,
            _ => units::time(limit)?.as_nanos() as f64,
        };
        Ok(Gate { text: text.to_owned(), figure, comparison, limit })
    }
}

impl Gate {
    /// The reason if the run fails: the condition holds, or the figure is missing.
    fn fails(&self, report: &Report) -> Option<String> {
        let times = report.times();
        let time = |of: fn(&Percentiles) -> Option<u64>| times.as_ref().and_then(of);
        let nanoseconds = match self.figure {
            Figure::Rate => {
                let Some(figure) = report.rate() else { return Some(self.nothing()) };
                let holds = self.comparison.holds(figure, self.limit);
                return holds.then(|| format!("{}: it is {}", self.text, rate(figure)));
            }
            Figure::P50 => time(|times| Some(times.p50)),
            Figure::P90 => time(|times| times.p90),
            Figure::P99 => time(|times| times.p99),
            Figure::P999 => time(|times| times.p999),
            Figure::Max => time(|times| Some(times.max)),
        };
        let Some(figure) = nanoseconds else { return Some(self.nothing()) };
        let holds = self.comparison.holds(figure as f64, self.limit);
        holds.then(|| format!("{}: it is {:?}", self.text, Duration::from_nanos(figure)))
    }

    fn nothing(&self) -> String {
        format!("{}: no such figure: take more samples, or use another figure", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(words: [u64; 6], samples: u64) -> Report {
        let mut times = wigwag_lab::times::Times::new();
        (0..samples).for_each(|_| times.take(Duration::from_micros(100)));
        Report {
            kind: "latency",
            mode: "req",
            at: "tcp://127.0.0.1:1".to_owned(),
            clients: 1,
            size: 64,
            verified: Verified::from_words(words),
            elapsed: Duration::from_millis(500),
            seconds: Seconds::from_vec(vec![1_000]),
            times: times.percentiles(),
            reply_bytes: 0,
            interrupted: false,
            trouble: None,
        }
    }

    fn gate(text: &str) -> Gate {
        text.parse().unwrap()
    }

    #[test]
    fn a_run_that_is_not_verified_has_no_numbers_and_fails_whatever_the_conditions() {
        let clean = report([1_000, 1_000, 0, 0, 0, 0], 1_000);
        assert!(clean.lines().contains("rate      2.00 k/s"), "{}", clean.lines());
        assert_eq!(clean.code(&[]).0, Code::Ok);
        for damage in 2..6 {
            let mut words = [1_000, 1_000, 0, 0, 0, 0];
            words[damage] = 1;
            let bad = report(words, 1_000);
            assert!(!bad.lines().contains("rate"), "{}", bad.lines());
            assert_eq!(bad.document()["rate"], Value::Null);
            assert_eq!(bad.document()["round_trip_us"], Value::Null);
            assert_eq!(bad.code(&[gate("rate<1")]).0, Code::VerificationFailed);
        }
        assert_eq!(report([10, 0, 10, 0, 0, 0], 0).code(&[]).0, Code::NoAnswer);
    }

    #[test]
    fn a_condition_that_holds_fails_the_run_and_so_does_a_missing_figure() {
        let clean = report([1_000, 1_000, 0, 0, 0, 0], 1_000);
        assert_eq!(clean.code(&[gate("p99>5ms"), gate("rate<1000")]).0, Code::Ok);
        let (code, why) = clean.code(&[gate("p99>5us"), gate("rate<3000")]);
        assert_eq!((code, why.len()), (Code::ConditionFailed, 2), "{why:?}");
        let (code, why) = clean.code(&[gate("p99.9>5s")]);
        assert_eq!(code, Code::ConditionFailed);
        assert!(why[0].contains("no such figure"), "{why:?}");
    }

    #[test]
    fn malformed_conditions_are_refused() {
        for bad in ["", "p99", "p98>1ms", "p99>fast", "rate<many", "rate>1ms"] {
            assert!(bad.parse::<Gate>().is_err(), "{bad}");
        }
        assert_eq!(gate("p50 > 2ms").limit, 2e6);
    }
}
