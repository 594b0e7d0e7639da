//! Faults of answers: which rule, of which kind of request, how often, and the first case as it was
//! seen.

use serde_json::{Value, json};

/// The kind of a request, and how it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// One request in one write.
    Plain,
    /// Two requests in one write.
    Pair,
    /// A request that came in more than one packet.
    Pieces,
    /// A path that is not there.
    Unknown,
    /// By HTTP/1.0, on a connection of its own.
    Old,
    /// Again, when some seconds had passed.
    Later,
}

impl RequestKind {
    fn words(self) -> &'static str {
        match self {
            RequestKind::Plain => "(plain request)",
            RequestKind::Pair => "(pipelined pair)",
            RequestKind::Pieces => "(request in pieces)",
            RequestKind::Unknown => "(path that is not there)",
            RequestKind::Old => "(HTTP/1.0)",
            RequestKind::Later => "(some seconds later)",
        }
    }
}

/// A case that breaks a rule.
#[derive(Debug)]
pub(super) struct Violation {
    /// The fault in words that follow a count: `a status other than 200`.
    pub(super) what: &'static str,
    /// The received bytes, or the lack of them.
    pub(super) saw: String,
}

impl Violation {
    pub(super) fn new(what: &'static str, saw: impl Into<String>) -> Violation {
        Violation { what, saw: saw.into() }
    }
}

/// All cases, told apart by rule and kind; both are few, so this is bounded.
#[derive(Default)]
pub(super) struct FaultLog(Vec<(RequestKind, &'static str, String, u64)>);

impl FaultLog {
    /// Counts a fault; `saw` is called for the first one only.
    pub(super) fn note(
        &mut self,
        how: RequestKind,
        what: &'static str,
        saw: impl FnOnce() -> String,
    ) {
        match self.0.iter_mut().find(|(of, known, ..)| (*of, *known) == (how, what)) {
            Some((.., count)) => *count += 1,
            None => self.0.push((how, what, saw(), 1)),
        }
    }

    /// Counts a fault whose description exists already.
    pub(super) fn take(&mut self, how: RequestKind, wrong: Violation) {
        self.note(how, wrong.what, || wrong.saw);
    }

    /// Takes the faults that a check found by itself, as of the kind `how`.
    pub(super) fn take_as(&mut self, how: RequestKind, found: FaultLog) {
        for (_, what, saw, _) in found.0 {
            self.note(how, what, || saw);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn to_json(&self) -> Value {
        let one = |(how, what, saw, count): &(RequestKind, &str, String, u64)| json!({ "what": format!("{what} {}", how.words()), "saw": saw, "count": count });
        self.0.iter().map(one).collect()
    }
}

/// Foreign bytes as they fit into a reason.
pub(super) fn shown(bytes: &[u8]) -> String {
    const BYTES_MAX: usize = 60;
    let cut = &bytes[..bytes.len().min(BYTES_MAX)];
    let more = if cut.len() < bytes.len() { "…" } else { "" };
    format!("{:?}{more}", String::from_utf8_lossy(cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_fault_is_counted_and_its_first_case_kept() {
        let mut faults = FaultLog::default();
        assert!(faults.is_empty());
        for status in [503, 500] {
            faults.note(RequestKind::Plain, "a status other than 200", || status.to_string());
        }
        faults.take(RequestKind::Old, Violation::new("a status other than 200", "404"));
        assert_eq!(
            faults.to_json(),
            json!([
                { "what": "a status other than 200 (plain request)", "saw": "503", "count": 2 },
                { "what": "a status other than 200 (HTTP/1.0)", "saw": "404", "count": 1 },
            ])
        );
        assert_eq!(shown(b"a\r\n\xff"), "\"a\\r\\n\u{fffd}\"");
    }
}
