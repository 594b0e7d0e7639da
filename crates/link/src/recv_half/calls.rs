//! Consecutive calls on one channel, which are read and handed over together.

use wigwag_wire::call::{ASK, ASKS, MIXED_ASKS, MIXED_TELLS, REPLIES, TELL, TELLS};
use wigwag_wire::{Reader, varint};

use super::Incoming;
use crate::frames::frame::Frame;
use crate::limits::units;

/// Consecutive calls on one channel. All are new, have a method other than 0, and ask from slots
/// within the announced limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelCalls<'a> {
    /// The channel.
    pub channel: u64,
    /// The number of calls, at least one.
    pub calls: usize,
    /// The credit units that the calls cost.
    pub units: u64,
    /// The calls as received: TELL and ASK frames, or a run of either.
    pub bytes: &'a [u8],
}

/// Mask over kind, length, channel and method of a small TELL: the bits that are equal in all small
/// TELLs of one channel.
const SMALL_TELL: u32 = 0x80FF_80FF;

impl<'a> Incoming<'a> {
    /// Returns the next frames if they are calls, as nearly all frames of a busy link are: at most
    /// `most` frames of one kind, or a whole run. `None` means that nothing was taken and that
    /// [`next_frame`](Self::next_frame) returns the next frame or its error.
    #[inline]
    pub fn next_calls(&mut self, most: usize) -> Option<ChannelCalls<'a>> {
        if self.seq < self.fresh {
            self.skip_repeated();
        }
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
            (TELLS | ASKS | MIXED_TELLS | MIXED_ASKS, _) => return self.run_of_calls(),
            _ => return None,
        };
        if calls == 0 {
            return self.one_call();
        }
        let taken = self.reader.take(bytes.len() - left.len()).ok()?;
        self.seq += calls as u64;
        Some(ChannelCalls { channel: u64::from(channel), calls, units, bytes: taken })
    }

    /// The channels of the calls that come next, up to the first frame that is none, or a run.
    pub fn next_channels(&self) -> impl Iterator<Item = u64> {
        let (mut reader, frame_max) = (self.reader.clone(), self.receiver.frame_max);
        core::iter::from_fn(move || match Frame::next(&mut reader, frame_max) {
            Ok((TELL | ASK, body)) => varint::take(&mut Reader::new(body)).ok(),
            _ => None,
        })
    }

    /// Takes small ASKs off the front, like `small_tells` takes TELLs. Their slots must be within
    /// the announced limit and their generations new.
    fn small_asks(
        &mut self,
        mut bytes: &'a [u8],
        channel: u8,
        most: usize,
    ) -> (&'a [u8], usize, u64) {
        let (mut calls, mut units) = (0, 0);
        while calls < most
            && let [ASK, length @ 4..0x80, next, ref body @ ..] = *bytes
            && next == channel
            && let Some((slot, generation, used)) = varint::pair(body)
            && u64::from(slot) < self.receiver.slots_max
            && body.get(used).is_some_and(|method| (1..0x80).contains(method))
            && 1 + used < usize::from(length)
            && let Some(after) = bytes.get(2 + usize::from(length)..)
            && self.receiver.generations.take(slot, generation)
        {
            bytes = after;
            calls += 1;
            units += 1 + u64::from(length > 64);
        }
        (bytes, calls, units)
    }

    /// Takes one call of any size.
    fn one_call(&mut self) -> Option<ChannelCalls<'a>> {
        let bytes = self.reader.rest();
        let mut after = self.reader.clone();
        let (kind, body) = Frame::next(&mut after, self.receiver.frame_max).ok()?;
        let channel = match Frame::parse(kind, body).ok()? {
            Frame::Tell { channel, method: 1.., .. } => channel,
            Frame::Ask { channel, slot, generation, method: 1.., .. }
                if self.receiver.check_asker(slot, generation).is_ok() =>
            {
                channel
            }
            _ => return None,
        };
        let bytes = &bytes[..bytes.len() - after.rest().len()];
        self.reader = after;
        self.seq += 1;
        Some(ChannelCalls { channel, calls: 1, units: units(body.len()), bytes })
    }

    /// Takes a whole run of calls, each of which costs one unit.
    fn run_of_calls(&mut self) -> Option<ChannelCalls<'a>> {
        let bytes = self.reader.rest();
        let mut after = self.reader.clone();
        let (run, calls) = self.run(&mut after, |kind| kind != REPLIES)?;
        let slots = run.asker.map_or(0, |(slot, _)| u64::from(slot) + calls as u64);
        if slots > self.receiver.slots_max {
            return None;
        }
        if let Some((slot, generation)) = run.asker
            && !self.receiver.generations.take_all(slot, calls as u32, generation)
        {
            return None;
        }
        let bytes = &bytes[..bytes.len() - after.rest().len()];
        self.reader = after;
        self.seq += calls as u64;
        Some(ChannelCalls { channel: run.channel, calls, units: calls as u64, bytes })
    }
}

/// Splits the TELLs off the front whose numbers take one byte each: returns the remaining bytes,
/// the number of calls, and their cost in units.
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
