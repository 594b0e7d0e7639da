//! Replies, which are read a run at a time or one by one.

use wigwag_wire::call::REPLIES;
use wigwag_wire::run::{Run, RunItems};
use wigwag_wire::varint;

use super::Incoming;
use crate::frames::frame::kind::REPLY;

/// A REPLY whose length takes one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallReply<'a> {
    /// The asker's slot.
    pub slot: u32,
    /// The slot's generation.
    pub generation: u32,
    /// The encoded answer.
    pub value: &'a [u8],
}

/// A run of replies to consecutive slots.
#[derive(Clone, Copy, Debug)]
pub struct ReplyRun<'a> {
    /// The slot of the first asker.
    pub slot: u32,
    /// The generation of all the slots.
    pub generation: u32,
    /// The number of replies, at least one.
    pub count: u32,
    /// The encoded answers.
    pub values: RunItems<'a>,
}

impl<'a> Incoming<'a> {
    /// Returns the next frame if it is a run of replies with valid slots.
    pub fn next_replies(&mut self) -> Option<ReplyRun<'a>> {
        if self.seq < self.fresh || self.reader.rest().first() != Some(&REPLIES) {
            return None;
        }
        let mut after = self.reader.clone();
        let (Run { asker, items, .. }, count) = self.run(&mut after, |kind| kind == REPLIES)?;
        let (slot, generation) = asker?;
        slot.checked_add(count as u32)?;
        self.reader = after;
        self.seq += count as u64;
        Some(ReplyRun { slot, generation, count: count as u32, values: items })
    }

    /// Returns the next frame if it is a small REPLY. `None` means only that nothing was taken.
    #[inline(always)]
    pub fn next_reply(&mut self) -> Option<SmallReply<'a>> {
        let bytes = self.reader.rest();
        let [REPLY, length @ 0..0x80, body @ ..] = bytes else {
            return None;
        };
        if self.seq < self.fresh || self.seq >= self.end {
            return None;
        }
        let (slot, generation, used) = varint::pair(body)?;
        let value = body.get(used..usize::from(*length))?;
        self.reader.set_rest(body.get(usize::from(*length)..)?);
        self.seq += 1;
        Some(SmallReply { slot, generation, value })
    }
}
