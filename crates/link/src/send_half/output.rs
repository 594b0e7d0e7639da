//! The output of a session: when a batch is due, and what it carries.
//!
//! Unsequenced frames are made for the batch that carries them, from the newest state. Sequenced
//! frames come out of the outbox, which keeps them until their ack.

use wigwag_wire::{Buffer, Time};

use super::{Ack, SendHalf};
use crate::error::LinkError;
use crate::frames::batch::BatchHeader;
use crate::frames::frame::Frame;
use crate::frames::write;
use crate::heartbeat::HeartbeatEvent;
use crate::limits::{BATCH_HEAD_BYTES_MAX, SEGMENT_BYTES};
use crate::outbox::SegmentBatch;

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

impl SendHalf {
    /// Returns true if a write would carry anything.
    pub fn has_output(&self) -> bool {
        !self.closed
            && (!self.outbox.is_idle()
                || self.ack.now
                || (!self.due.is_empty() && !self.outbox.is_overfull())
                || !self.needs.is_empty()
                || self.rejections.has_unreported()
                || self.streams.has_due()
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
            self.ack.now = true;
            self.ack.due = None;
        }
        // Units may have come back to the pools from another session.
        if !self.waiting.is_empty() {
            self.serve_waiting();
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
        self.end_long_messages();
        if self.outbox.lacks_parts_room() {
            self.rtt.request();
        }
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
        self.ack = Ack { recv_next: self.ack.recv_next, ..Ack::default() };
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
                grants.filter(|(_, grant)| grant.as_ref().is_some_and(|it| it.has_unannounced()));
            self.due.extend(unannounced.map(|(at, _)| at));
        }
    }

    /// Writes unsequenced frames while the head stays small; the rest go with the next batch.
    fn write_control(&mut self, head: &mut Buffer, now: Time) {
        const HEAD_BYTES_MAX: usize = 860;
        self.rejections.write(head);
        // More credit would bring more asks, whose answers would have to be retained too.
        let withheld = self.outbox.is_overfull();
        while head.len() < HEAD_BYTES_MAX && !withheld {
            let Some(at) = self.due.pop_first() else {
                break;
            };
            let Some(Some(grant)) = self.grants.get_mut(at) else {
                continue;
            };
            let (channel, (limit, handled)) = (at as u64, grant.announce());
            if self.reports_outcomes {
                let (tells, rejected) = grant.outcomes();
                write::any(head, &Frame::Outcomes { channel, tells, rejected });
            }
            write::any(head, &Frame::Credit { channel, limit, handled });
        }
        while head.len() < HEAD_BYTES_MAX {
            let Some((channel, limit_wanted, units)) = self.needs.pop() else {
                break;
            };
            let units = SendHalf::units_of_long(units);
            write::any(head, &Frame::Need { channel, limit_wanted, units });
        }
        self.streams.write(head, HEAD_BYTES_MAX);
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
