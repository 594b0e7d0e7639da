//! The two halves of an open session; they only wire the mechanisms.
//!
//! The [`Receiver`] belongs to whoever reads the connection. The [`Sender`] is shared by everybody
//! who sends, and hears from the receiver once per batch. They are two structs because they are
//! used under two locks: a reader in the middle of a batch must not hold up a sender.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

use wigwag_wire::call::{ASK, TELL};
use wigwag_wire::{Buffer, Reader, Time, varint};

use crate::batch::Header;
use crate::code::Code;
use crate::credit::{Budget, Grant, Window};
use crate::error::LinkError;
use crate::frame::kind::REPLY;
use crate::frame::{Frame, SEQUENCED};
use crate::limits::{ACK_BYTES, ACK_DELAY_MS, BATCH_HEAD_BYTES_MAX, Limits, SEGMENT_BYTES, units};
use crate::outbox::{Outbox, Taken};
use crate::write;

/// Bytes of a batch that we send, when the peer accepts as much: two segments a write.
const BATCH_BYTES: usize = 2 * SEGMENT_BYTES;

/// Generations are 32 bits wide.
const GENERATION_MAX: u64 = u32::MAX as u64;

/// The reading half.
#[derive(Debug)]
pub struct Receiver {
    /// The number of the next frame that was not accepted yet.
    recv_next: u64,
    /// Frames that came again after a cut and were skipped.
    repeated: u64,
    frame_max: u64,
    slots_max: u64,
}

impl Receiver {
    /// A receiver at number 0; `ours` are the limits that we announced.
    pub fn new(ours: &Limits) -> Receiver {
        Receiver { recv_next: 0, repeated: 0, frame_max: ours.frame_max, slots_max: ours.slots_max }
    }

    /// The number of the next frame that was not accepted yet.
    pub fn recv_next(&self) -> u64 {
        self.recv_next
    }

    /// Frames that were skipped because they had been accepted before.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Opens a batch.
    pub fn open<'a>(&'a mut self, message: &'a [u8]) -> Result<Incoming<'a>, LinkError> {
        let mut reader = Reader::new(message);
        let header = Header::decode(&mut reader)?;
        if header.first_seq > self.recv_next {
            let rule = "sequence numbers have no gaps";
            return Err(LinkError::Misbehaved { code: Code::GAP, rule });
        }
        let end = header.first_seq + header.count;
        let fresh = self.recv_next;
        let seq = header.first_seq;
        Ok(Incoming { receiver: self, reader, ack: header.ack, seq, fresh, end })
    }
}

/// A batch that is being read.
#[derive(Debug)]
pub struct Incoming<'a> {
    receiver: &'a mut Receiver,
    reader: Reader<'a>,
    /// What the peer acknowledges.
    pub ack: u64,
    /// The number of the next sequenced frame.
    seq: u64,
    /// Frames before this number were accepted before.
    fresh: u64,
    /// The number behind the last one.
    end: u64,
}

/// Calls on one channel that lie behind each other. All are fresh, have a method that is not 0, and
/// ask from slots that we announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallRun<'a> {
    /// The channel.
    pub channel: u64,
    /// How many calls there are, at least one.
    pub calls: usize,
    /// What they cost.
    pub units: u64,
    /// The calls as they came: TELL and ASK frames.
    pub bytes: &'a [u8],
}

/// A REPLY whose length takes one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallReply<'a> {
    /// The asker's slot.
    pub slot: u32,
    /// Which use of it.
    pub generation: u32,
    /// The answer.
    pub value: &'a [u8],
}

/// Kind, length, channel and method of a small TELL as one number: the bits that are the same in
/// all TELLs of one channel.
const SMALL_TELL: u32 = 0x80FF_80FF;

impl<'a> Incoming<'a> {
    /// The next frames if they are calls, as nearly all frames of a busy link are: at most `most`
    /// of them, and of one kind. `None` takes nothing; it says that
    /// [`next_frame`](Self::next_frame) knows what is next, if only what is wrong with it.
    #[inline]
    pub fn next_calls(&mut self, most: usize) -> Option<CallRun<'a>> {
        let bytes = self.reader.rest();
        let &[kind, _, channel, _] = bytes.first_chunk::<4>()?;
        if self.seq < self.fresh || self.seq >= self.end {
            return None;
        }
        let most = most.min(usize::try_from(self.end - self.seq).unwrap_or(usize::MAX));
        let (left, calls, units) = match (kind, channel < 0x80) {
            (TELL, true) => small_tells(bytes, channel, most),
            (ASK, true) => self.small_asks(bytes, channel, most),
            (TELL | ASK, _) => (bytes, 0, 0),
            _ => return None,
        };
        if calls == 0 {
            return self.one_call();
        }
        let taken = self.reader.take(bytes.len() - left.len()).ok()?;
        self.seq += calls as u64;
        Some(CallRun { channel: u64::from(channel), calls, units, bytes: taken })
    }

    /// The same with ASKs, whose slots must be ours.
    fn small_asks(&self, mut bytes: &'a [u8], channel: u8, most: usize) -> (&'a [u8], usize, u64) {
        let (mut calls, mut units) = (0, 0);
        while let [ASK, length @ 5..0x80, next, _, ..] = *bytes
            && next == channel
            && calls < most
            && let Some((body, after)) = bytes[3..].split_at_checked(usize::from(length) - 1)
        {
            let mut body = Reader::new(body);
            let (slot, generation) = (varint::take(&mut body), varint::take(&mut body));
            let known = slot.is_ok_and(|slot| slot < self.receiver.slots_max)
                && generation.is_ok_and(|generation| generation <= GENERATION_MAX);
            if !known || !body.peek().is_some_and(|method| (1..0x80).contains(&method)) {
                break;
            }
            bytes = after;
            calls += 1;
            units += 1 + u64::from(length > 64);
        }
        (bytes, calls, units)
    }

    /// One call, of whatever width.
    fn one_call(&mut self) -> Option<CallRun<'a>> {
        let bytes = self.reader.rest();
        let mut after = self.reader.clone();
        let (kind, body) = Frame::next(&mut after, self.receiver.frame_max).ok()?;
        let channel = match Frame::parse(kind, body).ok()? {
            Frame::Tell { channel, method: 1.., .. } => channel,
            Frame::Ask { channel, slot, generation, method: 1.., .. }
                if slot < self.receiver.slots_max && generation <= GENERATION_MAX =>
            {
                channel
            }
            _ => return None,
        };
        let bytes = &bytes[..bytes.len() - after.rest().len()];
        self.reader = after;
        self.seq += 1;
        Some(CallRun { channel, calls: 1, units: units(body.len()), bytes })
    }

    /// The next frame if it is a small REPLY. `None` takes nothing and says only that something else
    /// is next.
    #[inline(always)]
    pub fn next_reply(&mut self) -> Option<SmallReply<'a>> {
        let [REPLY, length @ 0..0x80, rest @ ..] = self.reader.rest() else {
            return None;
        };
        if self.seq < self.fresh || self.seq >= self.end {
            return None;
        }
        let mut body = Reader::new(rest.get(..usize::from(*length))?);
        let slot = u32::try_from(varint::take(&mut body).ok()?).ok()?;
        let generation = u32::try_from(varint::take(&mut body).ok()?).ok()?;
        self.reader.take(2 + usize::from(*length)).ok()?;
        self.seq += 1;
        Some(SmallReply { slot, generation, value: body.take_rest() })
    }

    /// The next frame; `None` at the end of the batch. A sequenced frame counts as accepted once it
    /// is given out, so the caller must place it or answer it before the batch's ack goes out.
    #[inline(always)]
    pub fn next_frame(&mut self) -> Result<Option<(Frame<'a>, usize)>, LinkError> {
        loop {
            if self.reader.is_empty() {
                if self.seq != self.end {
                    return Err(LinkError::protocol("a batch holds fewer frames than it says"));
                }
                return Ok(None);
            }
            let (kind, body) = Frame::next(&mut self.reader, self.receiver.frame_max)?;
            if kind & SEQUENCED != 0 {
                if self.seq == self.end {
                    return Err(LinkError::protocol("a batch holds more frames than it says"));
                }
                self.seq += 1;
                if self.seq <= self.fresh {
                    self.receiver.repeated += 1;
                    continue;
                }
            }
            return Ok(Some((Frame::parse(kind, body)?, body.len())));
        }
    }
}

/// The TELLs at the front whose numbers take one byte each: what is left behind them, how many there
/// are, and what they cost.
#[inline]
fn small_tells(mut bytes: &[u8], channel: u8, most: usize) -> (&[u8], usize, u64) {
    let same = u32::from_le_bytes([TELL, 0, channel, 0]);
    let (mut calls, mut units) = (0, 0);
    while calls < most
        && let Some(&head) = bytes.first_chunk::<4>()
    {
        let [_, length, _, method] = head;
        let small = u32::from_le_bytes(head) & SMALL_TELL == same;
        if !small || method == 0 || length < 2 {
            break;
        }
        let Some(after) = bytes.get(2 + usize::from(length)..) else {
            break;
        };
        bytes = after;
        calls += 1;
        units += 1 + u64::from(length > 64);
    }
    (bytes, calls, units)
}

/// A SP message of ours: small bytes made now, and segments kept until their ack.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Batch header and unsequenced frames.
    pub head: Buffer,
    /// Sequenced frames.
    pub taken: Taken,
}

impl Outgoing {
    /// Bytes of the whole batch.
    pub fn len(&self) -> usize {
        self.head.len() + self.taken.segments.iter().map(|segment| segment.len()).sum::<usize>()
    }

    /// True when there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty()
    }
}

/// What was given out counts as accepted, also when the batch turns out to be broken further on.
impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        self.receiver.recv_next = self.receiver.recv_next.max(self.seq);
    }
}

/// Why a call was not appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallRefused {
    /// The unacked window is full: wait for an ack.
    NoRoom,
    /// The channel's window does not reach: wait for credit, and say NEED.
    NoCredit {
        /// What the call costs.
        units: u64,
    },
    /// The peer accepts no frame of that size.
    TooLarge {
        /// Bytes of the frame's body.
        body: usize,
    },
}

/// The sending half.
#[derive(Debug)]
pub struct Sender {
    /// Sequenced frames.
    pub outbox: Outbox,
    /// What the peer accepts.
    peer: Limits,
    /// Channels that we accept.
    channels_max: u64,
    /// Channels that we send on, by number.
    windows: Vec<Option<Window>>,
    /// Channels that the peer sends on, by its numbers.
    grants: Vec<Option<Grant>>,
    budget: Budget,
    /// Grants with something to announce.
    due: BTreeSet<usize>,
    /// Grants that wanted more than the budget had.
    waiting: BTreeSet<usize>,
    /// Limits to ask for.
    needs: Vec<(u64, u64)>,
    pong: Option<u64>,
    close: Option<(Code, &'static str)>,
    closed: bool,
    ack: Ack,
}

#[derive(Debug, Default)]
struct Ack {
    /// The receiver's number, to be told.
    recv_next: u64,
    /// What was told last.
    told: u64,
    /// Bytes accepted since.
    bytes: usize,
    /// When an ack must go out alone.
    due: Option<Time>,
    now: bool,
}

impl Sender {
    /// A sender of a node that has announced `ours` and whose peer has announced `peer`.
    pub fn new(ours: &Limits, peer: Limits) -> Sender {
        Sender {
            outbox: Outbox::for_peer(&peer),
            peer,
            channels_max: ours.channels_max,
            windows: Vec::new(),
            grants: Vec::new(),
            budget: Budget::default(),
            due: BTreeSet::new(),
            waiting: BTreeSet::new(),
            needs: Vec::new(),
            pong: None,
            close: None,
            closed: false,
            ack: Ack::default(),
        }
    }

    /// What the peer accepts.
    pub fn peer_limits(&self) -> &Limits {
        &self.peer
    }

    /// The number for a new channel of ours; `None` when the peer accepts no more. The channel has
    /// no credit before [`attached`](Self::attached).
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

    /// ATTACHED has come: the channel has so many units.
    pub fn attached(&mut self, channel: u64, limit: u64) {
        if let Some(window) = self.window(channel) {
            window.raise(limit);
        }
    }

    /// The channel is gone; its number is free again.
    pub fn close_channel(&mut self, channel: u64) {
        if let Some(window) = usize::try_from(channel).ok().and_then(|at| self.windows.get_mut(at))
        {
            *window = None;
        }
        // A wish of this use of the number must not be heard as one of the next.
        self.needs.retain(|(stuck, _)| *stuck != channel);
    }

    /// The window of a channel of ours.
    #[inline]
    pub fn window(&mut self, channel: u64) -> Option<&mut Window> {
        self.windows.get_mut(usize::try_from(channel).ok()?)?.as_mut()
    }

    /// Appends a call on a channel of ours, paid from its window. `encode` appends the frame and
    /// gives what its body measures; what it wrote is taken back when the call cannot go.
    pub fn call(
        &mut self,
        channel: u64,
        encode: impl FnOnce(&mut Buffer) -> usize,
    ) -> Result<(), CallRefused> {
        self.call_if(channel, encode, |_| true)
    }

    /// The same; `may_pass` hears what the call costs and says whether nobody stands before it.
    #[inline]
    pub fn call_if(
        &mut self,
        channel: u64,
        encode: impl FnOnce(&mut Buffer) -> usize,
        may_pass: impl FnOnce(u64) -> bool,
    ) -> Result<(), CallRefused> {
        if !self.outbox.has_room_for_calls() {
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

    /// A sender that needs `units` on `channel` is stuck. True when the peer must be told, and so
    /// somebody must flush.
    pub fn stuck(&mut self, channel: u64, units: u64) -> bool {
        let Some(wanted) = self.window(channel).and_then(|window| window.need(units)) else {
            return false;
        };
        self.needs.push((channel, wanted));
        true
    }

    /// The peer opens a channel to one of our actors; gives the first limit.
    pub fn grant(&mut self, channel: u64, units: u64) -> Result<u64, LinkError> {
        if channel >= self.channels_max {
            let rule = "a channel's number is below channels_max";
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        }
        let at = channel as usize;
        if self.grants.len() <= at {
            self.grants.resize(at + 1, None);
        }
        if self.grants[at].is_some() {
            return Err(LinkError::protocol("ATTACH of a channel that is open"));
        }
        let grant = Grant::new(units, &mut self.budget);
        let limit = grant.announced();
        self.grants[at] = Some(grant);
        Ok(limit)
    }

    /// The grant of a channel that the peer sends on.
    pub fn granted(&mut self, channel: u64) -> Option<&mut Grant> {
        self.grants.get_mut(usize::try_from(channel).ok()?)?.as_mut()
    }

    /// The peer's channel is gone.
    pub fn withdraw(&mut self, channel: u64) {
        let grant = usize::try_from(channel).ok().and_then(|at| self.grants.get_mut(at));
        if let Some(grant) = grant.and_then(Option::take) {
            grant.close(&mut self.budget);
            self.due.remove(&(channel as usize));
            self.waiting.remove(&(channel as usize));
            self.serve_waiting();
        }
    }

    /// Budget has come back: those who did not get what they need try again.
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

    /// The actor has taken `units` of the peer's channel out of its lane. True: flush.
    pub fn freed(&mut self, channel: u64, units: u64) -> bool {
        let due = self.granted(channel).is_some_and(|grant| grant.free(units));
        if due {
            self.due.insert(channel as usize);
        }
        due
    }

    /// NEED has come. True: flush.
    pub fn needed(&mut self, channel: u64, wanted: u64) -> bool {
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        let Some(Some(grant)) = self.grants.get_mut(at) else {
            return false;
        };
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
        if recv_next == self.ack.recv_next {
            return;
        }
        self.ack.recv_next = recv_next;
        self.ack.bytes += bytes;
        self.ack.now |= self.ack.bytes >= ACK_BYTES;
        self.ack.due.get_or_insert(now + Duration::from_millis(ACK_DELAY_MS));
    }

    /// PING has come: its PONG carries the ack as well.
    pub fn pinged(&mut self, id: u64) {
        self.pong = Some(id);
    }

    /// Ends the session: CLOSE is the last frame that goes out.
    pub fn close(&mut self, code: Code, rule: &'static str) {
        self.close.get_or_insert((code, rule));
    }

    /// True when CLOSE is on its way and nothing may follow.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// True when a write would carry something.
    pub fn has_output(&self) -> bool {
        !self.closed
            && (!self.outbox.is_idle()
                || self.ack.now
                || !self.due.is_empty()
                || !self.needs.is_empty()
                || self.pong.is_some()
                || self.close.is_some())
    }

    /// When [`tick`](Self::tick) is due.
    pub fn deadline(&self) -> Option<Time> {
        if self.closed { None } else { self.ack.due }
    }

    /// Time has passed: an ack that found no company goes out alone.
    pub fn tick(&mut self, now: Time) {
        if self.ack.due.is_some_and(|due| due <= now) {
            self.ack.now = self.ack.told != self.ack.recv_next;
            self.ack.due = None;
        }
    }

    /// Makes the next batch; leaves `out` empty when there is nothing to send.
    pub fn take_output(&mut self, out: &mut Outgoing) {
        out.head.clear();
        out.taken.segments.clear();
        if !self.has_output() {
            return;
        }
        let most = usize::try_from(self.peer.batch_max).unwrap_or(usize::MAX).min(BATCH_BYTES);
        // CLOSE is the last frame, but it is unsequenced and so stands before the segments: it
        // goes out when they are gone.
        let closing = self.close.is_some() && self.outbox.is_idle();
        self.outbox.take(most.saturating_sub(BATCH_HEAD_BYTES_MAX), &mut out.taken);
        let header = Header {
            ack: self.ack.recv_next,
            first_seq: out.taken.first_seq,
            count: out.taken.frames,
        };
        header.encode(&mut out.head);
        self.ack =
            Ack { recv_next: self.ack.recv_next, told: self.ack.recv_next, ..Ack::default() };
        self.write_control(&mut out.head);
        if let (true, Some((code, rule))) = (closing, self.close) {
            let close = Frame::Close { code, rule: rule.as_bytes(), detail: &[] };
            write::any(&mut out.head, &close);
            self.closed = true;
        }
    }

    /// The unsequenced frames, as many as leave the head small; the rest go with the next batch.
    fn write_control(&mut self, head: &mut Buffer) {
        const HEAD_BYTES_MAX: usize = 900;
        while head.len() < HEAD_BYTES_MAX {
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
    }
}

#[cfg(test)]
mod tests;
