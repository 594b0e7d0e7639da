//! The credit of the items of one stream (section 6).
//!
//! An item may be sent while the items before it have used less than the limit, so the last one may
//! reach beyond it. An item of any length is therefore sent in the end, however small the window is,
//! and what a reader holds at most is the window and one item.

use wigwag_wire::varint;

use crate::code::Code;
use crate::error::LinkError;

/// A stream of a session, as its frames name it. The two directions of a session have numbers of
/// their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamId {
    /// The answer to the ask of this slot and generation.
    Answer(u32, u32),
    /// A value with this number.
    Value(u64),
}

impl StreamId {
    /// Reads the numbers of ITEM or ITEM_CREDIT. `None` if no stream has such numbers.
    pub fn read(slot: u64, generation: u64, side: u8) -> Option<StreamId> {
        match (side, generation) {
            (0, 0) => Some(StreamId::Value(slot)),
            (1, _) => {
                Some(StreamId::Answer(u32::try_from(slot).ok()?, u32::try_from(generation).ok()?))
            }
            _ => None,
        }
    }

    /// The slot of the ask, or the number of the value.
    pub fn slot(self) -> u64 {
        match self {
            StreamId::Answer(slot, _) => slot.into(),
            StreamId::Value(number) => number,
        }
    }

    /// The generation of the slot; 0 for a value.
    pub fn generation(self) -> u64 {
        match self {
            StreamId::Answer(_, generation) => generation.into(),
            StreamId::Value(_) => 0,
        }
    }

    /// Bytes of the body of an ITEM of this stream in front of its value.
    pub fn head_bytes(self) -> usize {
        varint::length(self.slot()) + varint::length(self.generation()) + 1
    }

    /// 1 for a stream that answers an ask, 0 for a value.
    pub fn side(self) -> u8 {
        match self {
            StreamId::Answer(..) => 1,
            StreamId::Value(_) => 0,
        }
    }
}

/// The credit of a stream as its reader grants it. `used` and `freed` are sums since the ask.
#[derive(Debug)]
pub struct ItemWindow {
    window: u64,
    limit: u64,
    used: u64,
    freed: u64,
}

impl ItemWindow {
    /// A window of so many units, which the peer was told with its ask.
    pub fn new(window: u64) -> ItemWindow {
        let window = window.max(1);
        ItemWindow { window, limit: window, used: 0, freed: 0 }
    }

    /// Items of so many units have come, of which those in front of the last one cost `before_last`.
    ///
    /// # Errors
    ///
    /// Fails if the items before one of them have used up the limit.
    #[inline]
    pub fn receive_run(&mut self, before_last: u64, units: u64) -> Result<(), LinkError> {
        if self.used.saturating_add(before_last) >= self.limit {
            let rule = "an item is sent while the items before it have used less than the limit";
            return Err(LinkError::Misbehaved { code: Code::CREDIT_EXCEEDED, rule });
        }
        self.used = self.used.saturating_add(units);
        Ok(())
    }

    /// One item has come.
    ///
    /// # Errors
    ///
    /// Fails if the items before it have used up the limit.
    pub fn receive(&mut self, units: u64) -> Result<(), LinkError> {
        self.receive_run(0, units)
    }

    /// The reader has taken items of so many units. Returns the new limit if it is to be announced:
    /// when half of the window is free again.
    pub fn free(&mut self, units: u64) -> Option<u64> {
        self.freed = self.freed.saturating_add(units).min(self.used);
        let limit = self.freed.saturating_add(self.window);
        if limit - self.limit < (self.window / 2).max(1) {
            return None;
        }
        self.limit = limit;
        Some(limit)
    }

    /// Units that have come and that the reader has not taken.
    pub fn held(&self) -> u64 {
        self.used - self.freed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_item_behind_the_limit_is_a_broken_rule_and_one_across_it_is_not() {
        let mut window = ItemWindow::new(4);
        assert_eq!(window.receive(3), Ok(()));
        assert_eq!(window.receive(1000), Ok(()));
        let error = window.receive(1).expect_err("the limit is used up");
        assert!(matches!(error, LinkError::Misbehaved { code: Code::CREDIT_EXCEEDED, .. }));
        assert_eq!(window.free(3), Some(7));
        assert!(window.receive(1).is_err(), "the long item is still there");
        assert_eq!(window.free(1000), Some(1007));
        assert_eq!((window.receive(1), window.held()), (Ok(()), 1));
    }

    #[test]
    fn a_run_is_within_the_limit_if_its_last_item_begins_there() {
        let mut window = ItemWindow::new(4);
        assert_eq!(window.receive_run(3, 10), Ok(()));
        assert!(window.receive_run(0, 1).is_err());
        assert!(ItemWindow::new(4).receive_run(4, 5).is_err(), "the item before has used it up");
    }

    proptest! {
        /// However items and reads follow each other, the reader holds no more than its window and
        /// one item, and a sender that has used up its limit gets more once everything is read.
        #[test]
        fn a_reader_holds_its_window_and_one_item_and_no_sender_waits_for_ever(
            size in 1_u64..300,
            steps in proptest::collection::vec((1_u64..100, 0_u64..150), 1..200),
        ) {
            let mut window = ItemWindow::new(size);
            // The sender's own sums.
            let (mut limit, mut used) = (size, 0);
            for (item, read) in steps {
                if used < limit {
                    used += item;
                    prop_assert_eq!(window.receive(item), Ok(()));
                    prop_assert!(window.held() < size + item);
                }
                if let Some(raised) = window.free(read.min(window.held())) {
                    prop_assert!(raised > limit);
                    limit = raised;
                }
            }
            if let Some(raised) = window.free(window.held()) {
                limit = raised;
            }
            prop_assert!(used < limit, "{} of {}", used, limit);
        }
    }
}
