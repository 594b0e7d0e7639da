//! The calls of one run.

use super::{Calls, split_method};
use crate::call_frames::run::RunItems;
use crate::encoding::fixed::FixedWidth;

/// Calls of one run. If taking them ends early, even by a panic, the rest stays in the [`Calls`]
/// they come from.
#[derive(Debug)]
pub struct CallRun<'c, 'a> {
    pub(super) items: RunItems<'a>,
    pub(super) slot: u32,
    pub(super) calls: &'c mut Calls<'a>,
}

impl<'a> CallRun<'_, 'a> {
    /// The method of all the calls; `None` if each has its own.
    #[inline(always)]
    pub fn method(&self) -> Option<u32> {
        self.calls.method
    }

    /// The next call: the slot of its asker if the calls are asks, and the arguments.
    #[inline(always)]
    pub fn take(&mut self) -> Option<(u32, &'a [u8])> {
        self.cursor().take()
    }

    /// The generation of all the slots, or `None` if the calls are tells.
    #[inline(always)]
    pub fn generation(&self) -> Option<u32> {
        self.calls.asks.then_some(self.calls.generation)
    }
}

impl<'c, 'a> CallRun<'c, 'a> {
    /// A cursor for a loop, which keeps its position in registers and writes it back when the loop
    /// ends.
    #[inline(always)]
    pub fn cursor(&mut self) -> CallRunCursor<'_, 'c, 'a> {
        CallRunCursor { items: self.items, slot: self.slot, run: self }
    }
}

/// Takes calls of a [`CallRun`] in a loop. However the loop ends, the run continues after it.
#[derive(Debug)]
pub struct CallRunCursor<'r, 'c, 'a> {
    items: RunItems<'a>,
    slot: u32,
    run: &'r mut CallRun<'c, 'a>,
}

impl<'a> CallRunCursor<'_, '_, 'a> {
    /// Like [`CallRun::take`].
    #[inline(always)]
    pub fn take(&mut self) -> Option<(u32, &'a [u8])> {
        let arguments = self.items.next()?;
        let slot = self.slot;
        self.slot = slot.wrapping_add(1);
        Some((slot, arguments))
    }

    /// Takes the next call of a mixed run: its method, the slot of its asker, and the arguments.
    #[inline(always)]
    pub fn take_mixed(&mut self) -> Option<(u32, u32, &'a [u8])> {
        let (slot, item) = self.take()?;
        let (method, arguments) = split_method(item);
        Some((method, slot, arguments))
    }

    /// Takes the next call if its arguments have this fixed width, and returns them without their
    /// mark.
    #[inline(always)]
    pub fn take_fixed(&mut self, fixed: FixedWidth) -> Option<(u32, &'a [u8])> {
        let values = self.items.next_fixed(fixed)?;
        let slot = self.slot;
        self.slot = slot.wrapping_add(1);
        Some((slot, values))
    }
}

impl Drop for CallRunCursor<'_, '_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.run.items = self.items;
        self.run.slot = self.slot;
    }
}

impl Drop for CallRun<'_, '_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.calls.items = self.items;
        self.calls.slot = self.slot;
    }
}
