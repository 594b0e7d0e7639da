//! Finds peers that close the connection because a message is too long for them.
//!
//! SP has no word for it: a peer that reads a length beyond its limit closes the connection, and to
//! the sender that looks like any other end. So each pipe remembers the longest message that it was
//! given last, until the peer says anything, and a dialer or listener counts its connections in a
//! row that ended right after such a message. One may be chance; the second is reported. Nothing is
//! refused because of it: the length is only the probable reason. A req socket, which would send
//! its request again, ends it by itself (`sp/request_reply/requests.rs`).
//!
//! A socket that closes sees no second end, and a program that sends one message closes it at once.
//! So the first end is reported there if the peer certainly did not take all that was written: the
//! connection was reset, as this crate does to a message that is too long, or a write was cut off.

use std::collections::HashMap;
use std::sync::Arc;

use wigwag_sp::limits::{REFUSAL_BYTES_MIN, REFUSAL_TIME, REFUSALS_MAX};
use wigwag_wire::Time;

use crate::socket::observe::{PipeEnd, Side};

/// The longest message that a pipe was given last, if it may be the reason for its end.
#[derive(Debug, Default)]
pub(crate) struct LongestSent {
    longest: Option<(usize, Time)>,
    /// When the current write was begun.
    filled: Time,
}

impl LongestSent {
    /// Notes the longest message of a write that begins.
    pub(crate) fn fill(&mut self, bytes: usize, now: Time) {
        self.filled = now;
        let forgotten = self
            .longest
            .is_none_or(|(longest, at)| bytes >= longest || now.since(at) > REFUSAL_TIME);
        if forgotten && bytes >= REFUSAL_BYTES_MIN {
            self.longest = Some((bytes, now));
        }
    }

    /// Notes that the peer has sent something, so that it reads and has refused nothing.
    pub(crate) fn heard(&mut self) {
        self.longest = None;
    }

    /// Bytes of the message that may be the reason for an end now: it was given just before, or it
    /// is in the write that has not ended (`cut_off`).
    pub(crate) fn suspect(&self, cut_off: bool, now: Time) -> Option<usize> {
        let (bytes, at) = self.longest?;
        let recent = now.since(at) <= REFUSAL_TIME || (cut_off && at == self.filled);
        recent.then_some(bytes)
    }
}

/// How a pipe ended.
pub(crate) struct PipeEnding<'a> {
    pub(crate) peer: &'a Arc<str>,
    pub(crate) side: Side,
    pub(crate) end: &'a PipeEnd,
    /// From [`LongestSent::suspect`].
    pub(crate) suspect: Option<usize>,
    /// The peer did not take all that was written: a reset, or a write that was cut off.
    pub(crate) untaken: bool,
    pub(crate) now: Time,
}

/// Connections in a row that ended right after a long message.
#[derive(Debug, Default)]
struct Suspicion {
    times: u32,
    /// Peer, length and time of the last one, if it was not reported and left something untaken.
    unreported: Option<(Arc<str>, usize, Time)>,
}

/// The suspicion of each dialer and listener that has any.
#[derive(Debug, Default)]
pub(crate) struct Refusals(HashMap<u64, Suspicion>);

impl Refusals {
    /// Notes the end of a pipe of `endpoint`; from the second in a row on, it is a refusal.
    ///
    /// A peer that dialled and leaves in good order after a message had the message, as a rule.
    pub(crate) fn ended(&mut self, endpoint: u64, ending: &PipeEnding<'_>) -> Option<PipeEnd> {
        let by_length = match ending.end {
            PipeEnd::Lost(_) => true,
            PipeEnd::PeerClosed => ending.side == Side::Dialled,
            _ => return None,
        };
        let Some(bytes) = ending.suspect.filter(|_| by_length) else {
            self.0.remove(&endpoint);
            return None;
        };
        let suspicion = self.0.entry(endpoint).or_default();
        suspicion.times = suspicion.times.saturating_add(1);
        let reported = suspicion.times >= REFUSALS_MAX;
        let untaken = ending.untaken && !reported;
        suspicion.unreported = untaken.then(|| (ending.peer.clone(), bytes, ending.now));
        reported.then_some(PipeEnd::Refused { bytes })
    }

    /// Takes what no second end will confirm, because the socket closes: peers, and the refusals by
    /// them within [`REFUSAL_TIME`]. An older one was not about the last messages.
    pub(crate) fn unconfirmed(&mut self, now: Time) -> Vec<(Arc<str>, PipeEnd)> {
        let each = self.0.values_mut().filter_map(|suspicion| suspicion.unreported.take());
        each.filter(|(_, _, at)| now.since(*at) <= REFUSAL_TIME)
            .map(|(peer, bytes, _)| (peer, PipeEnd::Refused { bytes }))
            .collect()
    }

    /// Forgets a dialer or listener that has ended.
    pub(crate) fn forget(&mut self, endpoint: u64) {
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
        let peer = "tcp://a:1".into();
        let mut ended = |end: &PipeEnd, side, suspect| {
            let (peer, untaken, now) = (&peer, false, at(0));
            refusals.ended(1, &PipeEnding { peer, side, end, suspect, untaken, now })
        };
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
        assert_eq!(ended(&lost, Side::Dialled, None), None);
        assert_eq!(ended(&lost, Side::Dialled, long), None);
        refusals.forget(1);
        let (side, suspect, untaken, now) = (Side::Dialled, long, true, at(0));
        let ending = PipeEnding { peer: &peer, side, end: &lost, suspect, untaken, now };
        assert_eq!(refusals.ended(1, &ending), None);
    }

    #[test]
    fn a_socket_that_closes_reports_the_first_end_if_the_peer_left_something_untaken() {
        let (peer, lost) = ("tcp://a:1".into(), PipeEnd::Lost("reset".into()));
        let refused = || vec![(Arc::from("tcp://a:1"), PipeEnd::Refused { bytes: LONG })];
        for (untaken, ends, closed, reported) in [
            (true, 1, 1000, refused()),
            (true, 1, 1001, Vec::new()),
            (false, 1, 0, Vec::new()),
            // The second one was reported as it came.
            (true, 2, 0, Vec::new()),
        ] {
            let mut refusals = Refusals::default();
            let (side, suspect, now) = (Side::Dialled, Some(LONG), at(0));
            for _ in 0..ends {
                refusals
                    .ended(1, &PipeEnding { peer: &peer, side, end: &lost, suspect, untaken, now });
            }
            assert_eq!(refusals.unconfirmed(at(closed)), reported, "{untaken} {ends} {closed}");
            assert_eq!(refusals.unconfirmed(at(closed)), Vec::new(), "reported once");
        }
    }
}
