//! The channels that this side sends on: opened, paid for, and left.
//!
//! A call is appended only if the channel's window pays for it. A sender that finds too little is
//! refused, and tells the peer with NEED how much it wants.

use alloc::vec::Vec;

use wigwag_wire::Buffer;

use super::SendHalf;
use crate::error::LinkError;
use crate::flow_control::credit::Window;
use crate::frames::frame::Frame;
use crate::frames::write;
use crate::limits::{FRAME_UNITS, SCALED_UNACKED_BYTES_MAX, units};
use crate::outbox::long::{ANSWERS, EndedMessage, source_of};
use crate::outbox::{LongFrame, Published};

/// Why a call was not appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallRefused {
    /// The unacked window is full, or a long call of the channel is under way: wait for an ack.
    NoRoom,
    /// The channel's window is too small: wait for credit, and send NEED.
    NoCredit {
        /// The cost of the call.
        units: u64,
    },
    /// The peer accepts no call of this size.
    TooLarge {
        /// Bytes of the call.
        body: usize,
    },
}

/// Why a call was not appended as a frame.
enum Unfit {
    Refused(CallRefused),
    Long(LongFrame),
}

impl SendHalf {
    /// Returns the number for a new channel to the peer, or `None` if the peer accepts no more
    /// channels. The channel has no credit before [`attached`](Self::attached).
    pub fn open_channel(&mut self) -> Option<u64> {
        self.windows.open(self.peer.channels_max)
    }

    /// Channels to the peer that may be open at the same time.
    pub fn channels_max(&self) -> u64 {
        self.peer.channels_max
    }

    /// Handles ATTACHED: the channel may use units up to `limit`.
    pub fn attached(&mut self, channel: u64, limit: u64) {
        if let Some(window) = self.window(channel) {
            window.raise(limit);
        }
    }

    /// Closes a channel; its number is free again.
    pub fn close_channel(&mut self, channel: u64) {
        self.windows.close(channel);
        self.leaving.remove(&channel);
        self.gone.remove(&channel);
        // A NEED of the closed channel must not count for the next channel of that number.
        self.needs.retain(|(stuck, ..)| *stuck != channel);
        self.detaching.remove(&channel);
    }

    /// The last caller of a channel of ours is gone: sends DETACH. If the peer has ended the channel,
    /// the number is free at once, because no DETACHED comes; the peer lets go with DETACH what it
    /// keeps of the channel. True when DETACH was sent.
    pub fn detach(&mut self, channel: u64) -> bool {
        if self.outbox.has_long(source_of(channel)) {
            // The number must not be used again before the last part is sent.
            self.detaching.insert(channel);
            return false;
        }
        if self.gone.contains(&channel) {
            self.close_channel(channel);
        } else if self.window(channel).is_none() || !self.leaving.insert(channel) {
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
        self.windows.get(channel)
    }

    /// The longest call or answer that the peer accepts, in bytes of its body.
    pub fn message_max(&self) -> u64 {
        self.peer.frame_max.max(self.long_max)
    }

    /// Appends a call and pays for it from the channel's window. `encode` appends the frame and
    /// returns the length of its body. A call that is longer than a frame may be is sent in parts;
    /// until its last part is numbered, its channel takes no further calls.
    ///
    /// # Errors
    ///
    /// If the call cannot be sent, the bytes of `encode` are removed again.
    pub fn call(
        &mut self,
        channel: u64,
        encode: impl FnOnce(&mut Buffer) -> usize,
    ) -> Result<(), CallRefused> {
        self.call_if(channel, encode, |_| true).map(|_| ())
    }

    /// Like [`call`](Self::call), but asks `may_pass`, which is given the cost of the call, whether
    /// no other sender is queued first.
    #[inline]
    pub fn call_if(
        &mut self,
        channel: u64,
        encode: impl FnOnce(&mut Buffer) -> usize,
        mut may_pass: impl FnMut(u64) -> bool,
    ) -> Result<Published, CallRefused> {
        if !self.outbox.has_room_for_calls() {
            self.rtt.request();
            return Err(CallRefused::NoRoom);
        }
        if self.is_long_under_way(channel) {
            return Err(CallRefused::NoRoom);
        }
        let Some(window) = self.windows.get(channel) else {
            return Err(CallRefused::NoRoom);
        };
        let frame_max = self.peer.frame_max;
        let appended = self.outbox.append_unless(|out| {
            let at = out.len();
            let body = encode(out);
            if body as u64 > frame_max {
                return Err(Unfit::Long(LongFrame::take(out, at)));
            }
            let units = units(body);
            if may_pass(units) && window.take(units) {
                Ok(())
            } else {
                Err(Unfit::Refused(CallRefused::NoCredit { units }))
            }
        });
        match appended {
            Ok(()) => Ok(Published::Before(self.outbox.next_seq())),
            Err(Unfit::Refused(refused)) => Err(refused),
            Err(Unfit::Long(frame)) => self.long_call(channel, frame, may_pass),
        }
    }

    /// Like [`call_if`](Self::call_if), for a call that is longer than a frame may be and encoded
    /// already.
    ///
    /// # Errors
    ///
    /// As for [`call`](Self::call).
    #[cold]
    pub fn long_call(
        &mut self,
        channel: u64,
        frame: LongFrame,
        may_pass: impl FnOnce(u64) -> bool,
    ) -> Result<Published, CallRefused> {
        let body = frame.body_bytes();
        if body as u64 > self.message_max() {
            return Err(CallRefused::TooLarge { body });
        }
        let is_full = self.outbox.long_call_bytes() >= SCALED_UNACKED_BYTES_MAX;
        if is_full || self.is_long_under_way(channel) {
            return Err(CallRefused::NoRoom);
        }
        let Some(window) = self.window(channel) else {
            return Err(CallRefused::NoRoom);
        };
        let units = units(body);
        if !(may_pass(units) && window.take(units)) {
            return Err(CallRefused::NoCredit { units });
        }
        Ok(Published::Long(self.outbox.publish_long(source_of(channel), frame)))
    }

    /// Publishes an answer that is longer than a frame may be, and not longer than
    /// [`message_max`](Self::message_max).
    pub fn long_answer(&mut self, frame: LongFrame) {
        self.outbox.publish_long(ANSWERS, frame);
    }

    /// True while parts of a call of the channel are left to be numbered: further calls wait, so
    /// that they come behind it.
    #[inline]
    pub fn is_long_under_way(&self, channel: u64) -> bool {
        self.outbox.has_long(source_of(channel))
    }

    /// The caller of an ask waits no longer: tells the peer with CANCEL, behind the ask.
    pub fn cancel(&mut self, (slot, generation): (u32, u32)) {
        let (slot, generation) = (slot.into(), generation.into());
        if !self.outbox.cancel_behind((slot, generation)) {
            self.outbox.append(|out| write::any(out, &Frame::Cancel { slot, generation }));
        }
    }

    /// Takes back a long ask of which parts are left. False if there is none; if there was one, no
    /// answer comes.
    pub fn take_back(&mut self, (slot, generation): (u32, u32)) -> bool {
        let Some(withdrawn) = self.outbox.withdraw((slot.into(), generation.into())) else {
            return false;
        };
        let channel = withdrawn.channel;
        if withdrawn.has_begun {
            // The peer has taken the units with the first part, and grants them again.
            let source = source_of(channel);
            self.outbox.append(|out| write::any(out, &Frame::PartsDrop { source }));
        } else if let Some(window) = self.window(channel) {
            window.give_back(units(withdrawn.body));
        }
        self.end_long_messages();
        true
    }

    /// The channels whose long calls have ended since the last time: their senders may go on.
    pub fn take_ended_long_calls(&mut self) -> Vec<u64> {
        core::mem::take(&mut self.ended_longs)
    }

    /// Handles the end of long messages, which may have held up a DETACH.
    pub(super) fn end_long_messages(&mut self) {
        while let Some(EndedMessage { source, cancelled }) = self.outbox.next_ended() {
            if let Some((slot, generation)) = cancelled {
                self.outbox.append(|out| write::any(out, &Frame::Cancel { slot, generation }));
            }
            let Some(channel) = source.checked_sub(1) else { continue };
            if self.detaching.remove(&channel) {
                self.detach(channel);
            }
            self.ended_longs.push(channel);
        }
    }

    /// Records that a sender which needs `units` on `channel` is blocked. Returns true if the peer
    /// must be told, so that the caller flushes.
    pub fn stuck(&mut self, channel: u64, units: u64) -> bool {
        let Some(wanted) = self.window(channel).and_then(|window| window.need(units)) else {
            return false;
        };
        self.needs.push((channel, wanted, units));
        true
    }

    /// The units that NEED says a call costs: only of one that is longer than a frame.
    pub(super) fn units_of_long(units: u64) -> u64 {
        if units > FRAME_UNITS { units } else { 0 }
    }
}
