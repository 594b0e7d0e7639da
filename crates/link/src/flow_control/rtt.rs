//! The round-trip time, and the amount of data in flight that it justifies (sections 4 and 5).
//!
//! The round-trip time (RTT) of a connection is its shortest time from a PING to its PONG. It is
//! measured with every heartbeat, and a few times per connection when a sender is blocked that a
//! larger window might free. The windows it allows are a rate multiplied by a time, so a peer with
//! a short RTT never gets more than it can use.

use core::time::Duration;

use wigwag_wire::Time;

use crate::limits::{
    PARTS_BYTES_PER_MS, SCALED_BYTES_PER_MS, SCALED_UNACKED_BYTES_MAX, SCALED_UNITS_PER_MS,
    SCALED_WINDOW_UNITS_MAX, UNACKED_BYTES_MAX, UNACKED_PARTS_MIN,
};

/// RTT up to which the base windows suffice.
const BASE_RTT_MAX: Duration = Duration::from_millis(1);

/// Samples of a connection from which on none is taken only to measure: enough that one of them
/// meets an idle peer.
const SAMPLES_ENOUGH: u32 = 8;

/// The RTT of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rtt {
    /// The unanswered PING, and when it was sent.
    in_flight: Option<(u64, Time)>,
    shortest: Option<Duration>,
    /// A PING must be sent.
    ping_wanted: bool,
    samples: u32,
}

impl Rtt {
    /// Requests a measurement, because a sender is blocked.
    pub fn request(&mut self) {
        if self.in_flight.is_none() && self.samples < SAMPLES_ENOUGH {
            self.ping_wanted = true;
        }
    }

    /// Returns the shortest round-trip time that was measured.
    pub fn shortest(&self) -> Option<Duration> {
        self.shortest
    }

    /// Returns true if no PONG has arrived yet.
    pub fn is_unknown(&self) -> bool {
        self.shortest.is_none()
    }

    /// Returns true if a PING must be sent to measure.
    pub fn wants_ping(&self) -> bool {
        self.ping_wanted
    }

    /// The PING with this number was sent, for whatever reason.
    pub fn ping_sent(&mut self, id: u64, now: Time) {
        self.ping_wanted = false;
        self.in_flight = Some((id, now));
    }

    /// Handles PONG; one that does not answer the last PING is ignored.
    pub fn pong_received(&mut self, id: u64, now: Time) {
        if let Some((_, since)) = self.in_flight.take_if(|(asked, _)| *asked == id) {
            let rtt_sample = now.since(since);
            self.samples = self.samples.saturating_add(1);
            self.shortest =
                Some(self.shortest.map_or(rtt_sample, |shortest| shortest.min(rtt_sample)));
        }
    }

    /// Amount in flight at `per_ms` for one RTT.
    fn bandwidth_delay(&self, per_ms: u64) -> u64 {
        let rtt_sample = self.shortest.unwrap_or_default();
        u64::try_from(rtt_sample.as_micros()).unwrap_or(u64::MAX).saturating_mul(per_ms) / 1000
    }

    /// The largest window of a channel that the RTT justifies; 0 if the largest base window
    /// suffices.
    pub fn window_units(&self) -> u64 {
        match self.shortest {
            Some(rtt_sample) if rtt_sample > BASE_RTT_MAX => {
                self.bandwidth_delay(SCALED_UNITS_PER_MS).min(SCALED_WINDOW_UNITS_MAX)
            }
            _ => 0,
        }
    }

    /// Bytes of parts of long messages that a sender may keep unacknowledged at this RTT beside
    /// other frames, which wait behind them.
    ///
    /// More than the minimum only after eight samples. A busy peer answers a few PINGs
    /// late on the shortest way, and behind the parts of a large window all later ones are late,
    /// so a window that was too large would never become smaller.
    pub fn unacked_parts_bytes(&self) -> usize {
        match self.shortest.filter(|_| self.samples >= SAMPLES_ENOUGH) {
            None => UNACKED_PARTS_MIN,
            Some(rtt_sample) if rtt_sample > BASE_RTT_MAX => self.unacked_bytes(),
            Some(_) => {
                let bytes = self.bandwidth_delay(PARTS_BYTES_PER_MS);
                usize::try_from(bytes).unwrap_or(usize::MAX).max(UNACKED_PARTS_MIN)
            }
        }
    }

    /// Bytes that a sender may keep unacknowledged at this RTT.
    pub fn unacked_bytes(&self) -> usize {
        let bytes =
            usize::try_from(self.bandwidth_delay(SCALED_BYTES_PER_MS)).unwrap_or(usize::MAX);
        bytes.clamp(UNACKED_BYTES_MAX, SCALED_UNACKED_BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::START + Duration::from_millis(ms)
    }

    fn measured(ms: u64) -> Rtt {
        let mut rtt = Rtt::default();
        rtt.ping_sent(1, at(0));
        rtt.pong_received(1, at(ms));
        rtt
    }

    #[test]
    fn windows_scale_with_the_rtt_above_a_millisecond() {
        for (ms, units, bytes) in [
            (0, 0, UNACKED_BYTES_MAX),
            (1, 0, UNACKED_BYTES_MAX),
            (2, 2 * SCALED_UNITS_PER_MS, UNACKED_BYTES_MAX),
            (5, 5 * SCALED_UNITS_PER_MS, 10 << 20),
            (15, 15 * SCALED_UNITS_PER_MS, 30 << 20),
            (1000, SCALED_WINDOW_UNITS_MAX, SCALED_UNACKED_BYTES_MAX),
        ] {
            let rtt = measured(ms);
            assert_eq!((rtt.window_units(), rtt.unacked_bytes()), (units, bytes), "{ms}");
        }
        assert_eq!(Rtt::default().window_units(), 0, "nothing was measured");
    }

    /// An RTT after one sample of each of these, in milliseconds.
    fn after(samples: &[u64]) -> Rtt {
        let mut rtt = Rtt::default();
        for (id, ms) in (1..).zip(samples) {
            rtt.ping_sent(id, at(1000 * id));
            rtt.pong_received(id, at(1000 * id + ms));
        }
        rtt
    }

    #[test]
    fn parts_beside_other_frames_have_a_small_window_on_a_short_way_only() {
        assert_eq!(Rtt::default().unacked_parts_bytes(), UNACKED_PARTS_MIN);
        for (ms, bytes) in [(0, UNACKED_PARTS_MIN), (1, 128 << 10), (5, 10 << 20)] {
            let rtt = after(&[ms; SAMPLES_ENOUGH as usize]);
            assert_eq!(rtt.unacked_parts_bytes(), bytes, "{ms}");
        }
    }

    /// A peer that was busy when the first PINGs came does not make the window large.
    #[test]
    fn a_few_late_answers_do_not_make_the_window_of_parts_large() {
        let late = [5; SAMPLES_ENOUGH as usize];
        for samples in 1..late.len() {
            let rtt = after(&late[..samples]);
            assert_eq!(rtt.unacked_parts_bytes(), UNACKED_PARTS_MIN, "{samples}");
        }
        for in_time in 0..late.len() {
            let mut samples = late;
            samples[in_time] = 0;
            assert_eq!(after(&samples).unacked_parts_bytes(), UNACKED_PARTS_MIN, "{in_time}");
        }
    }

    #[test]
    fn the_shortest_time_counts_and_only_for_the_last_ping() {
        let mut rtt = measured(30);
        rtt.ping_sent(2, at(100));
        rtt.ping_sent(3, at(110));
        rtt.pong_received(2, at(111));
        rtt.pong_received(3, at(120));
        rtt.pong_received(3, at(120));
        assert_eq!(rtt.shortest, Some(Duration::from_millis(10)));
        rtt.ping_sent(4, at(200));
        rtt.pong_received(4, at(290));
        assert_eq!(rtt.shortest, Some(Duration::from_millis(10)));
    }

    #[test]
    fn the_rtt_is_measured_on_request_a_limited_number_of_times() {
        let mut rtt = Rtt::default();
        for id in 0..20 {
            rtt.request();
            assert_eq!(rtt.wants_ping(), id < u64::from(SAMPLES_ENOUGH));
            if rtt.wants_ping() {
                rtt.ping_sent(id, at(id));
                rtt.request();
                assert!(!rtt.wants_ping(), "a PING is in flight");
                rtt.pong_received(id, at(id + 1));
            }
        }
    }
}
