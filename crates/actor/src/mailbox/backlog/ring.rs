//! A ring that one thread writes without a lock and another one reads: rtrb's, or, when a model is
//! checked, a queue whose steps the model checker sees.

#[cfg(not(any(wigwag_loom, wigwag_shuttle)))]
mod shipped {
    /// The writing end.
    pub(crate) struct Writer<T>(rtrb::Producer<T>);

    /// The reading end.
    pub(crate) struct Reader<T>(rtrb::Consumer<T>);

    /// Creates a ring with room for `capacity` items.
    pub(crate) fn ring<T>(capacity: usize) -> (Writer<T>, Reader<T>) {
        let (writer, reader) = rtrb::RingBuffer::new(capacity);
        (Writer(writer), Reader(reader))
    }

    impl<T> Writer<T> {
        /// Appends an item, or returns it when the ring is full.
        #[inline(always)]
        pub(crate) fn push(&mut self, item: T) -> Result<(), T> {
            self.0.push(item).map_err(|rtrb::PushError::Full(item)| item)
        }
    }

    impl<T> Reader<T> {
        /// The number of items that can be taken: all those whose push happened before this call.
        pub(crate) fn len(&self) -> usize {
            self.0.slots()
        }

        /// Takes the first `count` items; `count` is at most what [`len`](Self::len) has returned.
        pub(crate) fn take(&mut self, count: usize, mut each: impl FnMut(T)) {
            if let Ok(items) = self.0.read_chunk(count) {
                items.into_iter().for_each(&mut each);
            }
        }
    }
}

#[cfg(any(wigwag_loom, wigwag_shuttle))]
mod modelled {
    use std::collections::VecDeque;
    use std::sync::{Arc, PoisonError};

    use crate::sync::Mutex;

    type Shared<T> = Arc<Mutex<VecDeque<T>>>;

    pub(crate) struct Writer<T>(Shared<T>, usize);

    pub(crate) struct Reader<T>(Shared<T>);

    pub(crate) fn ring<T>(capacity: usize) -> (Writer<T>, Reader<T>) {
        let shared = Arc::new(Mutex::new(VecDeque::new()));
        (Writer(shared.clone(), capacity), Reader(shared))
    }

    impl<T> Writer<T> {
        pub(crate) fn push(&mut self, item: T) -> Result<(), T> {
            let mut items = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if items.len() >= self.1 {
                return Err(item);
            }
            items.push_back(item);
            Ok(())
        }
    }

    impl<T> Reader<T> {
        pub(crate) fn len(&self) -> usize {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
        }

        pub(crate) fn take(&mut self, count: usize, each: impl FnMut(T)) {
            let taken: Vec<T> = {
                let mut items = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                let count = count.min(items.len());
                items.drain(..count).collect()
            };
            taken.into_iter().for_each(each);
        }
    }
}

#[cfg(any(wigwag_loom, wigwag_shuttle))]
pub(crate) use modelled::{Reader, Writer, ring};
#[cfg(not(any(wigwag_loom, wigwag_shuttle)))]
pub(crate) use shipped::{Reader, Writer, ring};
