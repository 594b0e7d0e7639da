//! Heartbeats: when to send PING, and when a silent peer counts as dead (section 7).
//!
//! Each side promises with PING how soon it will send again, and is held to that. In addition, a
//! side owes an answer to a PING and to unacknowledged frames. Two intervals of grace are added to
//! either deadline, so a dead connection is detected within three intervals.

use core::time::Duration;

use wigwag_wire::Time;

use crate::limits::{
    HEARTBEAT_MAX, HEARTBEAT_MIN, IDLE_HEARTBEAT, IDLE_HEARTBEAT_AFTER, SILENCE_INTERVALS,
};

/// The action that [`Heartbeat::tick`] asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeartbeatEvent {
    /// Nothing.
    Nothing,
    /// A PING must be sent.
    SendPing,
    /// The peer has been silent for too long.
    PeerSilent,
}

/// The heartbeat state of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Heartbeat {
    /// The longest silence that the peer accepts from this side.
    interval: Duration,
    /// When the last byte arrived.
    last_received: Time,
    /// When this side last sent something.
    last_sent: Time,
    /// When a sequenced frame was last sent or received.
    last_active: Time,
    /// How long the peer may be silent, by its own promise.
    allowed_silence: Duration,
    /// Since when the peer owes an answer.
    owed_since: Option<Time>,
    /// The last PING promised only the long interval.
    idle: bool,
    /// A PING is due and could not be written yet.
    ping_pending: bool,
    pings_sent: u64,
}

impl Heartbeat {
    /// Creates the heartbeat of a connection from the intervals that both sides have announced, in
    /// milliseconds; the longer one counts.
    pub fn new(ours_ms: u64, theirs_ms: u64, now: Time) -> Heartbeat {
        let interval = Duration::from_millis(ours_ms.max(theirs_ms));
        let interval = interval.clamp(HEARTBEAT_MIN, HEARTBEAT_MAX);
        Heartbeat {
            interval,
            last_received: now,
            last_sent: now,
            last_active: now,
            allowed_silence: interval,
            owed_since: None,
            idle: false,
            ping_pending: false,
            pings_sent: 0,
        }
    }

    /// The heartbeat of the session's next connection, which starts over.
    pub fn for_new_connection(&self, now: Time) -> Heartbeat {
        let (interval, pings_sent) = (self.interval, self.pings_sent);
        Heartbeat { pings_sent, interval, allowed_silence: interval, ..Heartbeat::new(0, 0, now) }
    }

    /// Bytes arrived at `time`; repeated calls for the same time change nothing. `outstanding`: the
    /// peer has not acknowledged everything.
    pub fn bytes_received(&mut self, time: Time, outstanding: bool) {
        if time > self.last_received {
            self.last_received = time;
            self.owed_since = outstanding.then_some(time);
        }
    }

    /// Handles PING: the peer will send again within `next_ms`.
    pub fn ping_received(&mut self, next_ms: u64) {
        self.allowed_silence = Duration::from_millis(next_ms).clamp(self.interval, HEARTBEAT_MAX);
    }

    /// Something was written. `asks`: the peer owes an answer to it.
    pub fn sent(&mut self, now: Time, asks: bool) {
        self.last_sent = self.last_sent.max(now);
        self.ping_pending = false;
        if asks {
            self.owed_since.get_or_insert(now);
        }
    }

    /// Sequenced frames were sent or received.
    pub fn active(&mut self, now: Time) {
        self.last_active = self.last_active.max(now);
        self.idle = false;
    }

    /// When [`tick`](Self::tick) is due.
    pub fn deadline(&self) -> Time {
        if self.ping_pending { self.dead_due() } else { self.ping_due().min(self.dead_due()) }
    }

    fn ping_due(&self) -> Time {
        self.last_sent + if self.idle { IDLE_HEARTBEAT } else { self.interval }
    }

    fn dead_due(&self) -> Time {
        let silent =
            self.last_received + self.allowed_silence + self.interval * (SILENCE_INTERVALS - 1);
        let owing = self.owed_since.map(|since| since + self.interval * SILENCE_INTERVALS);
        owing.map_or(silent, |owing| owing.min(silent))
    }

    /// Advances the time. `at_rest` says whether nothing is in flight and no call waits for an
    /// answer; it is called only when that matters.
    pub fn tick(&mut self, now: Time, at_rest: impl FnOnce() -> bool) -> HeartbeatEvent {
        let due = self.dead_due();
        if now >= due {
            if now.since(due) < self.interval {
                return HeartbeatEvent::PeerSilent;
            }
            // This process was late itself: stopped, or without a processor. Bytes that the peer
            // has sent meanwhile are still unread.
            self.last_received = now;
            self.owed_since = None;
        }
        if self.ping_pending || now < self.ping_due() {
            return HeartbeatEvent::Nothing;
        }
        self.ping_pending = true;
        self.idle = now.since(self.last_active) >= IDLE_HEARTBEAT_AFTER && at_rest();
        HeartbeatEvent::SendPing
    }

    /// The number for the next PING, and the milliseconds within which this side promises to send
    /// again.
    pub fn next_ping(&mut self) -> (u64, u64) {
        self.pings_sent += 1;
        let next = if self.idle { IDLE_HEARTBEAT } else { self.interval };
        (self.pings_sent, next.as_millis() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::START + Duration::from_millis(ms)
    }

    fn heartbeat() -> Heartbeat {
        Heartbeat::new(1000, 700, at(0))
    }

    #[test]
    fn after_an_interval_of_silence_a_ping_is_due() {
        let mut heartbeat = heartbeat();
        assert_eq!(heartbeat.deadline(), at(1000));
        assert_eq!(heartbeat.tick(at(999), || false), HeartbeatEvent::Nothing);
        heartbeat.sent(at(900), false);
        assert_eq!(heartbeat.tick(at(1899), || false), HeartbeatEvent::Nothing);
        assert_eq!(heartbeat.tick(at(1900), || false), HeartbeatEvent::SendPing);
        assert_eq!(heartbeat.next_ping(), (1, 1000));
        heartbeat.sent(at(1900), true);
        assert_eq!(heartbeat.deadline(), at(2900));
    }

    #[test]
    fn a_ping_that_cannot_be_written_is_requested_once() {
        let mut heartbeat = heartbeat();
        assert_eq!(heartbeat.tick(at(1000), || false), HeartbeatEvent::SendPing);
        assert_eq!(heartbeat.deadline(), at(3000), "the PING cannot be written");
        assert_eq!(heartbeat.tick(at(1500), || false), HeartbeatEvent::Nothing);
        heartbeat.sent(at(1600), true);
        assert_eq!(heartbeat.deadline(), at(2600));
    }

    #[test]
    fn three_intervals_without_a_byte_end_the_connection() {
        let mut heartbeat = heartbeat();
        heartbeat.bytes_received(at(500), false);
        heartbeat.sent(at(3400), false);
        assert_eq!(heartbeat.tick(at(3499), || false), HeartbeatEvent::Nothing);
        assert_eq!(heartbeat.tick(at(3500), || false), HeartbeatEvent::PeerSilent);
    }

    #[test]
    fn a_peer_may_be_silent_as_long_as_it_promised_unless_it_owes_an_answer() {
        let mut heartbeat = heartbeat();
        heartbeat.bytes_received(at(100), false);
        heartbeat.ping_received(15_000);
        for second in 1..17 {
            assert_eq!(heartbeat.tick(at(second * 1000), || false), HeartbeatEvent::SendPing);
            heartbeat.sent(at(second * 1000), false);
        }
        assert_eq!(heartbeat.tick(at(17_100), || false), HeartbeatEvent::PeerSilent);
        heartbeat.bytes_received(at(20_000), false);
        heartbeat.sent(at(20_000), true);
        heartbeat.sent(at(22_900), true);
        assert_eq!(heartbeat.tick(at(22_999), || false), HeartbeatEvent::Nothing);
        assert_eq!(heartbeat.tick(at(23_000), || false), HeartbeatEvent::PeerSilent);
        heartbeat.bytes_received(at(24_000), false);
        heartbeat.ping_received(u64::MAX);
        assert_eq!(heartbeat.dead_due(), at(24_000 + 60_000 + 2000), "the promise is bounded");
    }

    #[test]
    fn a_partial_ack_restarts_the_deadline_for_the_rest() {
        let mut heartbeat = heartbeat();
        heartbeat.ping_received(15_000);
        heartbeat.sent(at(0), true);
        heartbeat.bytes_received(at(2000), true);
        assert_eq!(heartbeat.dead_due(), at(5000));
        heartbeat.bytes_received(at(2100), false);
        assert_eq!(heartbeat.dead_due(), at(19_100));
        heartbeat.sent(at(9000), true);
        heartbeat.bytes_received(at(2100), true);
        assert_eq!(heartbeat.dead_due(), at(12_000), "the time was reported before");
    }

    #[test]
    fn an_idle_session_sends_heartbeats_slowly_until_there_is_work() {
        let mut heartbeat = heartbeat();
        let mut now = 0;
        while !heartbeat.idle {
            now += 1000;
            heartbeat.bytes_received(at(now), false);
            assert_eq!(heartbeat.tick(at(now), || true), HeartbeatEvent::SendPing);
            heartbeat.sent(at(now), false);
        }
        assert_eq!((now, heartbeat.next_ping().1), (10_000, 15_000));
        assert_eq!(heartbeat.ping_due(), at(25_000));
        heartbeat.active(at(12_000));
        heartbeat.sent(at(12_000), true);
        assert_eq!(heartbeat.ping_due(), at(13_000));
    }

    #[test]
    fn a_process_that_was_stopped_does_not_declare_its_peer_dead() {
        let mut heartbeat = heartbeat();
        heartbeat.sent(at(0), true);
        assert_eq!(heartbeat.tick(at(60_000), || false), HeartbeatEvent::SendPing);
        assert_eq!(heartbeat.dead_due(), at(63_000));
    }
}
