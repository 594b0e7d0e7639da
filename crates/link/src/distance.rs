//! How far away the peer is, and how much may be under way because of that (sections 4 and 5).
//!
//! Distance is the shortest time from a PING to its PONG. It is measured when something is stuck
//! that a longer reach might free, a few times a connection, and with every sign of life. What it
//! allows is a rate times a time, so a near peer is never given more than it can use.

use core::time::Duration;

use wigwag_wire::Time;

use crate::limits::{
    FAR_BYTES_PER_MS, FAR_UNITS_PER_MS, UNACKED_BYTES_FAR_MAX, UNACKED_BYTES_MAX,
    WINDOW_UNITS_FAR_MAX,
};

/// A peer within this time there and back is near.
const NEAR: Duration = Duration::from_millis(1);

/// PINGs of a connection that are sent to measure: enough that one of them meets an idle peer.
const MEASURES_MAX: u32 = 8;

/// The distance of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Distance {
    /// The PING that is under way, and since when.
    under_way: Option<(u64, Time)>,
    shortest: Option<Duration>,
    /// A PING is to go out.
    is_wanted: bool,
    measures: u32,
}

impl Distance {
    /// Something is stuck: it is worth a PING to know.
    pub fn want(&mut self) {
        if self.under_way.is_none() && self.measures < MEASURES_MAX {
            self.is_wanted = true;
        }
    }

    /// No PONG has told it yet.
    pub fn is_unknown(&self) -> bool {
        self.shortest.is_none()
    }

    /// True when a PING is to go out.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// The PING of this number goes out, for whatever reason.
    pub fn pinged(&mut self, id: u64, now: Time) {
        self.measures = self.measures.saturating_add(u32::from(self.is_wanted));
        self.is_wanted = false;
        self.under_way = Some((id, now));
    }

    /// A PONG has come; one to another PING than the last says nothing.
    pub fn answered(&mut self, id: u64, now: Time) {
        if let Some((_, since)) = self.under_way.take_if(|(asked, _)| *asked == id) {
            let round = now.since(since);
            self.shortest = Some(self.shortest.map_or(round, |shortest| shortest.min(round)));
        }
    }

    /// What is under way over this distance at so much a millisecond.
    fn at(&self, per_ms: u64) -> u64 {
        let round = self.shortest.unwrap_or_default();
        u64::try_from(round.as_micros()).unwrap_or(u64::MAX).saturating_mul(per_ms) / 1000
    }

    /// The largest window of a channel that this distance asks for; nothing when the largest of near
    /// by is enough.
    pub fn window_units(&self) -> u64 {
        match self.shortest {
            Some(round) if round > NEAR => self.at(FAR_UNITS_PER_MS).min(WINDOW_UNITS_FAR_MAX),
            _ => 0,
        }
    }

    /// What a sender may keep unacknowledged over this distance.
    pub fn unacked_bytes(&self) -> usize {
        let bytes = usize::try_from(self.at(FAR_BYTES_PER_MS)).unwrap_or(usize::MAX);
        bytes.clamp(UNACKED_BYTES_MAX, UNACKED_BYTES_FAR_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::START + Duration::from_millis(ms)
    }

    fn measured(ms: u64) -> Distance {
        let mut distance = Distance::default();
        distance.pinged(1, at(0));
        distance.answered(1, at(ms));
        distance
    }

    #[test]
    fn a_near_peer_has_the_small_windows_and_a_far_one_what_its_distance_asks_for() {
        for (ms, units, bytes) in [
            (0, 0, UNACKED_BYTES_MAX),
            (1, 0, UNACKED_BYTES_MAX),
            (2, 2 * FAR_UNITS_PER_MS, UNACKED_BYTES_MAX),
            (5, 5 * FAR_UNITS_PER_MS, 10 << 20),
            (15, 15 * FAR_UNITS_PER_MS, 30 << 20),
            (1000, WINDOW_UNITS_FAR_MAX, UNACKED_BYTES_FAR_MAX),
        ] {
            let distance = measured(ms);
            assert_eq!((distance.window_units(), distance.unacked_bytes()), (units, bytes), "{ms}");
        }
        assert_eq!(Distance::default().window_units(), 0, "nobody knows");
    }

    #[test]
    fn the_shortest_time_counts_and_only_the_last_ping() {
        let mut distance = measured(30);
        distance.pinged(2, at(100));
        distance.pinged(3, at(110));
        distance.answered(2, at(111));
        distance.answered(3, at(120));
        distance.answered(3, at(120));
        assert_eq!(distance.shortest, Some(Duration::from_millis(10)));
        distance.pinged(4, at(200));
        distance.answered(4, at(290));
        assert_eq!(distance.shortest, Some(Duration::from_millis(10)));
    }

    #[test]
    fn it_is_measured_when_it_is_wanted_but_not_without_end() {
        let mut distance = Distance::default();
        for id in 0..20 {
            distance.want();
            assert_eq!(distance.is_wanted(), id < u64::from(MEASURES_MAX));
            if distance.is_wanted() {
                distance.pinged(id, at(id));
                distance.want();
                assert!(!distance.is_wanted(), "one is under way");
                distance.answered(id, at(id + 1));
            }
        }
    }
}
