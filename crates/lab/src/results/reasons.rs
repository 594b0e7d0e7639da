//! Reasons of a row: whether they say something against its participant.

use crate::results::{Row, Verdict};

/// How reasons begin that say nothing against the participant: the machine was not quiet, the lab's
/// own side was the limit.
pub const INNOCENT: [&str; 4] =
    ["no quiet window", "at least this", "the wire was not counted", "generator-bound"];

/// Whether the reasons contain a fault of the participant.
pub fn is_found_out(row: &Row) -> bool {
    match row.verdict {
        Verdict::Void => true,
        Verdict::Flagged => is_against(&row.reasons),
        Verdict::Valid | Verdict::NotInstalled | Verdict::Absent => false,
    }
}

/// Whether a participant that must be found out got a number and nothing said against it. This is
/// what the command, the tables and the page go by.
pub fn has_escaped(row: &Row) -> bool {
    row.known_bad && row.verdict != Verdict::NotInstalled && !is_found_out(row)
}

/// Whether the lab's own side was the limit, so that a rate is a lower bound.
pub fn is_lower_bound(row: &Row) -> bool {
    let is_limit =
        |reason: &String| [INNOCENT[1], INNOCENT[3]].iter().any(|it| reason.starts_with(it));
    row.verdict == Verdict::Flagged && row.reasons.iter().any(is_limit)
}

/// Whether one of the reasons is a fault of the participant.
pub(crate) fn is_against(reasons: &[String]) -> bool {
    reasons.iter().any(|reason| !is_innocent(reason))
}

pub(crate) fn is_innocent(reason: &str) -> bool {
    INNOCENT.iter().any(|begin| reason.starts_with(begin))
}
