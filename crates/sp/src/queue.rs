//! A queue bounded in messages and in bytes.
//!
//! There is room while both counts are below their bounds, so a single message always fits, however
//! long; the queue exceeds its bound by at most that message.

use alloc::collections::VecDeque;

use bytes::Bytes;

/// An entry of a queue: one message, or several together.
pub(crate) trait Entry: Sized {
    /// The message that is taken out of the queue.
    type Message;

    /// Messages in the entry, at least one.
    fn messages(&self) -> usize {
        1
    }

    /// Their bytes, which count against the byte bound.
    fn bytes(&self) -> usize;

    /// Takes the first message and its bytes, and with its last message the entry.
    fn pop(entries: &mut VecDeque<Self>) -> Option<(Self::Message, usize)>;
}

/// Lets a type be queued that is one message.
macro_rules! one_message {
    ($message:ty: $bytes:expr) => {
        impl $crate::queue::Entry for $message {
            type Message = $message;

            fn bytes(&self) -> usize {
                let bytes: fn(&$message) -> usize = $bytes;
                bytes(self)
            }

            fn pop(
                entries: &mut alloc::collections::VecDeque<$message>,
            ) -> Option<($message, usize)> {
                let message = entries.pop_front()?;
                let bytes = $crate::queue::Entry::bytes(&message);
                Some((message, bytes))
            }
        }
    };
}

pub(crate) use one_message;

one_message!(Bytes: Bytes::len);

/// A bounded queue, first in, first out.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    entries: VecDeque<T>,
    /// Invariant: the messages of all `entries`.
    messages: usize,
    /// Invariant: the bytes of all `entries`.
    bytes: usize,
    messages_max: usize,
    bytes_max: usize,
}

impl<T: Entry> Queue<T> {
    pub(crate) fn new(messages_max: usize, bytes_max: usize) -> Queue<T> {
        Queue { entries: VecDeque::new(), messages: 0, bytes: 0, messages_max, bytes_max }
    }

    /// Sets the bound on messages; messages beyond the new bound stay.
    pub(crate) fn set_length(&mut self, messages_max: usize) {
        self.messages_max = messages_max;
    }

    /// The number of messages.
    pub(crate) fn len(&self) -> usize {
        self.messages
    }

    /// How many messages and bytes it takes until there is no more room.
    pub(crate) fn room(&self) -> (usize, usize) {
        let messages = self.messages_max.saturating_sub(self.messages);
        (messages, self.bytes_max.saturating_sub(self.bytes))
    }

    pub(crate) fn has_room(&self) -> bool {
        self.messages < self.messages_max && self.bytes < self.bytes_max
    }

    /// True if at most half of either bound is used: a sender that was held back may go on, and the
    /// next message does not hold it back again.
    pub(crate) fn is_half_empty(&self) -> bool {
        self.messages <= self.messages_max / 2 && self.bytes <= self.bytes_max / 2
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Appends `entry`, or returns it if there is no room.
    pub(crate) fn push(&mut self, entry: T) -> Result<(), T> {
        if !self.has_room() {
            return Err(entry);
        }
        self.messages += entry.messages();
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T::Message> {
        let (message, bytes) = T::pop(&mut self.entries)?;
        self.messages -= 1;
        self.bytes -= bytes;
        Some(message)
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        (self.messages, self.bytes) = (0, 0);
    }

    /// Removes all messages and returns them.
    pub(crate) fn take(&mut self) -> VecDeque<T::Message> {
        core::iter::from_fn(|| self.pop()).collect()
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
