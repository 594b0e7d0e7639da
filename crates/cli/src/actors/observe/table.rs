//! A snapshot as a table: a line about the node, its actors, and its sessions.

use wigwag::metrics::{ActorMetrics, Metrics, SessionMetrics};
use wigwag_lab::numbers;

use super::rates::Rates;
use crate::print::clean;

/// Letters of a name or an address that are shown.
const NAME_MAX: usize = 40;

/// Not known.
const NONE: &str = "–";

/// The lines about a node that answers. Its texts have no control characters any more.
pub(super) fn lines(address: &str, metrics: &Metrics, rates: &Rates<'_>) -> Vec<String> {
    let mut lines = vec![summary(address, metrics), String::new()];
    lines.extend(actors(metrics, rates));
    lines.push(String::new());
    lines.extend(sessions(metrics, rates));
    lines.push(String::new());
    lines
}

/// The lines about a node that does not answer.
pub(super) fn missing(address: &str, why: &str) -> Vec<String> {
    let why = why.lines().next().unwrap_or_default();
    vec![clean(&format!("{address}: {why}")), String::new()]
}

fn summary(address: &str, metrics: &Metrics) -> String {
    let Metrics { ended, acceptor, lost_tells, sp_clients, .. } = metrics;
    let name = metrics.node.as_deref().map(|name| format!("{name} at ")).unwrap_or_default();
    let up = time(metrics.uptime_ms);
    let refused: u64 = acceptor.refused.values().sum();
    let lost = lost_tells.refused
        + lost_tells.ended
        + lost_tells.no_room
        + lost_tells.not_understood
        + lost_tells.rejected;
    clean(&format!(
        "{name}{address}  up {up}  SP clients {}  sessions lost {}  evicted {}  refused {refused}  tells lost {lost}",
        sp_clients.connections, ended.lost, ended.evicted,
    ))
}

fn actors(metrics: &Metrics, rates: &Rates<'_>) -> Vec<String> {
    let head = ["ACTOR", "TYPE", "WAITING", "RATE", "CALLS", "REJECTED", "DROPPED", "RESTARTS"];
    let row = |actor: &ActorMetrics| {
        let name = if actor.actor.is_empty() { "(others)" } else { &actor.actor };
        let waiting = match actor.has_ended {
            true => "ended".to_owned(),
            false => actor.waiting.to_string(),
        };
        vec![
            short(name),
            short(&actor.kind),
            waiting,
            known(rates.calls(actor), numbers::rate),
            actor.taken.to_string(),
            actor.rejected_calls().to_string(),
            actor.dropped.to_string(),
            actor.restarts.to_string(),
        ]
    };
    aligned(&head, 2, metrics.actors.iter().map(row).collect())
}

fn sessions(metrics: &Metrics, rates: &Rates<'_>) -> Vec<String> {
    let head =
        ["PEER", "NAME", "STATE", "IN", "OUT", "STALLS", "REPEATED", "RESUMES", "UNACKED", "RTT"];
    let row = |session: &SessionMetrics| {
        let (received, sent) = rates.bytes(session);
        let is_sum = session.session == 0;
        let peer = if is_sum { "(others)" } else { &session.peer };
        let state = match session.cut_for_ms {
            _ if is_sum => NONE.to_owned(),
            None => "connected".to_owned(),
            Some(millis) => format!("cut {}", time(millis)),
        };
        let counters = &session.counters;
        vec![
            short(peer),
            short(session.identity.as_deref().or(session.name.as_deref()).unwrap_or(NONE)),
            state,
            known(received, bytes),
            known(sent, bytes),
            counters.credit_stalls.to_string(),
            counters.frames_repeated.to_string(),
            counters.resumes.to_string(),
            session.unacked_frames.to_string(),
            known(session.rtt_us, |us| numbers::microseconds(us as f64)),
        ]
    };
    aligned(&head, 3, metrics.sessions.iter().map(row).collect())
}

/// Rows below their heads: the first `left` columns begin at the left, the others end at the right.
fn aligned(head: &[&str], left: usize, rows: Vec<Vec<String>>) -> Vec<String> {
    let head = head.iter().map(|name| (*name).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|at| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or_default())
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| {
            if at < left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A name of the node, or its start with a sign that there is more.
fn short(name: &str) -> String {
    let name = clean(name).replace('\n', "\u{FFFD}");
    match name.chars().count() <= NAME_MAX {
        true => name,
        false => name.chars().take(NAME_MAX - 1).chain(['…']).collect(),
    }
}

/// The figure of a snapshot for one second, if it is known.
fn known<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), text)
}

fn bytes(per_second: f64) -> String {
    format!("{}/s", numbers::bytes(per_second as u64))
}

fn time(millis: u64) -> String {
    let seconds = millis / 1000;
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds}s"),
        (0, 0, minutes) => format!("{minutes}m {}s", seconds % 60),
        (0, hours, minutes) => format!("{hours}h {minutes}m"),
        (days, hours, _) => format!("{days}d {hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short() {
        let times = [900, 61_000, 3_700_000, 90_000_000].map(time);
        assert_eq!(times, ["0s", "1m 1s", "1h 1m", "1d 1h"]);
    }

    /// A name may have been chosen to do something to the terminal.
    #[test]
    fn names_of_the_node_are_only_text() {
        let mut metrics: Metrics = serde_json::from_value(serde_json::json!({
            "node": "a\u{1b}[2J",
            "actors": [{"actor": "b\nc\u{1b}]0;d", "kind": "e".repeat(100)}],
            "sessions": [{"session": 7, "peer": "f\u{202e}"}, {"peer": "", "counters": {"cuts": 1}}],
        }))
        .unwrap();
        metrics.uptime_ms = 1000;
        let lines = lines("tcp://h:1", &metrics, &Rates::between(None, &metrics));
        let text = lines.join("|");
        assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
        assert!(text.contains("b\u{FFFD}c") && text.contains("e…"), "{text}");
        assert_eq!(text.matches("(others)").count(), 1, "{text}");
    }
}
