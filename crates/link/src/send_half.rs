//! The sending half of an open session, which combines the mechanisms.
//!
//! All senders share it; the [receiving half](crate::recv_half) reports to it once per batch.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use wigwag_wire::{Buffer, Time};

use crate::batch::BatchHeader;
use crate::budget::{Budget, Pools};
use crate::code::Code;
use crate::credit::{Grant, Window};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::heartbeat::{Heartbeat, HeartbeatEvent};
use crate::limits::{
    ACK_BYTES, ACK_DELAY_MS, BATCH_HEAD_BYTES_MAX, Limits, REVOKES_PENDING_MAX, SEGMENT_BYTES,
    units,
};
use crate::outbox::{Outbox, SegmentBatch};
use crate::rtt::Rtt;
use crate::unread_answers::UnreadAnswers;
use crate::write;

/// Largest batch that this side sends, if the peer accepts it: two segments per write.
const BATCH_BYTES: usize = 2 * SEGMENT_BYTES;

/// An outgoing SP message: small bytes made for this write, and segments that are retained until
/// their ack.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Batch header and unsequenced frames.
    pub head: Buffer,
    /// Sequenced frames.
    pub sequenced: SegmentBatch,
}

impl Outgoing {
    /// Bytes of the whole batch.
    pub fn len(&self) -> usize {
        self.head.len() + self.sequenced.segments.iter().map(|segment| segment.len()).sum::<usize>()
    }

    /// Returns true if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty()
    }
}

/// Why a call was not appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallRefused {
    /// The unacked window is full: wait for an ack.
    NoRoom,
    /// The channel's window is too small: wait for credit, and send NEED.
    NoCredit {
        /// The cost of the call.
        units: u64,
    },
    /// The peer accepts no frame of this size.
    TooLarge {
        /// Bytes of the frame's body.
        body: usize,
    },
}

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
    windows: Vec<Option<Window>>,
    /// Channels of ours that DETACH was sent for, and those that the peer has ended.
    leaving: BTreeSet<u64>,
    gone: BTreeSet<u64>,
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
    /// Grants that wanted more than the budget had.
    waiting: BTreeSet<usize>,
    /// Limits to ask for with NEED, by channel.
    needs: Vec<(u64, u64)>,
    pong: Option<u64>,
    ping: bool,
    heartbeat: Heartbeat,
    rtt: Rtt,
    close: Option<(Code, &'static str)>,
    closed: bool,
    ack: Ack,
    received: Received,
    attaches: UnreadAnswers,
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
}

#[derive(Debug, Default)]
struct Ack {
    /// The next ack to send.
    recv_next: u64,
    /// The last ack that was sent.
    announced: u64,
    /// Bytes accepted since the last ack.
    bytes: usize,
    /// When an ack must be sent alone.
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
            windows: Vec::new(),
            leaving: BTreeSet::new(),
            gone: BTreeSet::new(),
            grants: Vec::new(),
            uses: Vec::new(),
            next_use: 1,
            budget: Budget::default(),
            due: BTreeSet::new(),
            handled_unannounced: false,
            waiting: BTreeSet::new(),
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
            revokes: UnreadAnswers::default(),
        }
    }

    /// Shares `pools` with other sessions: the growth of windows and the retained bytes are bounded
    /// over all of them.
    pub fn with_pools(mut self, pools: Arc<Pools>) -> SendHalf {
        self.outbox.set_pools(pools.clone());
        self.budget = Budget::with_pools(pools);
        self
    }

    /// The peer's limits.
    pub fn peer_limits(&self) -> &Limits {
        &self.peer
    }

    /// Returns the number for a new channel to the peer, or `None` if the peer accepts no more
    /// channels. The channel has no credit before [`attached`](Self::attached).
    pub fn open_channel(&mut self) -> Option<u64> {
        let free = self.windows.iter().position(Option::is_none);
        let number = free.unwrap_or(self.windows.len());
        if number as u64 >= self.peer.channels_max {
            return None;
        }
        if number == self.windows.len() {
            self.windows.push(None);
        }
        self.windows[number] = Some(Window::new(0));
        Some(number as u64)
    }

    /// Handles ATTACHED: the channel may use units up to `limit`.
    pub fn attached(&mut self, channel: u64, limit: u64) {
        if let Some(window) = self.window(channel) {
            window.raise(limit);
        }
    }

    /// Closes a channel; its number is free again.
    pub fn close_channel(&mut self, channel: u64) {
        if let Some(window) = usize::try_from(channel).ok().and_then(|at| self.windows.get_mut(at))
        {
            *window = None;
        }
        self.leaving.remove(&channel);
        self.gone.remove(&channel);
        // A NEED of the closed channel must not count for the next channel of that number.
        self.needs.retain(|(stuck, _)| *stuck != channel);
    }

    /// The last caller of a channel of ours is gone: sends DETACH, or frees the number at once when
    /// the peer has ended the channel. True when DETACH was sent.
    pub fn detach(&mut self, channel: u64) -> bool {
        if self.gone.contains(&channel) {
            self.close_channel(channel);
            return false;
        }
        if self.window(channel).is_none() || !self.leaving.insert(channel) {
            return false;
        }
        self.outbox.append(|out| write::any(out, &Frame::Detach { channel }));
        true
    }

    /// DETACHED has come. The number is free again if DETACH was sent; else not before
    /// [`detach`](Self::detach), or a caller that still holds it would reach another actor.
    pub fn detached(&mut self, channel: u64) {
        if self.leaving.contains(&channel) {
            self.close_channel(channel);
        } else if self.window(channel).is_some() {
            self.gone.insert(channel);
        }
    }

    /// REVOKE has come: takes the window back and answers. Gives the limit that is left; `None` if
    /// there is no such channel.
    ///
    /// # Errors
    /// The peer has sent more of them than it may without reading our answers.
    pub fn revoked(&mut self, channel: u64, wanted: u64) -> Result<Option<u64>, LinkError> {
        let Some(limit) = self.window(channel).map(|window| window.revoke(wanted)) else {
            return Ok(None);
        };
        self.answer_revoke()?;
        self.outbox.append(|out| write::any(out, &Frame::Revoked { channel, limit }));
        Ok(Some(limit))
    }

    /// The window of a channel that this side sends on.
    #[inline]
    pub fn window(&mut self, channel: u64) -> Option<&mut Window> {
        self.windows.get_mut(usize::try_from(channel).ok()?)?.as_mut()
    }

    /// Appends a call and pays for it from the channel's window. `encode` appends the frame and
    /// returns the length of its body.
    ///
    /// # Errors
    ///
    /// If the call cannot be sent, the bytes of `encode` are removed again.
    pub fn call(
        &mut self,
        channel: u64,
        encode: impl FnOnce(&mut Buffer) -> usize,
    ) -> Result<(), CallRefused> {
        self.call_if(channel, encode, |_| true)
    }

    /// Like [`call`](Self::call), but asks `may_pass`, which is given the cost of the call, whether
    /// no other sender is queued first.
    #[inline]
    pub fn call_if(
        &mut self,
        channel: u64,
        encode: impl FnOnce(&mut Buffer) -> usize,
        may_pass: impl FnOnce(u64) -> bool,
    ) -> Result<(), CallRefused> {
        if !self.outbox.has_room_for_calls() {
            self.rtt.request();
            return Err(CallRefused::NoRoom);
        }
        let window = usize::try_from(channel).ok().and_then(|at| self.windows.get_mut(at));
        let Some(Some(window)) = window else {
            return Err(CallRefused::NoRoom);
        };
        let frame_max = self.peer.frame_max;
        self.outbox.append_unless(|out| {
            let body = encode(out);
            if body as u64 > frame_max {
                return Err(CallRefused::TooLarge { body });
            }
            let units = units(body);
            if may_pass(units) && window.take(units) {
                Ok(())
            } else {
                Err(CallRefused::NoCredit { units })
            }
        })
    }

    /// Records that a sender which needs `units` on `channel` is blocked. Returns true if the peer
    /// must be told, so that the caller flushes.
    pub fn stuck(&mut self, channel: u64, units: u64) -> bool {
        let Some(wanted) = self.window(channel).and_then(|window| window.need(units)) else {
            return false;
        };
        self.needs.push((channel, wanted));
        true
    }

    /// Grants `units` to a channel that the peer opens, and returns its first limit.
    ///
    /// # Errors
    ///
    /// Fails if the channel's number is beyond the limit, or if the channel is open already.
    pub fn grant(&mut self, channel: u64, units: u64) -> Result<u64, LinkError> {
        if channel >= self.channels_max {
            let rule = "a channel's number is below channels_max";
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        }
        let at = channel as usize;
        if self.grants.len() <= at {
            self.grants.resize(at + 1, None);
            self.uses.resize(at + 1, Use::default());
        }
        if self.grants[at].is_some() {
            return Err(LinkError::protocol("ATTACH of a channel that is open"));
        }
        let grant = Grant::new(units, &mut self.budget);
        let limit = grant.announced();
        self.grants[at] = Some(grant);
        self.uses[at].open = self.next_use;
        self.next_use += 1;
        Ok(limit)
    }

    /// The grant of a channel that the peer sends on, to look at.
    pub fn grant_of(&self, channel: u64) -> Option<&Grant> {
        self.grants.get(usize::try_from(channel).ok()?)?.as_ref()
    }

    /// The use of the peer's channel number that is open; 0 if none is. Each use has a number of its
    /// own.
    pub fn use_of(&self, channel: u64) -> u64 {
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        self.uses.get(at).map_or(0, |number| number.open)
    }

    /// True while this use of the peer's channel number is open.
    pub fn is_current(&self, channel: u64, use_of: u64) -> bool {
        use_of != 0 && self.use_of(channel) == use_of
    }

    /// The limit that the peer was told last of a channel that has ended.
    pub fn last_limit(&self, channel: u64) -> u64 {
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        self.uses.get(at).map_or(0, |number| number.last_limit)
    }

    /// Ends a channel that the peer sends on and tells it so with DETACHED; `accepted` counts the calls
    /// that the actor was given, and is 0 if nobody counts. Gives the grant, which is
    /// to be [closed](Self::close_grant) when its last call is handled; `None` if the channel had
    /// ended before.
    pub fn end_channel(&mut self, channel: u64, code: Code, accepted: u64) -> Option<Grant> {
        let grant = self.take_grant(channel)?;
        let detached = Frame::Detached { channel, code, accepted };
        self.outbox.append(|out| write::any(out, &detached));
        Some(grant)
    }

    /// The grant of a channel that the peer sends on.
    pub fn granted(&mut self, channel: u64) -> Option<&mut Grant> {
        self.grants.get_mut(usize::try_from(channel).ok()?)?.as_mut()
    }

    /// Closes a channel of the peer that has no unhandled calls.
    pub fn withdraw(&mut self, channel: u64) {
        if let Some(grant) = self.take_grant(channel) {
            self.close_grant(grant);
        }
    }

    /// Takes the grant of a channel that the peer has closed. Its unhandled calls keep their places
    /// until [`close_grant`](Self::close_grant) returns them.
    pub fn take_grant(&mut self, channel: u64) -> Option<Grant> {
        let at = usize::try_from(channel).ok()?;
        let grant = self.grants.get_mut(at)?.take()?;
        self.due.remove(&at);
        self.waiting.remove(&at);
        self.uses[at] = Use { open: 0, last_limit: grant.announced() };
        Some(grant)
    }

    /// Returns the places of a closed channel whose last call was handled.
    pub fn close_grant(&mut self, grant: Grant) {
        grant.close(&mut self.budget);
        self.serve_waiting();
    }

    /// Counts the answer to an ATTACH, which is appended next.
    ///
    /// # Errors
    ///
    /// Fails if more than `most` such answers were not taken by a writer yet: the peer cannot have
    /// received them, so it has sent more than it may without waiting.
    pub fn answer_attach(&mut self, most: u64) -> Result<(), LinkError> {
        let rule = "no more ATTACHes are unanswered than attach_pending_max";
        self.attaches.add(&self.outbox, most, rule)
    }

    /// Counts the answer to a REVOKE, as [`answer_attach`](Self::answer_attach) does for ATTACH.
    pub fn answer_revoke(&mut self) -> Result<(), LinkError> {
        self.revokes.add(&self.outbox, REVOKES_PENDING_MAX, "at most 1024 REVOKEs are unanswered")
    }

    /// Retries the grants that got too little, because units have returned to the budget.
    fn serve_waiting(&mut self) {
        for at in core::mem::take(&mut self.waiting) {
            if let Some(Some(grant)) = self.grants.get_mut(at) {
                if grant.need(0, &mut self.budget) {
                    self.due.insert(at);
                }
                if grant.is_short() {
                    self.waiting.insert(at);
                }
            }
        }
    }

    /// The actor has taken `units` of the peer's channel out of its inbound queue. Returns true if
    /// the caller should flush.
    pub fn freed(&mut self, channel: u64, units: u64) -> bool {
        let grant = usize::try_from(channel).ok().and_then(|at| self.grants.get_mut(at));
        let Some(Some(grant)) = grant else {
            return false;
        };
        let mut due = grant.free(units);
        let mut measures = false;
        if grant.ran_dry() {
            let scaled = self.rtt.window_units();
            due |= scaled > 0 && grant.scale(scaled, &mut self.budget);
            if grant.is_base_exhausted() {
                self.rtt.request();
                measures = self.rtt.wants_ping();
            }
        }
        if due {
            self.due.insert(channel as usize);
        }
        due || measures
    }

    /// The handlers of `calls` calls on the peer's channel have ended. The peer is told with the
    /// next credit of the channel, or with the next batch that carries only an ack, a PING or a
    /// PONG.
    pub fn handled(&mut self, channel: u64, calls: u64) {
        if let Some(grant) = self.granted(channel) {
            grant.handled(calls);
            self.handled_unannounced = true;
        }
    }

    /// Handles NEED. Returns true if the caller should flush.
    pub fn need_received(&mut self, channel: u64, wanted: u64) -> bool {
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        let Some(Some(grant)) = self.grants.get_mut(at) else {
            return false;
        };
        if self.rtt.is_unknown() {
            self.rtt.request();
        }
        let due = grant.need(wanted, &mut self.budget);
        if due {
            self.due.insert(at);
        }
        if grant.is_short() {
            self.waiting.insert(at);
        }
        due
    }

    /// A batch of `bytes` bytes was accepted up to `recv_next`.
    pub fn accepted(&mut self, recv_next: u64, bytes: usize, now: Time) {
        self.received.batches += 1;
        self.received.bytes += bytes as u64;
        if recv_next == self.ack.recv_next {
            return;
        }
        self.ack.recv_next = recv_next;
        self.ack.bytes += bytes;
        self.ack.now |= self.ack.bytes >= ACK_BYTES;
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
        self.outbox.set_room(self.rtt.unacked_bytes())
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
        self.ack = Ack { recv_next: accepted, announced: accepted, ..Ack::default() };
        self.pong = None;
        self.ping = false;
        self.heartbeat = self.heartbeat.for_new_connection(now);
        // The new connection may take another route. Windows granted for the old one stay granted.
        self.rtt = Rtt::default();
        self.due.extend((0..self.grants.len()).filter(|at| self.grants[*at].is_some()));
        let wishes = self.windows.iter().enumerate().filter_map(|(channel, window)| {
            Some((channel as u64, window.as_ref()?.wanted_limit()?))
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
        self.windows = Vec::new();
        self.due.clear();
        self.waiting.clear();
        self.needs = Vec::new();
        self.closed = true;
    }

    /// Returns true if CLOSE was written and nothing may follow.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Returns true if a write would carry anything.
    pub fn has_output(&self) -> bool {
        !self.closed
            && (!self.outbox.is_idle()
                || self.ack.now
                || (!self.due.is_empty() && !self.outbox.is_overfull())
                || !self.needs.is_empty()
                || self.pong.is_some()
                || self.ping
                || self.rtt.wants_ping()
                || self.close.is_some())
    }

    /// When [`tick`](Self::tick) is due.
    pub fn deadline(&self) -> Option<Time> {
        let heartbeat = self.heartbeat.deadline();
        (!self.closed).then(|| self.ack.due.map_or(heartbeat, |due| due.min(heartbeat)))
    }

    /// Advances the time: sends a delayed ack alone, and heartbeats. `anybody_waits` says whether
    /// answers from the peer are outstanding.
    ///
    /// # Errors
    ///
    /// Fails with [`LinkError::Silent`] if the peer has been silent for too long.
    pub fn tick(
        &mut self,
        now: Time,
        anybody_waits: impl FnOnce() -> bool,
    ) -> Result<(), LinkError> {
        if self.ack.due.is_some_and(|due| due <= now) {
            self.ack.now = self.ack.announced != self.ack.recv_next;
            self.ack.due = None;
        }
        let settled = self.outbox.is_settled();
        match self.heartbeat.tick(now, || settled && !anybody_waits()) {
            HeartbeatEvent::Nothing => {}
            HeartbeatEvent::SendPing => self.ping = true,
            HeartbeatEvent::PeerSilent => return Err(LinkError::Silent),
        }
        Ok(())
    }

    /// Writes the next batch to `out`, which stays empty if there is nothing to send.
    pub fn take_output(&mut self, out: &mut Outgoing, now: Time) {
        out.head.clear();
        out.sequenced.segments.clear();
        if !self.has_output() {
            return;
        }
        let most = usize::try_from(self.peer.batch_max).unwrap_or(usize::MAX).min(BATCH_BYTES);
        // CLOSE is the last frame, but it is unsequenced and precedes the segments in its batch. So
        // it waits until the segments are gone.
        let closing = self.close.is_some() && self.outbox.is_idle();
        self.outbox.take(most.saturating_sub(BATCH_HEAD_BYTES_MAX), &mut out.sequenced);
        let header = BatchHeader {
            ack: self.ack.recv_next,
            first_seq: out.sequenced.first_seq,
            count: out.sequenced.frames,
        };
        header.encode(&mut out.head);
        if header.count > 0 {
            self.heartbeat.active(now);
        } else if self.due.is_empty() {
            // Not with every credit: under load, credit is sent all the time, for one of many
            // channels.
            self.announce_handled();
        }
        self.ping |= self.rtt.wants_ping();
        self.heartbeat.sent(now, header.count > 0 || self.ping);
        self.ack =
            Ack { recv_next: self.ack.recv_next, announced: self.ack.recv_next, ..Ack::default() };
        self.write_control(&mut out.head, now);
        if let (true, Some((code, rule))) = (closing, self.close) {
            let close = Frame::Close { code, rule: rule.as_bytes(), detail: &[] };
            write::any(&mut out.head, &close);
            self.closed = true;
        }
    }

    /// Announces the handled calls with a batch that would be small anyway.
    fn announce_handled(&mut self) {
        if core::mem::take(&mut self.handled_unannounced) {
            let grants = self.grants.iter().enumerate();
            let unannounced =
                grants.filter(|(_, grant)| grant.is_some_and(|it| it.has_unannounced()));
            self.due.extend(unannounced.map(|(at, _)| at));
        }
    }

    /// Writes unsequenced frames while the head stays small; the rest go with the next batch.
    fn write_control(&mut self, head: &mut Buffer, now: Time) {
        const HEAD_BYTES_MAX: usize = 900;
        // More credit would bring more asks, whose answers would have to be retained too.
        let withheld = self.outbox.is_overfull();
        while head.len() < HEAD_BYTES_MAX && !withheld {
            let Some(at) = self.due.pop_first() else {
                break;
            };
            let Some(Some(grant)) = self.grants.get_mut(at) else {
                continue;
            };
            let (limit, handled) = grant.announce();
            write::any(head, &Frame::Credit { channel: at as u64, limit, handled });
        }
        while head.len() < HEAD_BYTES_MAX {
            let Some((channel, limit_wanted)) = self.needs.pop() else {
                break;
            };
            write::any(head, &Frame::Need { channel, limit_wanted });
        }
        if let Some(id) = self.pong.take() {
            write::any(head, &Frame::Pong { id });
        }
        if core::mem::take(&mut self.ping) {
            let (id, next_ms) = self.heartbeat.next_ping();
            self.rtt.ping_sent(id, now);
            write::any(head, &Frame::Ping { id, next_ms });
        }
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod bounds_tests;
