//! The page for Prometheus: the text format, version 0.0.4.

use std::fmt::{Display, Write};

use super::families::{
    ACCEPTOR, ACTOR, ENDED, EVICTED, Family, Kind, LOST_TELLS, NODE, REFUSED, REJECTED, SESSION,
    SP_CLIENTS, losses,
};
use super::{ActorMetrics, Metrics, SessionMetrics, SessionStatistics};

/// The labels of a sample.
type Labels<'a> = &'a [(&'a str, &'a str)];

impl Metrics {
    /// The snapshot as a page of the text format of Prometheus, version 0.0.4
    /// (`text/plain; version=0.0.4`).
    ///
    /// There are at most 1,024 actors and 1,024 sessions; the others are in one series each, without
    /// a name.
    pub fn to_prometheus(&self) -> String {
        let mut page = Page(String::new());
        page.families(NODE, &[(Vec::new(), self)]);
        self.put_actors(&mut page);
        self.put_sessions(&mut page);
        page.families(EVICTED, &[(Vec::new(), self)]);
        page.families(ACCEPTOR, &[(Vec::new(), &self.acceptor)]);
        page.reasons(&REFUSED, "reason", self.acceptor.refused.iter());
        page.families(SP_CLIENTS, &[(Vec::new(), &self.sp_clients)]);
        page.reasons(&LOST_TELLS, "loss", losses(&self.lost_tells).iter().map(|(k, v)| (k, v)));
        page.0
    }

    fn put_actors(&self, page: &mut Page) {
        let labels = |actor: &'_ ActorMetrics| {
            vec![("actor", actor.actor.clone()), ("kind", actor.kind.clone())]
        };
        let rows: Vec<_> = self.actors.iter().map(|actor| (labels(actor), actor)).collect();
        page.families(ACTOR, &rows);
        page.head(REJECTED.name, REJECTED.kind, REJECTED.help);
        for (labels, actor) in &rows {
            for (reason, calls) in &actor.rejected {
                let mut labels = borrowed(labels);
                labels.push(("reason", reason));
                page.sample(REJECTED.name, &labels, *calls as f64);
            }
        }
    }

    /// The sums of the sessions that have ended are one more series of each counter, so that the
    /// total of all series never falls.
    fn put_sessions(&self, page: &mut Page) {
        let rows: Vec<_> = self.sessions.iter().map(|one| (session_labels(one), one)).collect();
        page.families(SESSION, &rows);
        let ended = [("session", "ended"), ("peer", ""), ("name", ""), ("identity", "")];
        for (counter, help, value) in SessionStatistics::COUNTERS {
            let name = format!("wigwag_session_{counter}_total");
            page.head(&name, Kind::Counter, help);
            for (labels, session) in &rows {
                page.sample(&name, &borrowed(labels), value(&session.counters) as f64);
            }
            page.sample(&name, &ended, value(&self.ended.counters) as f64);
        }
        let ended = [("closed", self.ended.closed), ("lost", self.ended.lost)];
        page.reasons(&ENDED, "how", ended.iter().map(|(how, count)| (how, count)));
    }
}

/// A session has a number of its own, because several peers may have one address.
fn session_labels(session: &SessionMetrics) -> Vec<(&'static str, String)> {
    let number = match session.session {
        0 => "others".to_owned(),
        number => number.to_string(),
    };
    vec![
        ("session", number),
        ("peer", session.peer.clone()),
        ("name", session.name.clone().unwrap_or_default()),
        ("identity", session.identity.clone().unwrap_or_default()),
    ]
}

fn borrowed<'a>(labels: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    labels.iter().map(|(name, value)| (*name, &**value)).collect()
}

/// A page that is being written.
struct Page(String);

impl Page {
    /// Appends families, each with a sample of every row that has a value.
    fn families<R>(&mut self, families: &[Family<R>], rows: &[(Vec<(&'static str, String)>, &R)]) {
        for Family { name, kind, help, value } in families {
            self.head(name, *kind, help);
            for (labels, row) in rows {
                if let Some(value) = value(row) {
                    self.sample(name, &borrowed(labels), value);
                }
            }
        }
    }

    /// Appends a family whose samples differ in one label.
    fn reasons<'a>(
        &mut self,
        family: &Family<u64>,
        label: &str,
        counts: impl Iterator<Item = (&'a (impl AsRef<str> + 'a), &'a u64)>,
    ) {
        self.head(family.name, family.kind, family.help);
        for (reason, count) in counts {
            self.sample(family.name, &[(label, reason.as_ref())], *count as f64);
        }
    }

    fn head(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        };
        self.put(format_args!("# HELP {name} "));
        self.escaped(help, false);
        self.put(format_args!("\n# TYPE {name} {kind}\n"));
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            self.put(format_args!("{}{label}=\"", if at == 0 { '{' } else { ',' }));
            self.escaped(text, true);
            self.0.push('"');
        }
        let end = if labels.is_empty() { "" } else { "}" };
        self.put(format_args!("{end} {value}\n"));
    }

    /// Appends a text in which nothing ends the line, or the quoted label.
    fn escaped(&mut self, text: &str, is_quoted: bool) {
        for letter in text.chars() {
            match letter {
                '\\' => self.0.push_str("\\\\"),
                '\n' => self.0.push_str("\\n"),
                '"' if is_quoted => self.0.push_str("\\\""),
                letter => self.0.push(letter),
            }
        }
    }

    fn put(&mut self, text: impl Display) {
        // A `String` takes everything.
        let _ = write!(self.0, "{text}");
    }
}
