//! The credit of a stream that this process sends, shared by its producer and the reader
//! of the connection.

use std::sync::{OnceLock, PoisonError};
use std::task::{Poll, Waker};

use wigwag_actor::CallErrorKind;
use wigwag_link::credit::StreamId;

use super::OfSlot;
use crate::sync::{AtomicBool, AtomicU64, Mutex, MutexGuard, Ordering};

/// The credit of one stream. Only its producer knows what is used.
pub(crate) struct Outlet {
    pub(crate) id: StreamId,
    limit: AtomicU64,
    /// The consumer has gone.
    is_over: AtomicBool,
    /// Why it has gone, of a stream that is a value.
    gone: OnceLock<Gone>,
    producer: Mutex<Option<Waker>>,
    /// The producer waits for room in the outbox: it stands in the list of those. Changed under the
    /// session's lock.
    pub(crate) waits_for_room: AtomicBool,
}

/// Why a stream that is a value has no reader.
#[derive(Clone, Debug)]
pub(crate) struct Gone {
    pub(crate) kind: CallErrorKind,
    pub(crate) text: Box<str>,
    /// The peer has not opened it, so it is not told of the end.
    pub(crate) is_refused: bool,
}

impl Outlet {
    pub(crate) fn new(id: StreamId, limit: u64) -> Outlet {
        Outlet {
            id,
            limit: AtomicU64::new(limit),
            is_over: AtomicBool::new(false),
            gone: OnceLock::new(),
            producer: Mutex::new(None),
            waits_for_room: AtomicBool::new(false),
        }
    }

    /// Units that are left to a producer that has used `used`.
    pub(crate) fn left(&self, used: u64) -> u64 {
        // Relaxed: a producer that finds too little takes the lock before it looks again.
        self.limit.load(Ordering::Relaxed).saturating_sub(used)
    }

    /// True if the consumer has given credit: it has opened the stream.
    pub(crate) fn is_open(&self) -> bool {
        self.left(0) > 0
    }

    /// True while a consumer takes the items.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.is_over.load(Ordering::Acquire)
    }

    /// ITEM_CREDIT has come. A limit that is not higher is ignored.
    pub(crate) fn raise(&self, limit: u64) {
        self.limit.fetch_max(limit, Ordering::Relaxed);
        self.wake();
    }

    /// The consumer has gone, for the first reason that is given.
    pub(crate) fn end_because(&self, gone: Gone) {
        // Before the flag that says so. A later reason is dropped.
        let _ = self.gone.set(gone);
        self.end();
    }

    /// Why the consumer has gone.
    pub(crate) fn gone(&self) -> Option<Gone> {
        self.gone.get().cloned()
    }

    /// The consumer has gone.
    pub(crate) fn end(&self) {
        // Pairs with `is_wanted`: the reason is read behind it.
        self.is_over.store(true, Ordering::Release);
        self.wake();
    }

    /// Wakes the producer, to try again.
    pub(crate) fn wake(&self) {
        let waker = self.lock().take();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Ready when `is_time` is true; otherwise `waker` is woken when it may have become so.
    pub(crate) fn poll(&self, waker: &Waker, is_time: impl FnOnce(&Outlet) -> bool) -> Poll<()> {
        // A thread that changes something takes the lock afterwards: it finds the waker, or this finds
        // the change.
        let mut producer = self.lock();
        if is_time(self) {
            return Poll::Ready(());
        }
        if !producer.as_ref().is_some_and(|old| old.will_wake(waker)) {
            *producer = Some(waker.clone());
        }
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, Option<Waker>> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.producer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OfSlot for Outlet {
    fn generation(&self) -> u32 {
        match self.id {
            StreamId::Answer(_, generation) => generation,
            StreamId::Value(_) => 0,
        }
    }
}
