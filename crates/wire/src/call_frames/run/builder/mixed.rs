//! Mixed runs: consecutive calls of several methods of one actor.
//!
//! A run of one method is cheaper for both sides, as long as the method stays the same. When the
//! method has changed twice after few calls, the calls that follow form a mixed run, until one of
//! their methods goes on. Two methods in turn then cost a third of what they cost in frames of their
//! own: `lab run remote`, cell *tell, two methods*, 0.028 s of processor for a million, and 0.088 s
//! without mixed runs, both ends together.

use super::{CHANNELS_MAX, NEXT_SLOT, RunBuilder, key, word};
use crate::Buffer;
use crate::call_frames::call::{ASK, MIXED_ASKS, MIXED_TELLS, TELL};
use crate::call_frames::run::{METHOD_END, RUN_ITEMS_MAX, put_method};
use crate::encoding::small::Scratch;

/// Fewer calls of one method in a row are few: to mix them with others costs less than a run of
/// their own, which begins with two calls that are not added in place.
const FEW_CALLS: usize = 16;

/// Calls of one method in a row that end a mixed run. They are more than [`FEW_CALLS`], so that no
/// pattern of calls goes from the one kind of run to the other all the time.
const SAME_CALLS_MAX: u8 = 32;

/// The part of a key that calls of several methods of one actor share.
fn kind_and_channel(key: u64) -> u32 {
    (key >> 32) as u32
}

/// The last calls of a mixed run, as far as they have one method.
#[derive(Clone, Copy, Debug, Default)]
pub struct SameMethod {
    method: u8,
    calls: u8,
}

impl SameMethod {
    /// Notes the next call, whose method is below [`METHOD_END`]. False if it belongs into a run of
    /// its own method, because the calls before it had that method too.
    #[inline(always)]
    pub fn note(&mut self, method: u32) -> bool {
        let method = method as u8;
        let calls = if self.method == method { self.calls.saturating_add(1) } else { 1 };
        (self.method, self.calls) = (method, calls);
        calls <= SAME_CALLS_MAX
    }

    /// The method for which [`note`](Self::note) has returned false.
    pub fn goes_on(&self) -> Option<u32> {
        (self.calls > SAME_CALLS_MAX).then_some(self.method.into())
    }
}

/// The place of a call that does not continue a run of one method.
enum Mixture {
    /// It joins nothing.
    None,
    /// It joins the mixed run.
    Joins,
    /// It begins a run of one method, because the calls before it had that method too.
    Ends,
}

impl RunBuilder {
    #[inline(never)]
    pub(super) fn mixed_tell(
        &mut self,
        out: &mut Buffer,
        channel: u64,
        method: u32,
        small: impl FnOnce(&mut Scratch, usize) -> Option<usize>,
    ) -> bool {
        match self.mixture([TELL, MIXED_TELLS], channel, method) {
            Mixture::None => return false,
            Mixture::Ends => return self.tell(out, channel, method, small),
            Mixture::Joins => {}
        }
        if self.room == 0 {
            self.begin(out, MIXED_TELLS, &[channel]);
        }
        self.mixed_item(out, method, small)
    }

    #[inline(never)]
    pub(super) fn mixed_ask(
        &mut self,
        out: &mut Buffer,
        channel: u64,
        asker: (u32, u32),
        method: u32,
        small: impl FnOnce(&mut Scratch, usize) -> Option<usize>,
    ) -> bool {
        if self.next != word(asker) {
            return false;
        }
        match self.mixture([ASK, MIXED_ASKS], channel, method) {
            Mixture::None => return false,
            Mixture::Ends => return self.ask(out, channel, asker, method, small),
            Mixture::Joins => {}
        }
        if self.room == 0 {
            let (slot, generation) = (u64::from(asker.0), u64::from(asker.1));
            self.begin(out, MIXED_ASKS, &[channel, slot, generation]);
        }
        let joined = self.mixed_item(out, method, small);
        self.next += NEXT_SLOT;
        joined
    }

    #[inline(always)]
    fn mixed_item(
        &mut self,
        out: &mut Buffer,
        method: u32,
        small: impl FnOnce(&mut Scratch, usize) -> Option<usize>,
    ) -> bool {
        self.item(out, |scratch, _| {
            let place = put_method(scratch, method);
            small(scratch, place)
        })
    }

    /// Decides on a call. `single` is its kind alone, `mixed` that of a mixed run of such calls.
    fn mixture(&mut self, [single, mixed]: [u8; 2], channel: u64, method: u32) -> Mixture {
        // After the end of a buffer nothing can be joined, and what is known of the calls stays.
        if method >= METHOD_END || self.key == 0 {
            return Mixture::None;
        }
        let (single, mixed) = (key(single, channel, 0), key(mixed, channel, 0));
        if self.key != mixed {
            let single = kind_and_channel(single);
            let has_changed = kind_and_channel(self.key) == single;
            let were_few = has_changed && self.calls_of_one_method() < FEW_CALLS;
            let before = core::mem::replace(&mut self.few, if were_few { single } else { 0 });
            if !were_few || before != single {
                return Mixture::None;
            }
            (self.key, self.room, self.same) = (mixed, 0, SameMethod::default());
        }
        if self.same.note(method) {
            return Mixture::Joins;
        }
        self.end_mixture(method);
        Mixture::Ends
    }

    /// The calls of the open run of one method, and the one that stands before it.
    fn calls_of_one_method(&self) -> usize {
        if self.body == 0 { 1 } else { 1 + RUN_ITEMS_MAX - self.room }
    }

    /// True if a mixed run is open.
    pub fn is_mixed(&self) -> bool {
        matches!((self.key >> 56) as u8, MIXED_TELLS | MIXED_ASKS)
    }

    /// Ends a mixed run: the next call is of `method`, as the last ones were, and begins a run of
    /// that method.
    pub fn end_mixture(&mut self, method: u32) {
        let channel = self.key >> 32 & (CHANNELS_MAX - 1);
        let single = match (self.key >> 56) as u8 {
            MIXED_TELLS => TELL,
            MIXED_ASKS => ASK,
            _ => return,
        };
        (self.key, self.room, self.few) = (key(single, channel, method), 0, 0);
    }
}

#[cfg(test)]
mod tests;
