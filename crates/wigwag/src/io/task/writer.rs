//! Writes for an actor, within the bounds of its queue.
//!
//! A write first takes room, first come, first served, and then puts its bytes into the queue
//! (`pending.rs`); the room returns when they are written. The bytes that an actor puts into the queue
//! of a stream in one turn are written at the end of the turn, on its thread; those that the stream does
//! not take then, and all others, are written by a task. Bytes that arrive during one write of it form the next one.

use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use bytes::Bytes;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, TryAcquireError, watch};
use wigwag_actor::turn::buffers::{self, AfterPublish, TurnBuffer};
use wigwag_wire::IntoBytes;
use wigwag_wire::hint::{write_debug, write_hint};

use super::pending::{Pending, Work};
use crate::io::event::End;
use crate::io::limits::{Limits, WRITE_COST_BYTES};
use crate::lock::lock;

/// The writing end of a stream, file or child that an actor owns; see [the module](crate::io) for
/// an example.
///
/// Clones write into the same queue. When the last one is dropped, waiting bytes are written and
/// the other side is told that no more will come.
#[derive(Clone, Debug)]
pub struct Output {
    queue: Arc<Queue>,
    /// Dropped with the last clone.
    _last: Arc<CloseOnDrop>,
}

/// The state shared by all writers and the writing task.
#[derive(Debug)]
pub(in crate::io) struct Queue {
    room: Semaphore,
    room_max: usize,
    /// Bytes for which room was taken, so it needs no bound of its own.
    pending: Mutex<Pending>,
    /// Turns write themselves, which no write holds up.
    is_written_by_turns: bool,
    ended: watch::Sender<Option<End>>,
}

/// Closes the queue when the last output is dropped.
#[derive(Debug)]
struct CloseOnDrop(Arc<Queue>);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close();
    }
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
        self.queue.put(bytes, cost).map_err(|bytes| self.refuse(bytes))
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
        self.queue.put(bytes, cost).map_err(|bytes| self.refuse(bytes))
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

    /// Queues bytes whose room was taken. Hands them back if the output has ended.
    fn put(self: &Arc<Queue>, bytes: Bytes, cost: u32) -> Result<(), Bytes> {
        let mut pending = lock(&self.pending);
        pending.put(bytes, cost as usize)?;
        if self.is_written_by_turns && pending.is_idle() {
            drop(pending);
            let target = Arc::as_ptr(self).addr();
            let at_end = |_| Some(Box::new(TurnEnd(self.clone())));
            if buffers::with(target, at_end, |_: &mut TurnEnd| ()).is_some() {
                return Ok(());
            }
            pending = lock(&self.pending);
        }
        let task = pending.task();
        drop(pending);
        task.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Refuses further writes.
    pub(in crate::io) fn close(&self) {
        self.room.close();
        let task = lock(&self.pending).close();
        task.into_iter().for_each(Waker::wake);
    }
}

/// Writes what a turn has put into the queue of a stream, at the end of the turn.
struct TurnEnd(Arc<Queue>);

impl TurnBuffer for TurnEnd {
    fn publish(&mut self) -> AfterPublish {
        let (free, task) = lock(&self.0.pending).write_now();
        self.0.room.add_permits(free);
        task.into_iter().for_each(Waker::wake);
        AfterPublish::Drop
    }
}

/// The writing task's state. Dropping it ends the output, however the task ends.
struct Writer {
    queue: Arc<Queue>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.end(End::Stopped);
        // The other side is told now, and not when the last output is dropped.
        let left = lock(&self.queue.pending).end();
        drop(left);
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

    async fn run(self) {
        if let Err(error) = self.write().await {
            self.end(error.into());
        }
    }

    async fn write(&self) -> std::io::Result<()> {
        loop {
            match poll_fn(|context| lock(&self.queue.pending).poll_work(context.waker())).await {
                Work::Write { mut sink, bytes, cost } => {
                    sink.write_all(&bytes).await?;
                    // A file has the bytes only after this.
                    sink.flush().await?;
                    self.queue.room.add_permits(cost);
                    lock(&self.queue.pending).give_back(sink);
                }
                Work::Finish(mut sink) => return sink.shutdown().await,
                Work::Failed(error) => return Err(error),
            }
        }
    }
}

/// An output, and the future that writes for it. `is_written_by_turns` says that the sink may be written
/// to on the thread of the actor, which no write holds up.
pub(in crate::io) fn writer(
    to: impl AsyncWrite + Unpin + Send + 'static,
    limits: &Limits,
    is_written_by_turns: bool,
) -> (Output, impl Future<Output = ()> + Send + 'static) {
    let queue = Arc::new(Queue {
        room: Semaphore::new(limits.writing_bytes),
        room_max: limits.writing_bytes,
        pending: Mutex::new(Pending::new(Box::new(to))),
        is_written_by_turns,
        ended: watch::Sender::new(None),
    });
    let writer = Writer { queue: queue.clone() };
    let last = Arc::new(CloseOnDrop(queue.clone()));
    (Output { queue, _last: last }, writer.run())
}

impl Output {
    pub(in crate::io) fn queue(&self) -> Arc<Queue> {
        self.queue.clone()
    }
}
