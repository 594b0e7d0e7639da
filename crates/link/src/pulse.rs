//! Signs of life: when one of ours is due, and when the peer has been silent for too long (section 7).
//!
//! Each side promises with PING how soon it will be heard again, and may be held to that. Beside
//! that, whoever has something unacknowledged or a PING unanswered is owed an answer. Two intervals
//! of grace stand on top of either, so a dead connection is noticed within three.

use core::time::Duration;

use wigwag_wire::Time;

use crate::limits::{
    HEARTBEAT_MAX, HEARTBEAT_MIN, IDLE_HEARTBEAT, IDLE_HEARTBEAT_AFTER, SILENCE_INTERVALS,
};

/// What a connection's time has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// Nothing is to be done.
    Quiet,
    /// A PING is to go out.
    Ping,
    /// The peer has been silent for too long.
    Dead,
}

/// The signs of life of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Pulse {
    /// After so much silence of ours the peer wants to hear something.
    interval: Duration,
    /// When the last byte came.
    heard: Time,
    /// When something went out last.
    said: Time,
    /// When a sequenced frame came or went last.
    worked: Time,
    /// How soon the peer is to be heard again, by its own word.
    allowed: Duration,
    /// Since when the peer owes us an answer.
    owed: Option<Time>,
    /// We have promised to be heard again within the long interval only.
    idle: bool,
    /// A PING is due and could not go out yet.
    waits: bool,
    pings: u64,
}

impl Pulse {
    /// The pulse of a connection on which both sides have announced their interval, in milliseconds;
    /// the longer counts.
    pub fn new(ours_ms: u64, theirs_ms: u64, now: Time) -> Pulse {
        let interval = Duration::from_millis(ours_ms.max(theirs_ms));
        let interval = interval.clamp(HEARTBEAT_MIN, HEARTBEAT_MAX);
        Pulse {
            interval,
            heard: now,
            said: now,
            worked: now,
            allowed: interval,
            owed: None,
            idle: false,
            waits: false,
            pings: 0,
        }
    }

    /// The same on a new connection.
    pub fn renewed(&self, now: Time) -> Pulse {
        let (interval, pings) = (self.interval, self.pings);
        Pulse { pings, interval, allowed: interval, ..Pulse::new(0, 0, now) }
    }

    /// Bytes came at `time`; to say so again changes nothing. `outstanding`: the peer has not
    /// acknowledged everything.
    pub fn heard(&mut self, time: Time, outstanding: bool) {
        if time > self.heard {
            self.heard = time;
            self.owed = outstanding.then_some(time);
        }
    }

    /// PING has come.
    pub fn promised(&mut self, next_ms: u64) {
        self.allowed = Duration::from_millis(next_ms).clamp(self.interval, HEARTBEAT_MAX);
    }

    /// Something has gone out. `asks`: the peer is to answer.
    pub fn said(&mut self, now: Time, asks: bool) {
        self.said = self.said.max(now);
        self.waits = false;
        if asks {
            self.owed.get_or_insert(now);
        }
    }

    /// Sequenced frames have come or gone.
    pub fn worked(&mut self, now: Time) {
        self.worked = self.worked.max(now);
        self.idle = false;
    }

    /// When [`tick`](Self::tick) is due.
    pub fn deadline(&self) -> Time {
        if self.waits { self.dead_due() } else { self.ping_due().min(self.dead_due()) }
    }

    fn ping_due(&self) -> Time {
        self.said + if self.idle { IDLE_HEARTBEAT } else { self.interval }
    }

    fn dead_due(&self) -> Time {
        let silent = self.heard + self.allowed + self.interval * (SILENCE_INTERVALS - 1);
        let owing = self.owed.map(|since| since + self.interval * SILENCE_INTERVALS);
        owing.map_or(silent, |owing| owing.min(silent))
    }

    /// Time has passed. `at_rest` says whether nothing is under way and nobody waits for an answer; it
    /// is asked only when that matters.
    pub fn tick(&mut self, now: Time, at_rest: impl FnOnce() -> bool) -> Beat {
        let due = self.dead_due();
        if now >= due {
            if now.since(due) < self.interval {
                return Beat::Dead;
            }
            // It is we who were away: stopped, or without a processor. What the peer has said
            // meanwhile lies before us unread.
            self.heard = now;
            self.owed = None;
        }
        if self.waits || now < self.ping_due() {
            return Beat::Quiet;
        }
        self.waits = true;
        self.idle = now.since(self.worked) >= IDLE_HEARTBEAT_AFTER && at_rest();
        Beat::Ping
    }

    /// The next PING: its number, and the milliseconds within which we will be heard again.
    pub fn ping(&mut self) -> (u64, u64) {
        self.pings += 1;
        let next = if self.idle { IDLE_HEARTBEAT } else { self.interval };
        (self.pings, next.as_millis() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::START + Duration::from_millis(ms)
    }

    fn pulse() -> Pulse {
        Pulse::new(1000, 700, at(0))
    }

    #[test]
    fn after_an_interval_of_silence_a_ping_is_due() {
        let mut pulse = pulse();
        assert_eq!(pulse.deadline(), at(1000));
        assert_eq!(pulse.tick(at(999), || false), Beat::Quiet);
        pulse.said(at(900), false);
        assert_eq!(pulse.tick(at(1899), || false), Beat::Quiet);
        assert_eq!(pulse.tick(at(1900), || false), Beat::Ping);
        assert_eq!(pulse.ping(), (1, 1000));
        pulse.said(at(1900), true);
        assert_eq!(pulse.deadline(), at(2900));
    }

    #[test]
    fn a_ping_that_cannot_go_out_is_not_wanted_again_and_again() {
        let mut pulse = pulse();
        assert_eq!(pulse.tick(at(1000), || false), Beat::Ping);
        assert_eq!(pulse.deadline(), at(3000), "there is no room to write");
        assert_eq!(pulse.tick(at(1500), || false), Beat::Quiet);
        pulse.said(at(1600), true);
        assert_eq!(pulse.deadline(), at(2600));
    }

    #[test]
    fn three_intervals_without_a_byte_are_the_end() {
        let mut pulse = pulse();
        pulse.heard(at(500), false);
        pulse.said(at(3400), false);
        assert_eq!(pulse.tick(at(3499), || false), Beat::Quiet);
        assert_eq!(pulse.tick(at(3500), || false), Beat::Dead);
    }

    #[test]
    fn who_promised_a_long_silence_is_given_it_but_not_when_it_owes_an_answer() {
        let mut pulse = pulse();
        pulse.heard(at(100), false);
        pulse.promised(15_000);
        for second in 1..17 {
            assert_eq!(pulse.tick(at(second * 1000), || false), Beat::Ping);
            pulse.said(at(second * 1000), false);
        }
        assert_eq!(pulse.tick(at(17_100), || false), Beat::Dead);
        pulse.heard(at(20_000), false);
        pulse.said(at(20_000), true);
        pulse.said(at(22_900), true);
        assert_eq!(pulse.tick(at(22_999), || false), Beat::Quiet);
        assert_eq!(pulse.tick(at(23_000), || false), Beat::Dead);
        pulse.promised(u64::MAX);
        assert!(pulse.dead_due() < at(100_000), "nobody is given a year");
    }

    #[test]
    fn an_answer_that_leaves_something_open_counts_from_then_on() {
        let mut pulse = pulse();
        pulse.promised(15_000);
        pulse.said(at(0), true);
        pulse.heard(at(2000), true);
        assert_eq!(pulse.dead_due(), at(5000));
        pulse.heard(at(2100), false);
        assert_eq!(pulse.dead_due(), at(19_100));
        pulse.said(at(9000), true);
        pulse.heard(at(2100), true);
        assert_eq!(pulse.dead_due(), at(12_000), "it was known before");
    }

    #[test]
    fn at_rest_it_beats_slowly_until_there_is_work() {
        let mut pulse = pulse();
        let mut now = 0;
        while !pulse.idle {
            now += 1000;
            pulse.heard(at(now), false);
            assert_eq!(pulse.tick(at(now), || true), Beat::Ping);
            pulse.said(at(now), false);
        }
        assert_eq!((now, pulse.ping().1), (10_000, 15_000));
        assert_eq!(pulse.ping_due(), at(25_000));
        pulse.worked(at(12_000));
        pulse.said(at(12_000), true);
        assert_eq!(pulse.ping_due(), at(13_000));
    }

    #[test]
    fn who_was_away_himself_accuses_nobody() {
        let mut pulse = pulse();
        pulse.said(at(0), true);
        assert_eq!(pulse.tick(at(60_000), || false), Beat::Ping);
        assert_eq!(pulse.dead_due(), at(63_000));
    }
}
