//! The counters of a gateway.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hyper::StatusCode;

/// The counters of a gateway. Relaxed everywhere: no other memory is published through a number.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Connections that are open.
    pub(crate) connections: AtomicUsize,
    /// Connections that had to give way to others, or were cut because they stood still.
    pub(crate) dropped_connections: AtomicU64,
    /// Requests that are being answered.
    pub(crate) requests_open: AtomicUsize,
    /// Answers by the first digit of their status.
    answers: [AtomicU64; 6],
    /// Sessions over WebSocket and over long poll that were begun.
    pub(crate) sessions: [AtomicU64; 2],
}

impl Counters {
    /// Counts an answer.
    pub(crate) fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).min(5);
        self.answers[class].fetch_add(1, Ordering::Relaxed);
    }

    /// The counters as a page for Prometheus.
    pub(crate) fn page(&self) -> String {
        let mut page = String::new();
        let mut family = |name: &str, kind: &str, help: &str, rows: &[(String, u64)]| {
            // Writing to a string does not fail.
            let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in rows {
                let _ = writeln!(page, "{name}{labels} {value}");
            }
        };
        let one = |value: u64| vec![(String::new(), value)];
        let of = |size: &AtomicUsize| one(size.load(Ordering::Relaxed) as u64);
        family(
            "wigwag_gateway_connections",
            "gauge",
            "Connections that are open.",
            &of(&self.connections),
        );
        family(
            "wigwag_gateway_dropped_connections_total",
            "counter",
            "Connections that gave way to others or stood still.",
            &one(self.dropped_connections.load(Ordering::Relaxed)),
        );
        family(
            "wigwag_gateway_requests",
            "gauge",
            "Requests that are being answered.",
            &of(&self.requests_open),
        );
        let answers: Vec<_> = (1..6)
            .map(|class| {
                let count = self.answers[class].load(Ordering::Relaxed);
                (format!("{{status=\"{class}xx\"}}"), count)
            })
            .collect();
        family("wigwag_gateway_answers_total", "counter", "Answers by their status.", &answers);
        let carriers = ["websocket", "long_poll"].iter().zip(&self.sessions);
        let sessions: Vec<_> = carriers
            .map(|(name, count)| (format!("{{carrier=\"{name}\"}}"), count.load(Ordering::Relaxed)))
            .collect();
        family(
            "wigwag_gateway_sessions_total",
            "counter",
            "Connections of sessions by what carries them.",
            &sessions,
        );
        page
    }
}

/// Counts a request while it is answered.
pub(crate) struct Open<'a>(&'a AtomicUsize);

impl<'a> Open<'a> {
    /// Begins a request; `None` if there are `most` already.
    pub(crate) fn begin(count: &'a AtomicUsize, most: usize) -> Option<Open<'a>> {
        // Counted before the check, so that dropping it gives it back either way.
        let before = count.fetch_add(1, Ordering::Relaxed);
        let open = Open(count);
        (before < most).then_some(open)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::REQUESTS_MAX;

    #[test]
    fn a_request_beyond_the_limit_is_not_begun() {
        let count = AtomicUsize::new(0);
        let begin = || Open::begin(&count, REQUESTS_MAX);
        let mut open: Vec<_> = (0..REQUESTS_MAX).map_while(|_| begin()).collect();
        assert_eq!(open.len(), REQUESTS_MAX);
        assert!(begin().is_none());
        open.pop();
        assert!(begin().is_some());
    }
}
