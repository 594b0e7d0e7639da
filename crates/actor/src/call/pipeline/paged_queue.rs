//! The callers' contexts of outstanding asks: a queue that is pushed to and popped from a thousand
//! at a time.
//!
//! The queue consists of pages, of which the front one is reversed: so both ends are the end of a
//! `Vec`, which costs half as many instructions per value as a ring buffer.

use std::collections::VecDeque;
use std::mem;

/// Values in a page; the last page may be moved to the front with fewer.
const PAGE: usize = 512;
/// Empty pages that are kept: as many as two batches leave behind.
const SPARE_PAGES_MAX: usize = 16;

/// A first-in, first-out queue in pages. It keeps no count: its owner has one.
#[derive(Debug)]
pub(crate) struct PagedQueue<C> {
    /// The oldest values in reverse order: the oldest one is last.
    front: Vec<C>,
    /// Full pages.
    pages: VecDeque<Vec<C>>,
    /// The newest values, at most one page.
    back: Vec<C>,
    spare: Vec<Vec<C>>,
}

impl<C> PagedQueue<C> {
    pub(crate) fn new() -> PagedQueue<C> {
        PagedQueue {
            front: Vec::new(),
            pages: VecDeque::new(),
            back: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Appends a value.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: C) {
        if self.back.len() == self.back.capacity() {
            self.turn_over();
        }
        self.back.push(value);
    }

    /// Takes the oldest value.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<C> {
        if self.front.is_empty() && !self.refill() {
            return None;
        }
        self.front.pop()
    }

    /// Makes room: the last page is full, or still small.
    #[cold]
    #[inline(never)]
    fn turn_over(&mut self) {
        if self.back.len() < PAGE {
            return self.back.reserve(PAGE.min(self.back.len().max(4)));
        }
        let fresh = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(PAGE));
        self.pages.push_back(mem::replace(&mut self.back, fresh));
    }

    /// Replaces the front page, which is used up. False when there is no other.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> bool {
        let page = self.pages.pop_front().unwrap_or_else(|| mem::take(&mut self.back));
        let used = mem::replace(&mut self.front, page);
        self.front.reverse();
        if self.back.capacity() == 0 {
            self.back = used;
        } else if self.spare.len() < SPARE_PAGES_MAX && used.capacity() > 0 {
            self.spare.push(used);
        }
        !self.front.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_out_as_they_went_in() {
        let (mut paged_queue, mut given, mut taken) = (PagedQueue::new(), 0, 0);
        // Each step pushes up to 3,000 values, in an order that empties the queue now and then.
        for step in 0..4000 {
            for _ in 0..(step * 7919) % 3000 {
                paged_queue.push(given);
                given += 1;
            }
            for _ in 0..(step * 6101) % 3200 {
                let expected = (taken < given).then_some(taken);
                assert_eq!(paged_queue.pop(), expected);
                taken += usize::from(expected.is_some());
            }
            assert!(paged_queue.spare.len() <= SPARE_PAGES_MAX);
            let pages =
                [&paged_queue.front, &paged_queue.back].into_iter().chain(&paged_queue.pages);
            assert!(pages.map(Vec::capacity).max() <= Some(PAGE));
        }
        assert!(taken > 5_000_000);
    }

    #[test]
    fn a_few_values_take_the_room_of_a_few() {
        let mut paged_queue = PagedQueue::new();
        for value in 0..1000 {
            paged_queue.push(value);
            assert_eq!(paged_queue.pop(), Some(value));
        }
        assert!(paged_queue.front.capacity() + paged_queue.back.capacity() <= 8);
    }

    #[test]
    fn values_without_size_are_counted_too() {
        let mut paged_queue = PagedQueue::new();
        (0..2000).for_each(|_| paged_queue.push(()));
        assert_eq!((0..).take_while(|_| paged_queue.pop().is_some()).count(), 2000);
    }

    #[test]
    fn untaken_items_are_dropped() {
        let value = std::sync::Arc::new(());
        let mut paged_queue = PagedQueue::new();
        (0..1300).for_each(|_| paged_queue.push(value.clone()));
        (0..600).for_each(|_| drop(paged_queue.pop()));
        drop(paged_queue);
        assert_eq!(std::sync::Arc::strong_count(&value), 1);
    }
}
