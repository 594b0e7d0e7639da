//! How far away the peer is, and how much may be under way because of that (sections 4 and 5).
//!
//! The RTT is the shortest time from a PING to its PONG. It is measured when something is stuck
//! that a longer reach might free, a few times a connection, and with every sign of life. What it
//! allows is a rate times a time, so a near peer is never given more than it can use.

use core::time::Duration;

use wigwag_wire::Time;

use crate::limits::{
    SCALED_BYTES_PER_MS, SCALED_UNACKED_BYTES_MAX, SCALED_UNITS_PER_MS, SCALED_WINDOW_UNITS_MAX,
    UNACKED_BYTES_MAX,
};

/// A peer within this time there and back is near.
const BASE_RTT_MAX: Duration = Duration::from_millis(1);

/// PINGs of a connection that are sent to measure: enough that one of them meets an idle peer.
const MEASUREMENTS_MAX: u32 = 8;

/// The distance of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rtt {
    /// The PING that is under way, and since when.
    in_flight: Option<(u64, Time)>,
    shortest: Option<Duration>,
    /// A PING is to go out.
    ping_wanted: bool,
    measurements: u32,
}

impl Rtt {
    /// Something is stuck: it is worth a PING to know.
    pub fn request(&mut self) {
        if self.in_flight.is_none() && self.measurements < MEASUREMENTS_MAX {
            self.ping_wanted = true;
        }
    }

    /// No PONG has told it yet.
    pub fn is_unknown(&self) -> bool {
        self.shortest.is_none()
    }

    /// True when a PING is to go out.
    pub fn wants_ping(&self) -> bool {
        self.ping_wanted
    }

    /// The PING of this number goes out, for whatever reason.
    pub fn ping_sent(&mut self, id: u64, now: Time) {
        self.measurements = self.measurements.saturating_add(u32::from(self.ping_wanted));
        self.ping_wanted = false;
        self.in_flight = Some((id, now));
    }

    /// A PONG has come; one to another PING than the last says nothing.
    pub fn pong_received(&mut self, id: u64, now: Time) {
        if let Some((_, since)) = self.in_flight.take_if(|(asked, _)| *asked == id) {
            let rtt_sample = now.since(since);
            self.shortest =
                Some(self.shortest.map_or(rtt_sample, |shortest| shortest.min(rtt_sample)));
        }
    }

    /// What is under way over this distance at so much a millisecond.
    fn bandwidth_delay(&self, per_ms: u64) -> u64 {
        let rtt_sample = self.shortest.unwrap_or_default();
        u64::try_from(rtt_sample.as_micros()).unwrap_or(u64::MAX).saturating_mul(per_ms) / 1000
    }

    /// The largest window of a channel that this distance asks for; nothing when the largest of near
    /// by is enough.
    pub fn window_units(&self) -> u64 {
        match self.shortest {
            Some(rtt_sample) if rtt_sample > BASE_RTT_MAX => {
                self.bandwidth_delay(SCALED_UNITS_PER_MS).min(SCALED_WINDOW_UNITS_MAX)
            }
            _ => 0,
        }
    }

    /// What a sender may keep unacknowledged over this RTT.
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
    fn a_near_peer_has_the_small_windows_and_a_far_one_what_its_distance_asks_for() {
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
        assert_eq!(Rtt::default().window_units(), 0, "nobody knows");
    }

    #[test]
    fn the_shortest_time_counts_and_only_the_last_ping() {
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
    fn it_is_measured_when_it_is_wanted_but_not_without_end() {
        let mut rtt = Rtt::default();
        for id in 0..20 {
            rtt.request();
            assert_eq!(rtt.wants_ping(), id < u64::from(MEASUREMENTS_MAX));
            if rtt.wants_ping() {
                rtt.ping_sent(id, at(id));
                rtt.request();
                assert!(!rtt.wants_ping(), "one is under way");
                rtt.pong_received(id, at(id + 1));
            }
        }
    }
}
