//! Tells that the peer has not understood: how their sender learns of them.
//!
//! The peer reports counts. Their increase becomes a session event and a dead letter, and
//! one line in the log, which is limited to one a second for each session.

use std::sync::Arc;
use std::time::Duration;

use wigwag_actor::{CallErrorKind, Schema, letters};
use wigwag_link::dispatch::application::Rejected;
use wigwag_net::clock;
use wigwag_wire::{Time, peer_text};

use super::Session;
use crate::events::SessionChange;

/// The pause between two lines in the log.
const LOG_PAUSE: Duration = Duration::from_secs(1);

/// The names of the methods of a peer's actor.
#[derive(Debug, Default)]
pub(crate) enum MethodNames {
    /// None were asked for yet.
    #[default]
    Unknown,
    /// The peer's actor has our own schema.
    Same(&'static Schema),
    /// The peer has described its actor.
    Described(Vec<String>),
}

impl MethodNames {
    /// The name of a method, by the peer's number.
    fn name(&self, method: u64) -> &str {
        let number = u32::try_from(method).unwrap_or(u32::MAX);
        match self {
            MethodNames::Unknown => "?",
            MethodNames::Same(schema) => schema.method_name(number),
            MethodNames::Described(names) => {
                let at = (method as usize).checked_sub(1);
                at.and_then(|at| names.get(at)).map_or("?", String::as_str)
            }
        }
    }
}

/// When the log may have its next line about rejected tells, and how many it has left out.
#[derive(Debug, Default)]
pub(crate) struct RejectionLog {
    next: Option<Time>,
    left_out: u64,
}

impl RejectionLog {
    /// Counts `tells` for the log. Returns how many tells the line is about that is due now.
    fn is_due(&mut self, tells: u64, now: Time) -> Option<u64> {
        self.left_out += tells;
        if self.next.is_some_and(|next| now < next) {
            return None;
        }
        self.next = Some(now + LOG_PAUSE);
        Some(std::mem::take(&mut self.left_out))
    }
}

impl Session {
    /// Handles REJECTED: announces what is new.
    #[cold]
    pub(crate) fn tells_rejected(&self, channel: u64, report: &Rejected<'_>) {
        let mut guard = self.sending();
        let sending = &mut *guard;
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        let Some(open) = sending.channels.get_mut(at) else { return };
        let tells = open.tally.rejected(report.method, report.tells);
        if tells == 0 {
            return;
        }
        let method: Arc<str> = open.names.name(report.method).into();
        let target = open.target.clone();
        sending.statistics.tells_rejected += tells;
        let log = sending.rejection_log.is_due(tells, clock::now());
        drop(guard);
        let reason = CallErrorKind::from_code(report.code.0);
        let detail: Arc<str> = peer_text::line(report.text).into();
        if let Some(in_total) = log {
            tracing::warn!(
                actor = &*target,
                method = &*method,
                tells = in_total,
                "the peer has rejected tells: {reason}: {detail}"
            );
        }
        letters::lost_elsewhere(&target, &method, tells);
        self.announce(SessionChange::Rejected { target, method, tells, reason, detail });
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_log_has_one_line_a_second_with_the_tells_that_were_left_out() {
        let mut log = RejectionLog::default();
        let at = |millis| Time::START + Duration::from_millis(millis);
        assert_eq!(log.is_due(2, at(0)), Some(2));
        for millis in 1..1000 {
            assert_eq!(log.is_due(3, at(millis)), None);
        }
        assert_eq!(log.is_due(1, at(1000)), Some(3 * 999 + 1));
    }

    #[test]
    fn methods_are_named_by_the_numbers_of_the_peer() {
        let described = MethodNames::Described(vec!["add".into(), "get".into()]);
        assert_eq!(
            [0, 1, 2, 3, u64::MAX].map(|method| described.name(method)),
            ["?", "add", "get", "?", "?"]
        );
    }
}
