//! The batches of open turns: calls that a thread has sent and not yet published.
//!
//! A turn writes its batch without the lock of the mailbox. Still, a call that another thread sends
//! after one of the batch must be handled after it. So the batch is a ring whose reading end lies
//! with the mailbox: a thread that sends by the lock first moves the calls of all batches into the
//! queue.
//!
//! A batch holds tells only: a call that is answered goes by the lock. So a place of the ring, which
//! moves from one core's cache to another's, is no larger than the message.
//!
//! Order among batches: only the newest batch is open. A thread that opens one closes the one
//! before it, whose thread notices this before its next call; until then it may still add calls.
//! A call that follows one of a newer batch is never added to an older one, because what precedes
//! it includes the closing, which the thread then sees. Therefore the batches are moved from the
//! oldest to the newest, up to lengths that are read from the newest to the oldest: a call that
//! precedes one within these lengths is within them too.

use std::sync::Arc;

use crate::limits::RUN_CALLS_MAX;
use crate::mailbox::backlog::ring::{Reader, Writer, ring};
use crate::sync::{AtomicBool, Ordering};

/// Calls that a batch may add before another thread closes it, so that two threads which send to
/// one actor at the same time take turns of this length.
const TENURE_CALLS: usize = if cfg!(any(wigwag_loom, wigwag_shuttle)) { 1 } else { RUN_CALLS_MAX };

/// A turn's batch, as the turn sees it.
pub(crate) struct Batch<M> {
    open: Option<OpenBatch<M>>,
    /// Leased places that are not used yet.
    room: usize,
}

struct OpenBatch<M> {
    tells: Writer<M>,
    is_closed: Arc<AtomicBool>,
}

impl<M> Default for Batch<M> {
    fn default() -> Batch<M> {
        Batch { open: None, room: 0 }
    }
}

impl<M> Batch<M> {
    /// Adds a tell, taking it out of its `Option`. False: the batch has no leased place, or was
    /// closed by another thread.
    #[inline(always)]
    pub(crate) fn push(&mut self, message: &mut Option<M>) -> bool {
        let Some(taken) = message.take() else { return true };
        *message = self.add(taken).err();
        message.is_none()
    }

    /// Adds a tell, or returns it.
    #[inline(always)]
    pub(crate) fn add(&mut self, message: M) -> Result<(), M> {
        // Relaxed: a closing that precedes this call is seen by it, and no other one matters.
        match &mut self.open {
            Some(open) if self.room > 0 && !open.is_closed.load(Ordering::Relaxed) => {
                self.room -= 1;
                open.tells.push(message)
            }
            _ => Err(message),
        }
    }
}

/// The reading end of a batch.
struct BatchReader<M> {
    tells: Reader<M>,
    is_closed: Arc<AtomicBool>,
    /// Calls that were moved into the queue.
    moved: usize,
    /// The length of this batch within the collection that is under way.
    length: usize,
}

/// The batches of all turns that have sent to one mailbox, the oldest first.
pub(crate) struct Batches<M>(Vec<BatchReader<M>>);

impl<M> Default for Batches<M> {
    fn default() -> Batches<M> {
        Batches(Vec::new())
    }
}

impl<M> Batches<M> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Passes on the calls of all batches, in an order that keeps what happened before what;
    /// returns their number.
    pub(crate) fn collect(&mut self, mut each: impl FnMut(M)) -> usize {
        for batch in self.0.iter_mut().rev() {
            batch.length = batch.tells.len();
        }
        let mut moved = 0;
        for batch in self.0.iter_mut().filter(|batch| batch.length > 0) {
            batch.tells.take(batch.length, &mut each);
            batch.moved += batch.length;
            moved += batch.length;
        }
        moved
    }

    /// Opens `batch`, if it is not open, and closes the one of another thread. The caller has
    /// collected the calls. False while the turn of another thread has sent little so far.
    pub(crate) fn open(&mut self, batch: &mut Batch<M>) -> bool {
        if batch.open.as_ref().is_some_and(|open| open.is_closed.load(Ordering::Relaxed)) {
            self.remove(batch);
        }
        if batch.open.is_some() {
            return true;
        }
        if let Some(newest) = self.0.last() {
            // A closed batch stays until its own thread has noticed that.
            if newest.moved < TENURE_CALLS && !newest.is_closed.load(Ordering::Relaxed) {
                return false;
            }
            newest.is_closed.store(true, Ordering::Relaxed);
        }
        let (writer, reader) = ring(RUN_CALLS_MAX);
        let is_closed = Arc::new(AtomicBool::new(false));
        batch.open = Some(OpenBatch { tells: writer, is_closed: is_closed.clone() });
        self.0.push(BatchReader { tells: reader, is_closed, moved: 0, length: 0 });
        true
    }

    /// Forgets `batch`, whose calls were collected or are passed to the caller.
    pub(crate) fn remove(&mut self, batch: &mut Batch<M>) -> Vec<M> {
        let Some(open) = batch.open.take() else { return Vec::new() };
        let is_it = |reader: &BatchReader<M>| Arc::ptr_eq(&reader.is_closed, &open.is_closed);
        let Some(at) = self.0.iter().position(is_it) else { return Vec::new() };
        let mut reader = self.0.remove(at);
        let mut left = Vec::new();
        reader.tells.take(reader.tells.len(), |message| left.push(message));
        left
    }
}

impl<M> Batch<M> {
    /// Takes out the places that were leased and not used.
    pub(crate) fn take_room(&mut self) -> usize {
        std::mem::take(&mut self.room)
    }

    pub(crate) fn lease(&mut self, places: usize) {
        self.room += places;
    }
}
