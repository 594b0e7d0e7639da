//! The summary of a session, as a line or as a document of `socket-1.json`.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use wigwag::sp::Statistics;
use wigwag_lab::numbers::{grouped, microseconds};
use wigwag_lab::statistics::Percentiles;
use wigwag_lab::times::Times;

use super::role::Role;
use crate::exit::Code;

/// The schema of the documents that socket commands write.
pub(crate) const SCHEMA: &str = "wigwag.socket/1";

/// Counters of a session.
pub(crate) struct Tally {
    role: Role,
    /// Number of sent messages; shared with the sending half.
    pub(crate) sent: Rc<Cell<u64>>,
    /// Number of received messages.
    pub(crate) received: u64,
    errors: u64,
    /// The exit code of the first error.
    code: Option<Code>,
    times: Times,
}

impl Tally {
    pub(crate) fn new(role: Role) -> Tally {
        Tally { role, sent: Rc::default(), received: 0, errors: 0, code: None, times: Times::new() }
    }

    /// Counts an error after which the session continues.
    pub(crate) fn record_error(&mut self, code: Code) {
        self.errors += 1;
        self.code = self.code.or(Some(code));
    }

    /// Records the duration of an exchange.
    pub(crate) fn record_time(&mut self, time: Duration) {
        self.times.take(time);
    }

    /// The exit code. A refused message counts as an error, although no call failed.
    pub(crate) fn code(&self, statistics: &Statistics) -> Code {
        let refused = self.refused(statistics) > 0;
        self.code.unwrap_or(if refused { Code::Refused } else { Code::Ok })
    }

    /// Number of failed calls and refused messages.
    fn errors(&self, statistics: &Statistics) -> u64 {
        self.errors + self.refused(statistics)
    }

    /// Number of messages that were refused: here, because they exceed the receive limit or are
    /// malformed, or by a peer. A request that a peer refuses is a failed call already.
    fn refused(&self, statistics: &Statistics) -> u64 {
        let by_peers = match self.role {
            Role::Req => 0,
            _ => statistics.pipes_refused_by_length,
        };
        statistics.pipes_punished + by_peers
    }

    /// True after at most one successful exchange, which needs no summary.
    pub(crate) fn is_trivial_success(&self, statistics: &Statistics) -> bool {
        self.errors(statistics) == 0
            && self.sent.get() <= 1
            && self.received <= 1
            && losses(statistics).is_empty()
    }

    /// The summary as a line of text.
    pub(crate) fn line(&self, statistics: &Statistics) -> String {
        let words = |count, one: &str, many: &str| {
            format!("{} {}", grouped(count), if count == 1 { one } else { many })
        };
        let [sent, received] = self.nouns();
        let mut parts = Vec::new();
        let answers = matches!(self.role, Role::Rep | Role::Respond);
        let mut both = [(self.sent.get(), sent), (self.received, received)];
        if answers {
            both.reverse();
        }
        for (count, noun) in both {
            if let Some((one, many)) = noun {
                parts.push(words(count, one, many));
            }
        }
        parts.push(words(self.errors(statistics), "error", "errors"));
        parts.push(words(statistics.pipes_opened, "peer", "peers"));
        for (name, count) in losses(statistics) {
            parts.push(format!("{} {}", grouped(count), name.replace('_', " ")));
        }
        parts.extend(self.times.percentiles().map(percentiles));
        parts.join(" · ")
    }

    /// The summary as a JSON document.
    pub(crate) fn document(&self, statistics: &Statistics, interrupted: bool) -> Value {
        let times = self.times.percentiles().map(|times| in_microseconds(&times));
        let drops: serde_json::Map<String, Value> = losses(statistics)
            .into_iter()
            .map(|(name, count)| (name.into(), count.into()))
            .collect();
        json!({
            "schema": SCHEMA,
            "kind": "summary",
            "protocol": self.role.number().to_string(),
            "sent": self.sent.get(),
            "received": self.received,
            "errors": self.errors(statistics),
            "peers": statistics.pipes_opened,
            "handshakes_failed": statistics.handshakes_failed,
            "lost": drops,
            "time_us": times,
            "interrupted": interrupted,
        })
    }

    /// The names of sent and received messages, in singular and plural.
    fn nouns(&self) -> [Option<(&'static str, &'static str)>; 2] {
        let sent = Some(("message sent", "messages sent"));
        let received = Some(("message received", "messages received"));
        match self.role {
            Role::Req => [Some(("request", "requests")), Some(("reply", "replies"))],
            Role::Rep => [Some(("reply", "replies")), Some(("request", "requests"))],
            Role::Survey => [Some(("survey", "surveys")), Some(("answer", "answers"))],
            Role::Respond => [Some(("answer", "answers")), Some(("survey", "surveys"))],
            Role::Pub | Role::Push => [sent, None],
            Role::Sub | Role::Pull => [None, received],
            Role::Pair | Role::Pair0 | Role::Bus | Role::Star => [sent, received],
        }
    }
}

/// Lost messages by reason. Replies to an earlier request are left out, because a requester that
/// has asked again does not need them.
pub(crate) fn losses(statistics: &Statistics) -> Vec<(&'static str, u64)> {
    let counters = &statistics.counters;
    let all = [
        ("dropped_too_many_hops", counters.dropped_too_many_hops),
        ("dropped_malformed", counters.dropped_malformed),
        ("dropped_late", counters.dropped_late),
        ("dropped_unexpected", counters.dropped_unexpected),
        ("dropped_pipe_gone", counters.dropped_pipe_gone),
        ("dropped_overflow", counters.dropped_overflow),
        ("dropped_peer_slow", counters.dropped_peer_slow),
        ("dropped_abandoned", counters.dropped_abandoned),
        ("cut_off", statistics.messages_cut_off),
    ];
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Percentiles in microseconds as JSON.
pub(crate) fn in_microseconds(times: &Percentiles) -> Value {
    let us = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    json!({
        "samples": times.samples,
        "p50": us(times.p50),
        "p90": times.p90.map(us),
        "p99": times.p99.map(us),
        "p999": times.p999.map(us),
        "max": us(times.max),
    })
}

/// Percentiles as text, without those that have too few samples.
pub(crate) fn percentiles(times: Percentiles) -> String {
    let us = |nanoseconds: u64| microseconds(nanoseconds as f64 / 1e3);
    let upper = [("p90", times.p90), ("p99", times.p99), ("p99.9", times.p999)];
    let mut text = format!("p50 {}", us(times.p50));
    for (name, time) in upper {
        if let Some(time) = time {
            text += &format!("  {name} {}", us(time));
        }
    }
    text + &format!("  max {}", us(times.max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_line_uses_the_terms_of_the_protocol() {
        let mut tally = Tally::new(Role::Rep);
        tally.sent.set(1);
        tally.received = 12_004;
        tally.record_error(Code::Internal);
        (0..20).for_each(|_| tally.record_time(Duration::from_micros(30)));
        let mut statistics = Statistics::default();
        statistics.pipes_opened = 1;
        statistics.counters.dropped_abandoned = 2;
        let line = tally.line(&statistics);
        let start = "12,004 requests · 1 reply · 1 error · 1 peer · 2 dropped abandoned · p50 30";
        assert!(line.starts_with(start), "{line}");
        assert!(!line.contains("p90"), "{line}: 20 samples are too few for it");
        assert_eq!(tally.code(&statistics), Code::Internal);
    }

    #[test]
    fn a_refused_message_counts_as_an_error_after_those_of_calls() {
        let mut tally = Tally::new(Role::Pull);
        let mut statistics = Statistics::default();
        assert_eq!(tally.code(&statistics), Code::Ok);
        statistics.pipes_punished = 2;
        assert_eq!(tally.code(&statistics), Code::Refused);
        assert!(!tally.is_trivial_success(&statistics));
        assert!(tally.line(&statistics).starts_with("0 messages received · 2 errors"));
        assert_eq!(tally.document(&statistics, false)["errors"], 2);
        tally.record_error(Code::NoAnswer);
        assert_eq!(tally.code(&statistics), Code::NoAnswer);
    }

    #[test]
    fn the_exit_code_is_that_of_the_first_error() {
        let mut tally = Tally::new(Role::Rep);
        tally.record_error(Code::NoAnswer);
        tally.record_error(Code::Internal);
        assert_eq!(tally.code(&Statistics::default()), Code::NoAnswer);
    }

    #[test]
    fn a_message_that_a_peer_refuses_is_an_error_and_a_request_is_counted_by_its_call() {
        let mut statistics = Statistics::default();
        statistics.pipes_refused_by_length = 1;
        assert_eq!(Tally::new(Role::Push).code(&statistics), Code::Refused);
        assert_eq!(Tally::new(Role::Push).errors(&statistics), 1);
        assert_eq!(Tally::new(Role::Req).errors(&statistics), 0);
    }

    #[test]
    fn one_successful_exchange_needs_no_summary() {
        let mut tally = Tally::new(Role::Req);
        tally.sent.set(1);
        tally.received = 1;
        let mut statistics = Statistics::default();
        assert!(tally.is_trivial_success(&statistics));
        statistics.messages_cut_off = 1;
        assert!(!tally.is_trivial_success(&statistics));
        tally.sent.set(2);
        assert!(!tally.is_trivial_success(&Statistics::default()));
    }
}
