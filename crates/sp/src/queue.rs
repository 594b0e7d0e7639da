//! A queue bounded in messages and in bytes.
//!
//! There is room while both counts are below their bounds, so a single message always fits, however
//! long; the queue exceeds its bound by at most that message.

use alloc::collections::VecDeque;

use bytes::Bytes;

use crate::Message;

/// Something whose size counts against the byte bound of a queue.
pub(crate) trait Weight {
    /// The size in bytes.
    fn weight(&self) -> usize;
}

impl Weight for Bytes {
    fn weight(&self) -> usize {
        self.len()
    }
}

impl Weight for Message {
    fn weight(&self) -> usize {
        self.len()
    }
}

/// A bounded queue, first in, first out.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    items: VecDeque<T>,
    /// Invariant: the sum of the weights of `items`.
    bytes: usize,
    messages_max: usize,
    bytes_max: usize,
}

impl<T: Weight> Queue<T> {
    pub(crate) fn new(messages_max: usize, bytes_max: usize) -> Queue<T> {
        Queue { items: VecDeque::new(), bytes: 0, messages_max, bytes_max }
    }

    /// Sets the bound on messages; items beyond the new bound stay.
    pub(crate) fn set_length(&mut self, messages_max: usize) {
        self.messages_max = messages_max;
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn has_room(&self) -> bool {
        self.items.len() < self.messages_max && self.bytes < self.bytes_max
    }

    /// True if at most half of either bound is used: a sender that was held back may go on, and the
    /// next message does not hold it back again.
    pub(crate) fn is_half_empty(&self) -> bool {
        self.items.len() <= self.messages_max / 2 && self.bytes <= self.bytes_max / 2
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Appends `item`, or returns it if there is no room.
    pub(crate) fn push(&mut self, item: T) -> Result<(), T> {
        if !self.has_room() {
            return Err(item);
        }
        self.push_unbounded(item);
        Ok(())
    }

    /// Appends `item` even over the bounds; the caller must bound the length in another way.
    pub(crate) fn push_unbounded(&mut self, item: T) {
        self.bytes += item.weight();
        self.items.push_back(item);
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let item = self.items.pop_front()?;
        self.bytes -= item.weight();
        Some(item)
    }

    /// Removes the first item that is `wanted`; inspects each item before it.
    pub(crate) fn remove(&mut self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        let place = self.items.iter().position(wanted)?;
        let item = self.items.remove(place)?;
        self.bytes -= item.weight();
        Some(item)
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.bytes = 0;
    }

    /// Bytes of all items.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn into_items(self) -> VecDeque<T> {
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_full_by_messages_or_by_bytes_whichever_comes_first() {
        let mut queue = Queue::new(2, 10);
        assert!(queue.push(Bytes::from_static(b"a")).is_ok());
        assert!(queue.push(Bytes::new()).is_ok());
        assert_eq!(queue.push(Bytes::from_static(b"back")), Err(Bytes::from_static(b"back")));
        let mut queue = Queue::new(9, 10);
        assert!(queue.push(Bytes::from_static(&[0; 1000])).is_ok());
        assert!(!queue.has_room());
        assert!(!queue.is_half_empty());
        assert_eq!(queue.pop().map(|body| body.len()), Some(1000));
        assert!(queue.has_room() && queue.is_half_empty() && queue.is_empty());
    }
}
