//! Writes for an actor, as far as its queue goes.
//!
//! A writer first pays for the room, first come, first served, and then puts the bytes into the
//! queue; the room is returned when they are written. The bytes that accumulate during one write
//! are the next one.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, Semaphore, TryAcquireError, mpsc, watch};

use crate::io::event::End;
use crate::io::limits::{BATCH_BYTES_MAX, Limits, WRITE_COST_BYTES};

/// Where an actor writes. Clones write into the same queue; when the last one is dropped, what
/// waits is written and the other side is told that no more will come.
#[derive(Clone, Debug)]
pub struct Output {
    queue: Arc<Queue>,
    put: mpsc::UnboundedSender<Bytes>,
}

/// The state that writers share. The channel beside it has no bound of its own, because a writer
/// has paid before it sends.
#[derive(Debug)]
pub(in crate::io) struct Queue {
    room: Semaphore,
    room_max: usize,
    closing: Notify,
    ended: watch::Sender<Option<End>>,
}

/// Nothing was written; the bytes come back.
#[derive(Debug, thiserror::Error)]
#[error("{} bytes were not written: {kind}", bytes.len())]
pub struct WriteError {
    /// The bytes that were to be written.
    pub bytes: Bytes,
    /// Why it was not.
    pub kind: WriteErrorKind,
}

/// Why nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteErrorKind {
    /// The other side reads too slowly.
    #[error("the peer has not read what waits already\n mend: await `write`, or give the peer up")]
    Full,
    /// It could never be written.
    #[error("{most} are allowed at once\n mend: write less at once, or raise writing_bytes_max")]
    TooLong {
        /// The limit.
        most: usize,
    },
    /// It is over.
    #[error("{0}\n mend: open another stream")]
    Ended(End),
}

impl Output {
    /// Writes if there is room now, and hands the bytes back otherwise.
    ///
    /// # Errors
    /// `Full`, `TooLong`, or how the output has ended. `Ok` says that they wait in the queue, not
    /// that the other side has them.
    pub fn try_write(&self, bytes: impl Into<Bytes>) -> Result<(), WriteError> {
        let bytes = bytes.into();
        let cost = match self.queue.cost(&bytes) {
            Ok(cost) => cost,
            Err(kind) => return Err(WriteError { bytes, kind }),
        };
        match self.queue.room.try_acquire_many(cost) {
            Ok(permit) => permit.forget(),
            Err(TryAcquireError::NoPermits) => {
                return Err(WriteError { bytes, kind: WriteErrorKind::Full });
            }
            Err(TryAcquireError::Closed) => return Err(self.refuse(bytes)),
        }
        self.put.send(bytes).map_err(|bytes| self.refuse(bytes.0))
    }

    /// Writes, waiting for room: first come, first served.
    ///
    /// # Errors
    /// `TooLong`, or how the output has ended.
    ///
    /// # Cancellation
    /// Dropped while it waits, nothing is written.
    pub async fn write(&self, bytes: impl Into<Bytes>) -> Result<(), WriteError> {
        let bytes = bytes.into();
        let cost = match self.queue.cost(&bytes) {
            Ok(cost) => cost,
            Err(kind) => return Err(WriteError { bytes, kind }),
        };
        match self.queue.room.acquire_many(cost).await {
            Ok(permit) => permit.forget(),
            Err(_) => return Err(self.refuse(bytes)),
        }
        self.put.send(bytes).map_err(|bytes| self.refuse(bytes.0))
    }

    /// Bytes that wait, each write with [`WRITE_COST_BYTES`] on top.
    pub fn waiting_bytes(&self) -> usize {
        self.queue.room_max.saturating_sub(self.queue.room.available_permits())
    }

    /// Lets nothing in any more; what waits is written still, and the other side is told that no more
    /// will come.
    pub fn close(&self) {
        self.queue.close();
    }

    /// Waits until nothing can be written any more and what could be was; says why.
    pub async fn ended(&self) -> End {
        let mut ended = self.queue.ended.subscribe();
        let end = ended.wait_for(Option::is_some).await;
        // Its sender lives in `self`.
        end.ok().and_then(|end| end.clone()).unwrap_or(End::Stopped)
    }

    fn refuse(&self, bytes: Bytes) -> WriteError {
        let end = self.queue.ended.borrow().clone().unwrap_or(End::Stopped);
        WriteError { bytes, kind: WriteErrorKind::Ended(end) }
    }
}

impl Queue {
    /// The charge for a write of these bytes.
    fn cost(&self, bytes: &Bytes) -> Result<u32, WriteErrorKind> {
        let most = self.room_max - WRITE_COST_BYTES;
        let cost = u32::try_from(bytes.len().saturating_add(WRITE_COST_BYTES));
        cost.ok().filter(|_| bytes.len() <= most).ok_or(WriteErrorKind::TooLong { most })
    }

    /// Lets nothing in any more.
    pub(in crate::io) fn close(&self) {
        self.room.close();
        self.closing.notify_one();
    }
}

/// However the writing ends, everybody hears of it.
struct Writer {
    queue: Arc<Queue>,
    waiting: mpsc::UnboundedReceiver<Bytes>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end(End::Stopped);
    }
}

impl Writer {
    /// The first end counts.
    fn end(&self, end: End) {
        self.queue.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            *ended = ended.take().or(Some(end));
            first
        });
        self.queue.room.close();
    }

    async fn run(mut self, mut to: impl AsyncWrite + Unpin) {
        if let Err(error) = self.write(&mut to).await {
            self.end(error.into());
        }
    }

    async fn write(&mut self, to: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
        while let Some(first) = self.next().await {
            let mut cost = first.len() + WRITE_COST_BYTES;
            match self.waiting.try_recv() {
                Err(_) => to.write_all(&first).await?,
                Ok(second) => {
                    let mut batch = Vec::with_capacity(first.len() + second.len());
                    batch.extend_from_slice(&first);
                    let mut next = Some(second);
                    while let Some(bytes) = next {
                        cost += bytes.len() + WRITE_COST_BYTES;
                        batch.extend_from_slice(&bytes);
                        let more = batch.len() < BATCH_BYTES_MAX;
                        next = more.then(|| self.waiting.try_recv().ok()).flatten();
                    }
                    to.write_all(&batch).await?;
                }
            }
            // A file has it only then.
            to.flush().await?;
            self.queue.room.add_permits(cost);
        }
        to.shutdown().await
    }

    /// Returns the next bytes to be written; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            biased;
            next = self.waiting.recv() => return next,
            () = self.queue.closing.notified() => self.waiting.close(),
        }
        self.waiting.recv().await
    }
}

/// An output, and what writes for it.
pub(in crate::io) fn writer(
    to: impl AsyncWrite + Unpin + Send + 'static,
    limits: &Limits,
) -> (Output, impl Future<Output = ()> + Send + 'static) {
    let (put, waiting) = mpsc::unbounded_channel();
    let queue = Arc::new(Queue {
        room: Semaphore::new(limits.writing_bytes),
        room_max: limits.writing_bytes,
        closing: Notify::new(),
        ended: watch::Sender::new(None),
    });
    let writer = Writer { queue: queue.clone(), waiting };
    (Output { queue, put }, writer.run(to))
}

impl Output {
    pub(in crate::io) fn queue(&self) -> Arc<Queue> {
        self.queue.clone()
    }
}
