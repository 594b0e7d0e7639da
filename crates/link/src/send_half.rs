//! The sending half of an open session, which combines the mechanisms.
//!
//! All senders share it; the [receiving half](crate::recv_half) reports to it once per batch.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use wigwag_wire::Time;

use crate::code::Code;
use crate::error::LinkError;
use crate::features;
use crate::flow_control::budget::{Budget, Pools};
use crate::flow_control::credit::{Grant, Windows};
use crate::flow_control::rtt::Rtt;
use crate::heartbeat::Heartbeat;
use crate::limits::{ACK_BYTES, ACK_DELAY_MS, Limits, PARTS_ACK_BYTES};
use crate::outbox::Outbox;
use crate::send_half::unread_answers::UnreadAnswers;

mod unread_answers;
mod outbound;
mod rejections;
mod grants;
mod streams;
mod output;

pub use outbound::CallRefused;
pub use output::Outgoing;
use rejections::Rejections;
use streams::ReadStreams;

/// The sending half of a session.
#[derive(Debug)]
pub struct SendHalf {
    /// Sequenced frames.
    pub outbox: Outbox,
    /// The peer's limits.
    peer: Limits,
    /// Channels that this side accepts.
    channels_max: u64,
    /// Windows of the channels that this side sends on, by channel number.
    windows: Windows,
    /// Channels of ours that DETACH was sent for, and those that the peer has ended.
    leaving: BTreeSet<u64>,
    gone: BTreeSet<u64>,
    /// Channels of ours whose DETACH waits behind a long call.
    detaching: BTreeSet<u64>,
    /// Channels of ours whose long calls have ended; see
    /// [`take_ended_long_calls`](Self::take_ended_long_calls).
    ended_longs: Vec<u64>,
    /// Bytes of the longest message that the peer accepts in parts; 0 if it knows no parts.
    long_max: u64,
    /// Grants of the channels that the peer sends on, by channel number.
    grants: Vec<Option<Grant>>,
    /// For each of the peer's numbers, which use of it was granted last, and the last limit that the
    /// peer was told of the use before.
    uses: Vec<Use>,
    next_use: u64,
    budget: Budget,
    /// Grants that have something to announce.
    due: BTreeSet<usize>,
    /// The peer may not have been told of all handled calls.
    handled_unannounced: bool,
    /// The peer reads OUTCOMES and REJECTED.
    reports_outcomes: bool,
    rejections: Rejections,
    streams: ReadStreams,
    /// Grants that wanted more than the budget had.
    waiting: BTreeSet<usize>,
    /// Channels to bounded actors that the peer has sent NEED for in the batch that is read.
    blocked: BTreeSet<usize>,
    /// Limits to ask for with NEED, by channel, with the cost of the next call.
    needs: Vec<(u64, u64, u64)>,
    pong: Option<u64>,
    ping: bool,
    heartbeat: Heartbeat,
    rtt: Rtt,
    close: Option<(Code, &'static str)>,
    closed: bool,
    ack: Ack,
    received: Received,
    attaches: UnreadAnswers,
    pipes: UnreadAnswers,
    revokes: UnreadAnswers,
}

/// Counters of the data received from the peer since the session began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Messages that were read to their end.
    pub batches: u64,
    /// Their bytes, PAIR1 headers included.
    pub bytes: u64,
    /// Sequenced frames that were accepted.
    pub frames: u64,
}

/// One of the peer's channel numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// The use of the number whose channel is open; 0 if none is.
    open: u64,
    /// The limit that the peer was told last of the use that has ended.
    last_limit: u64,
    /// The code with which calls fail that were sent in that use.
    code: Option<Code>,
}

#[derive(Debug, Default)]
struct Ack {
    /// The next ack to send.
    recv_next: u64,
    /// Bytes accepted since the last ack.
    bytes: usize,
    /// There are parts among them.
    has_parts: bool,
    /// When an ack must be sent alone; `None` if nothing was accepted since the last one.
    due: Option<Time>,
    now: bool,
}

impl SendHalf {
    /// Creates the sending half of a node that has announced `ours` and whose peer has announced
    /// `peer`; the session begins at `now`.
    pub fn new(ours: &Limits, peer: Limits, now: Time) -> SendHalf {
        SendHalf {
            outbox: Outbox::for_peer(&peer),
            peer,
            channels_max: ours.channels_max,
            windows: Windows::default(),
            leaving: BTreeSet::new(),
            gone: BTreeSet::new(),
            detaching: BTreeSet::new(),
            ended_longs: Vec::new(),
            long_max: 0,
            grants: Vec::new(),
            uses: Vec::new(),
            next_use: 1,
            budget: Budget::default().with_long_calls(ours.message_max),
            due: BTreeSet::new(),
            handled_unannounced: false,
            reports_outcomes: false,
            rejections: Rejections::default(),
            streams: ReadStreams::default(),
            waiting: BTreeSet::new(),
            blocked: BTreeSet::new(),
            needs: Vec::new(),
            pong: None,
            ping: false,
            heartbeat: Heartbeat::new(ours.heartbeat_ms, peer.heartbeat_ms, now),
            rtt: Rtt::default(),
            close: None,
            closed: false,
            ack: Ack::default(),
            received: Received::default(),
            attaches: UnreadAnswers::default(),
            pipes: UnreadAnswers::default(),
            revokes: UnreadAnswers::default(),
        }
    }

    /// Shares `pools` with other sessions: the growth of windows and the retained bytes are bounded
    /// over all of them.
    pub fn with_pools(mut self, pools: Arc<Pools>) -> SendHalf {
        self.outbox.set_pools(pools.clone());
        self.budget.set_pools(pools);
        self
    }

    /// Enables the features of the session, as returned by [`on`](features::on).
    pub fn with_features(self, features: u64) -> SendHalf {
        let has_parts = features & features::PARTS != 0;
        SendHalf {
            reports_outcomes: features & features::OUTCOMES != 0,
            long_max: if has_parts { self.peer.message_max } else { 0 },
            ..self
        }
    }

    /// The peer's limits.
    pub fn peer_limits(&self) -> &Limits {
        &self.peer
    }

    /// The batch that is read has parts of long messages, for whose ack the peer waits.
    pub fn has_parts(&mut self) {
        self.ack.has_parts = true;
    }

    /// A batch of `bytes` bytes was accepted up to `recv_next`.
    pub fn accepted(&mut self, recv_next: u64, bytes: usize, now: Time) {
        self.received.batches += 1;
        self.received.bytes += bytes as u64;
        if !self.blocked.is_empty() {
            self.fit_blocked_calls();
        }
        if recv_next == self.ack.recv_next {
            return;
        }
        self.ack.recv_next = recv_next;
        self.ack.bytes += bytes;
        let most = if self.ack.has_parts { PARTS_ACK_BYTES } else { ACK_BYTES };
        self.ack.now |= self.ack.bytes >= most;
        self.heartbeat.active(now);
        self.ack.due.get_or_insert(now + Duration::from_millis(ACK_DELAY_MS));
    }

    /// Returns the counters of received data.
    pub fn received(&self) -> Received {
        Received { frames: self.ack.recv_next, ..self.received }
    }

    /// Bytes have arrived at `now`.
    pub fn bytes_received(&mut self, now: Time) {
        self.heartbeat.bytes_received(now, self.outbox.unacked() > self.outbox.untaken_frames());
    }

    /// Handles PING; the PONG also carries the ack.
    pub fn ping_received(&mut self, id: u64, next_ms: u64) {
        self.pong = Some(id);
        self.heartbeat.ping_received(next_ms);
    }

    /// Handles PONG, which measures the RTT. Returns true if calls fit into the unacked window
    /// again that did not before.
    pub fn pong_received(&mut self, id: u64, now: Time) -> bool {
        self.rtt.pong_received(id, now);
        self.outbox.set_parts_room(self.rtt.unacked_parts_bytes());
        self.outbox.set_room(self.rtt.unacked_bytes())
    }

    /// Returns the round-trip time of the connection, once one was measured.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.shortest()
    }

    /// Continues on a new connection after a cut. The peer has accepted everything before
    /// `recv_next`; later frames are sent again, and so is the current state of what was sent
    /// without a number: credit limits and NEEDs. Returns true if calls fit into the unacked window
    /// again that did not before.
    ///
    /// # Errors
    ///
    /// Fails if `recv_next` is not possible, see [`Outbox::check_resume`].
    pub fn resume(&mut self, recv_next: u64, now: Time) -> Result<bool, LinkError> {
        let room = self.outbox.rewind(recv_next)?;
        // RESUME or RESUMED carried this side's ack.
        let accepted = self.ack.recv_next;
        self.ack = Ack { recv_next: accepted, ..Ack::default() };
        self.pong = None;
        self.ping = false;
        self.heartbeat = self.heartbeat.for_new_connection(now);
        // The new connection may take another route. Windows granted for the old one stay granted.
        self.rtt = Rtt::default();
        self.due.extend((0..self.grants.len()).filter(|at| self.grants[*at].is_some()));
        self.rejections.report_again();
        self.streams.announce_again();
        let wishes = self.windows.iter().filter_map(|(channel, window)| {
            let (wanted, units) = window.wanted_limit()?;
            Some((channel, wanted, units))
        });
        self.needs = wishes.collect();
        Ok(room)
    }

    /// Ends the session; CLOSE will be the last frame sent.
    pub fn close(&mut self, code: Code, rule: &'static str) {
        self.close.get_or_insert((code, rule));
    }

    /// Drops everything that was kept for sending or resending, because the session is over. Grants
    /// stay until their calls are handled.
    pub fn discard(&mut self) {
        self.outbox.discard();
        self.windows = Windows::default();
        self.due.clear();
        self.rejections = Rejections::default();
        self.waiting.clear();
        self.needs = Vec::new();
        self.closed = true;
    }

    /// Returns true if CLOSE was written and nothing may follow.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod long_tests;
