//! The channels that this side sends on: opened, paid for, and left.
//!
//! A call is appended only if the channel's window pays for it. A sender that finds too little is
//! refused, and tells the peer with NEED how much it wants.

use wigwag_wire::Buffer;

use super::SendHalf;
use crate::credit::Window;
use crate::error::LinkError;
use crate::frame::Frame;
use crate::limits::units;
use crate::write;

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

impl SendHalf {
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
}
