//! The writing half of a connection, which the driver and all senders share.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use wigwag_wire::Batch;

use super::ConnectionHandler;
use super::handover::Handover;
use super::signal::Signal;
use crate::clock;
use crate::sync::{AtomicBool, Ordering};
use crate::transport::Outlet;

struct Writing {
    batch: Batch,
    failed: Option<io::Error>,
    /// `None` once the connection is over: its descriptor must not outlive it.
    outlet: Option<Arc<dyn Outlet>>,
}

/// The writing half of a connection, shared by the driver and all senders.
pub struct Flusher {
    writing: Handover<Writing>,
    /// The socket has no room; no thread writes until the driver has seen some.
    pub(super) blocked: AtomicBool,
    /// The driver has queued itself behind the tasks that are runnable now.
    pub(super) queued: AtomicBool,
    pub(super) signal: Signal,
}

impl Flusher {
    /// Creates a flusher for `outlet`.
    pub fn new(outlet: Arc<dyn Outlet>) -> Flusher {
        let writing = Writing { batch: Batch::new(), failed: None, outlet: Some(outlet) };
        Flusher {
            writing: Handover::new(writing),
            blocked: AtomicBool::new(false),
            queued: AtomicBool::new(false),
            signal: Signal::default(),
        }
    }

    /// Writes all waiting messages on the calling thread, as far as the socket has room. One system
    /// call a batch; never waits. If another thread is writing, it also writes this thread's
    /// messages.
    pub fn flush(&self, handler: &(impl ConnectionHandler + ?Sized)) {
        if self.blocked.load(Ordering::SeqCst) {
            return;
        }
        self.writing.run(|writing| self.write_all(writing, handler));
    }

    /// [`flush`](Self::flush) for a sender whose messages are dropped if they are not written: waits
    /// for a thread that is writing, which does not wait for room, and tries again where the socket
    /// had none.
    pub fn flush_here(&self, handler: &(impl ConnectionHandler + ?Sized)) {
        self.writing.run_here(|writing| self.write_all(writing, handler));
    }

    /// True while the driver is queued behind the tasks that it has woken: what they send, it can
    /// write together.
    pub fn is_driver_queued(&self) -> bool {
        self.queued.load(Ordering::SeqCst)
    }

    /// True if the driver is queued or was woken to write.
    pub fn is_driver_due(&self) -> bool {
        self.is_driver_queued() || self.signal.is_raised()
    }

    /// Makes the driver flush; for a sender that must not pay for the write, because it would pay
    /// for one with every message.
    ///
    /// True if the driver was asleep and is now queued to run, which a blocked thread may delay.
    pub fn wake_driver(&self) -> bool {
        self.signal.raise()
    }

    /// How often the driver was woken from sleep, and whether it has not run since the last time.
    /// False while there is no room to write, or no connection.
    pub fn wakes(&self) -> (u64, bool) {
        let (wakes, is_unanswered) = self.signal.wakes();
        (wakes, is_unanswered && !self.blocked.load(Ordering::SeqCst))
    }

    /// Writes all waiting messages on the calling thread, waiting for room for at most `limit`; for
    /// a process that is about to exit. If another thread is writing, waits for that one first, since
    /// it does not wait for room. True if nothing is left.
    pub fn flush_blocking(
        &self,
        handler: &(impl ConnectionHandler + ?Sized),
        limit: Duration,
    ) -> bool {
        let begun = std::time::Instant::now();
        let mut done = false;
        self.writing.run_here(|writing| {
            done = writing.failed.is_none();
            while done {
                if writing.batch.is_empty() {
                    handler.fill(&mut writing.batch, clock::now());
                }
                let Some(slice) = writing.batch.slices().find(|slice| !slice.is_empty()) else {
                    return;
                };
                let left = limit.saturating_sub(begun.elapsed());
                let outlet = writing.outlet.as_ref();
                match outlet.map(|outlet| outlet.write_blocking(slice, left)) {
                    Some(Ok(written)) if written > 0 => writing.batch.advance(written),
                    _ => done = false,
                }
            }
        });
        done
    }

    /// Closes the connection and drops its writing half, whose descriptor is free as soon as the
    /// driver has ended too. Nothing is written from now on. True if a part of the last batch of
    /// [`ConnectionHandler::fill`] was not written, so the peer does not have it whole.
    pub fn retire(&self) -> bool {
        self.end(|outlet| outlet.close())
    }

    /// Like [`retire`](Self::retire), but the peer gets an error if the transport can: what it sent
    /// was refused.
    pub fn abort(&self) -> bool {
        self.end(|outlet| outlet.abort())
    }

    fn end(&self, close: impl FnOnce(&dyn Outlet)) -> bool {
        self.blocked.store(true, Ordering::SeqCst);
        self.writing.run_alone(|writing| {
            writing.failed.get_or_insert(io::ErrorKind::NotConnected.into());
            let outlet = writing.outlet.take();
            let is_held = outlet.as_ref().is_some_and(|outlet| outlet.try_flush().is_err());
            if let Some(outlet) = outlet {
                close(&*outlet);
            }
            is_held || !writing.batch.is_empty()
        })
    }

    /// The writing half; `None` after [`retire`](Self::retire).
    pub fn outlet(&self) -> Option<Arc<dyn Outlet>> {
        self.writing.run_alone(|writing| writing.outlet.clone())
    }

    fn write_all(&self, writing: &mut Writing, handler: &(impl ConnectionHandler + ?Sized)) {
        if writing.failed.is_some() {
            return;
        }
        loop {
            if writing.batch.is_empty() {
                handler.fill(&mut writing.batch, clock::now());
            }
            match write_once(writing) {
                Ok(Written::All) => return,
                Ok(Written::Some) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.blocked.store(true, Ordering::SeqCst);
                    self.signal.raise();
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    writing.failed = Some(error);
                    self.signal.raise();
                    return;
                }
            }
        }
    }

    pub(super) fn take_failure(&self) -> Option<io::Error> {
        let mut failed = None;
        self.writing.run(|writing| {
            if let Some(error) = &writing.failed {
                failed = Some(error.kind().into());
            }
        });
        failed
    }
}

enum Written {
    /// More may be waiting.
    Some,
    /// Nothing was left to write.
    All,
}

fn write_once(writing: &mut Writing) -> io::Result<Written> {
    let outlet = writing.outlet.as_ref().ok_or(io::ErrorKind::NotConnected)?;
    if writing.batch.is_empty() {
        return outlet.try_flush().map(|()| Written::All);
    }
    outlet.try_write_batch(&mut writing.batch).map(|()| Written::Some)
}
