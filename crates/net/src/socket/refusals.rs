//! Finds peers that close the connection because a message is too long for them.
//!
//! SP has no word for it: a peer that reads a length beyond its limit closes the connection, and to
//! the sender that looks like any other end. So each pipe remembers the longest message that it was
//! given last, until the peer says anything, and a dialer or listener counts its connections in a
//! row that ended right after such a message. One may be chance; the second is reported. Nothing is
//! refused because of it: the length is only the probable reason. A req socket, which would send
//! its request again, ends it by itself (`sp/requests.rs`).

use std::collections::HashMap;

use wigwag_sp::limits::{REFUSAL_BYTES_MIN, REFUSAL_TIME, REFUSALS_MAX};
use wigwag_wire::Time;

use super::observe::{PipeEnd, Side};

/// The longest message that a pipe was given last, if it may be the reason for its end.
#[derive(Debug, Default)]
pub(super) struct LongestSent {
    longest: Option<(usize, Time)>,
    /// When the current write was begun.
    filled: Time,
}

impl LongestSent {
    /// Notes the longest message of a write that begins.
    pub(super) fn fill(&mut self, bytes: usize, now: Time) {
        self.filled = now;
        let forgotten = self
            .longest
            .is_none_or(|(longest, at)| bytes >= longest || now.since(at) > REFUSAL_TIME);
        if forgotten && bytes >= REFUSAL_BYTES_MIN {
            self.longest = Some((bytes, now));
        }
    }

    /// Notes that the peer has sent something, so that it reads and has refused nothing.
    pub(super) fn heard(&mut self) {
        self.longest = None;
    }

    /// Bytes of the message that may be the reason for an end now: it was given just before, or it
    /// is in the write that has not ended (`cut_off`).
    pub(super) fn suspect(&self, cut_off: bool, now: Time) -> Option<usize> {
        let (bytes, at) = self.longest?;
        let recent = now.since(at) <= REFUSAL_TIME || (cut_off && at == self.filled);
        recent.then_some(bytes)
    }
}

/// Connections in a row that ended in this way, for each dialer and listener that has any.
#[derive(Debug, Default)]
pub(super) struct Refusals(HashMap<u64, u32>);

impl Refusals {
    /// Notes the end of a pipe of `endpoint`; from the second in a row on, it is a refusal.
    ///
    /// A peer that dialled and leaves in good order after a message had the message, as a rule.
    pub(super) fn ended(
        &mut self,
        endpoint: u64,
        side: Side,
        end: &PipeEnd,
        suspect: Option<usize>,
    ) -> Option<PipeEnd> {
        let by_length = match end {
            PipeEnd::Lost(_) => true,
            PipeEnd::PeerClosed => side == Side::Dialled,
            _ => return None,
        };
        let Some(bytes) = suspect.filter(|_| by_length) else {
            self.0.remove(&endpoint);
            return None;
        };
        let times = self.0.entry(endpoint).or_default();
        *times = times.saturating_add(1);
        (*times >= REFUSALS_MAX).then_some(PipeEnd::Refused { bytes })
    }

    /// Forgets a dialer or listener that has ended.
    pub(super) fn forget(&mut self, endpoint: u64) {
        self.0.remove(&endpoint);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const LONG: usize = REFUSAL_BYTES_MIN;

    fn at(milliseconds: u64) -> Time {
        Time::START + Duration::from_millis(milliseconds)
    }

    /// A pipe that was given messages of these lengths at these milliseconds.
    fn given(messages: &[(usize, u64)]) -> LongestSent {
        let mut sent = LongestSent::default();
        for (bytes, milliseconds) in messages {
            sent.fill(*bytes, at(*milliseconds));
        }
        sent
    }

    #[test]
    fn the_longest_message_of_the_last_second_is_suspect_until_the_peer_says_something() {
        let mut sent = given(&[(2 * LONG, 0), (LONG, 500), (10, 900)]);
        assert_eq!(sent.suspect(false, at(1000)), Some(2 * LONG));
        assert_eq!(sent.suspect(false, at(1001)), None);
        sent.fill(LONG, at(1100));
        assert_eq!(sent.suspect(false, at(1200)), Some(LONG));
        sent.heard();
        assert_eq!(sent.suspect(false, at(1200)), None);
        assert_eq!(given(&[(LONG - 1, 0)]).suspect(true, at(0)), None);
    }

    #[test]
    fn a_message_in_a_write_that_has_not_ended_stays_suspect() {
        assert_eq!(given(&[(LONG, 0)]).suspect(true, at(9000)), Some(LONG));
        assert_eq!(given(&[(LONG, 0), (10, 5000)]).suspect(true, at(9000)), None);
    }

    #[test]
    fn the_second_end_in_a_row_is_a_refusal() {
        let mut refusals = Refusals::default();
        let lost = PipeEnd::Lost("reset".into());
        let mut ended = |end: &PipeEnd, side, suspect| refusals.ended(1, side, end, suspect);
        let long = Some(LONG);
        assert_eq!(ended(&lost, Side::Dialled, long), None);
        // The peer took everything in between, so one more end may be chance.
        assert_eq!(ended(&lost, Side::Dialled, None), None);
        assert_eq!(ended(&lost, Side::Dialled, long), None);
        // An end by this side says nothing.
        assert_eq!(ended(&PipeEnd::ClosedHere, Side::Dialled, long), None);
        let refused = Some(PipeEnd::Refused { bytes: LONG });
        assert_eq!(ended(&PipeEnd::PeerClosed, Side::Dialled, long), refused);
        assert_eq!(ended(&lost, Side::Accepted, long), refused);
        assert_eq!(ended(&PipeEnd::PeerClosed, Side::Accepted, long), None);
        assert_eq!(ended(&lost, Side::Accepted, long), None);
        refusals.forget(1);
        assert_eq!(refusals.ended(1, Side::Dialled, &lost, long), None);
    }
}
