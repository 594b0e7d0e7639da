//! Writes for an actor, within the bounds of its queue.
//!
//! A write first takes room, first come, first served, and then puts its bytes into the queue; the
//! room returns when they are written. Bytes that arrive during one write form the next one.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, Semaphore, TryAcquireError, mpsc, watch};
use wigwag_wire::IntoBytes;
use wigwag_wire::hint::{write_debug, write_hint};

use crate::io::event::End;
use crate::io::limits::{BATCH_BYTES_MAX, Limits, WRITE_COST_BYTES};

/// The writing end of a stream, file or child that an actor owns; see [the module](crate::io) for
/// an example.
///
/// Clones write into the same queue. When the last one is dropped, waiting bytes are written and
/// the other side is told that no more will come.
#[derive(Clone, Debug)]
pub struct Output {
    queue: Arc<Queue>,
    put: mpsc::UnboundedSender<Bytes>,
}

/// The state shared by all writers. The channel beside it needs no bound: each sender has taken
/// room first.
#[derive(Debug)]
pub(in crate::io) struct Queue {
    room: Semaphore,
    room_max: usize,
    closing: Notify,
    ended: watch::Sender<Option<End>>,
}

/// A refused write, with its bytes.
pub struct WriteError {
    /// The bytes, which were not written.
    pub bytes: Bytes,
    /// The reason.
    pub kind: WriteErrorKind,
}

impl WriteError {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        self.kind.hint()
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes were not written: {}", self.bytes.len(), self.kind)?;
        write_hint(f, self.hint())
    }
}

impl fmt::Debug for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "WriteError", Some(&self.kind), self, self.hint())
    }
}

impl Error for WriteError {}

/// Why a write was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteErrorKind {
    /// The queue has no room: the other side reads too slowly.
    #[error("the peer has not read what waits already")]
    Full,
    /// The write is larger than the queue.
    #[error("{most} are allowed at once")]
    TooLong {
        /// The most bytes of one write.
        most: usize,
    },
    /// The output has ended.
    #[error("{0}")]
    Ended(End),
}

impl WriteErrorKind {
    /// A hint how to fix it; names in backticks are those of the API.
    pub fn hint(&self) -> &'static str {
        match self {
            WriteErrorKind::Full => "wait with `Output::write`, or give the peer up",
            WriteErrorKind::TooLong { .. } => {
                "write less at once, or raise `Limits::writing_bytes_max`"
            }
            WriteErrorKind::Ended(_) => "open another stream",
        }
    }
}

impl Output {
    /// Puts bytes into the queue if there is room, and hands them back otherwise. `Ok` means that
    /// they wait in the queue, not that the other side has them.
    ///
    /// # Errors
    /// [`Full`](WriteErrorKind::Full) if the queue has no room,
    /// [`TooLong`](WriteErrorKind::TooLong) if it never will, [`Ended`](WriteErrorKind::Ended) if
    /// the output has ended.
    pub fn try_write(&self, bytes: impl IntoBytes) -> Result<(), WriteError> {
        let bytes = bytes.into_bytes();
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

    /// Puts bytes into the queue, and waits for room: first come, first served.
    ///
    /// # Errors
    /// [`TooLong`](WriteErrorKind::TooLong) if the queue can never hold them,
    /// [`Ended`](WriteErrorKind::Ended) if the output has ended.
    ///
    /// # Cancellation
    /// If dropped while it waits, nothing is written.
    pub async fn write(&self, bytes: impl IntoBytes) -> Result<(), WriteError> {
        let bytes = bytes.into_bytes();
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

    /// Bytes that wait to be written, each write charged [`WRITE_COST_BYTES`] on top.
    pub fn waiting_bytes(&self) -> usize {
        self.queue.room_max.saturating_sub(self.queue.room.available_permits())
    }

    /// Refuses further writes. Waiting bytes are still written, and then the other side is told
    /// that no more will come.
    pub fn close(&self) {
        self.queue.close();
    }

    /// Waits for the end of the output, after the last bytes were written; returns the reason.
    pub async fn ended(&self) -> End {
        let mut ended = self.queue.ended.subscribe();
        let end = ended.wait_for(Option::is_some).await;
        // `self` owns the sender.
        end.ok().and_then(|end| end.clone()).unwrap_or(End::Stopped)
    }

    fn refuse(&self, bytes: Bytes) -> WriteError {
        let end = self.queue.ended.borrow().clone().unwrap_or(End::Stopped);
        WriteError { bytes, kind: WriteErrorKind::Ended(end) }
    }
}

impl Queue {
    /// The cost of writing these bytes, or an error if they can never fit.
    fn cost(&self, bytes: &Bytes) -> Result<u32, WriteErrorKind> {
        let most = self.room_max - WRITE_COST_BYTES;
        let cost = u32::try_from(bytes.len().saturating_add(WRITE_COST_BYTES));
        cost.ok().filter(|_| bytes.len() <= most).ok_or(WriteErrorKind::TooLong { most })
    }

    /// Refuses further writes.
    pub(in crate::io) fn close(&self) {
        self.room.close();
        self.closing.notify_one();
    }
}

/// The writing task's state. Dropping it ends the output, however the task ends.
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
    /// Records the end; only the first one counts.
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
            // A file has the bytes only after this.
            to.flush().await?;
            self.queue.room.add_permits(cost);
        }
        to.shutdown().await
    }

    /// The next bytes to write; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        tokio::select! {
            biased;
            next = self.waiting.recv() => return next,
            () = self.queue.closing.notified() => self.waiting.close(),
        }
        self.waiting.recv().await
    }
}

/// An output, and the future that writes for it.
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
