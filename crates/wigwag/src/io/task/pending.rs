//! The bytes of an output that wait for their sink, and the sink while nobody writes to it.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;
use tokio::runtime::Handle;

use crate::io::limits::BATCH_BYTES_MAX;

/// Where the bytes go.
pub(super) type Sink = Box<dyn AsyncWrite + Send + Unpin>;

/// The next step of the writing task.
pub(super) enum Work {
    /// Write these bytes, and give the sink back.
    Write {
        sink: Sink,
        bytes: Bytes,
        /// The room that they have taken.
        cost: usize,
    },
    /// Tell the other side that no more will come.
    Finish(Sink),
    /// A write at the end of a turn has failed.
    Failed(io::Error),
}

/// The waiting bytes of one output.
pub(super) struct Pending {
    /// `None` while the writing task has it, and after the end.
    sink: Option<Sink>,
    /// Bytes and the room that they have taken, in the order in which they are written. Without bytes
    /// it says that the sink is to be flushed.
    waiting: VecDeque<(Bytes, usize)>,
    failed: Option<io::Error>,
    /// No more is accepted.
    is_closed: bool,
    /// The writing task, while it waits.
    task: Option<Waker>,
}

impl Pending {
    pub(super) fn new(sink: Sink) -> Pending {
        Pending {
            sink: Some(sink),
            waiting: VecDeque::new(),
            failed: None,
            is_closed: false,
            task: None,
        }
    }

    /// Queues bytes that have taken `cost` of the room.
    ///
    /// # Errors
    /// The bytes, if no more is accepted.
    pub(super) fn put(&mut self, bytes: Bytes, cost: usize) -> Result<(), Bytes> {
        if self.is_closed {
            return Err(bytes);
        }
        self.waiting.push_back((bytes, cost));
        Ok(())
    }

    /// True while nobody writes to the sink.
    pub(super) fn is_idle(&self) -> bool {
        self.sink.is_some()
    }

    /// The writing task, to be woken, if it waits.
    pub(super) fn task(&mut self) -> Option<Waker> {
        self.task.take()
    }

    /// Writes what the sink takes now, on this thread. Returns the room that came free, and the writing
    /// task if it is to be woken, because there is more to do.
    pub(super) fn write_now(&mut self) -> (usize, Option<Waker>) {
        let mut free = 0;
        let is_done = self.write_waiting(&mut free).unwrap_or_else(|error| {
            self.failed = Some(error);
            false
        });
        (free, if is_done { None } else { self.task.take() })
    }

    /// Returns whether nothing is left to do. Nobody is woken when the sink takes more: the writing task,
    /// which is woken then, asks again.
    fn write_waiting(&mut self, free: &mut usize) -> io::Result<bool> {
        // Some sinks need a runtime, and a thread without one has turns too.
        if self.failed.is_some() || Handle::try_current().is_err() {
            return Ok(false);
        }
        let mut context = Context::from_waker(Waker::noop());
        while !self.waiting.is_empty() {
            let Some(sink) = &mut self.sink else { return Ok(false) };
            let Some((mut bytes, cost)) = next_batch(&mut self.waiting) else { break };
            let written = Pin::new(sink).poll_write(&mut context, &bytes);
            if let Poll::Ready(Ok(written)) = written {
                bytes.advance(written);
            }
            if !bytes.is_empty() || !matches!(written, Poll::Ready(Ok(_))) {
                self.waiting.push_front((bytes, cost));
                return match written {
                    Poll::Ready(Err(error)) => Err(error),
                    Poll::Ready(Ok(_)) | Poll::Pending => Ok(false),
                };
            }
            *free += cost;
        }
        let Some(sink) = &mut self.sink else { return Ok(false) };
        match Pin::new(sink).poll_flush(&mut context) {
            Poll::Ready(flushed) => flushed.map(|()| true),
            Poll::Pending => {
                self.waiting.push_front((Bytes::new(), 0));
                Ok(false)
            }
        }
    }

    /// The next thing to do, with the sink. If there is none, registers `task`.
    pub(super) fn poll_work(&mut self, task: &Waker) -> Poll<Work> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Work::Failed(error));
        }
        if (self.is_closed || !self.waiting.is_empty())
            && let Some(sink) = self.sink.take()
        {
            return Poll::Ready(match next_batch(&mut self.waiting) {
                Some((bytes, cost)) => Work::Write { sink, bytes, cost },
                None => Work::Finish(sink),
            });
        }
        self.task = Some(task.clone());
        Poll::Pending
    }

    /// The writing task gives the sink back.
    pub(super) fn give_back(&mut self, sink: Sink) {
        self.sink = Some(sink);
    }

    /// Accepts no more. Returns the writing task, to be woken.
    pub(super) fn close(&mut self) -> Option<Waker> {
        self.is_closed = true;
        self.task.take()
    }

    /// The writing task ends. Returns what is left, which is to be dropped without a lock.
    pub(super) fn end(&mut self) -> (Option<Sink>, VecDeque<(Bytes, usize)>) {
        self.is_closed = true;
        (self.sink.take(), std::mem::take(&mut self.waiting))
    }
}

/// The bytes that are written together, and the room that they have taken.
fn next_batch(waiting: &mut VecDeque<(Bytes, usize)>) -> Option<(Bytes, usize)> {
    let (first, mut cost) = waiting.pop_front()?;
    if waiting.is_empty() {
        return Some((first, cost));
    }
    let mut batch = first.to_vec();
    while batch.len() < BATCH_BYTES_MAX
        && let Some((bytes, of_bytes)) = waiting.pop_front()
    {
        batch.extend_from_slice(&bytes);
        cost += of_bytes;
    }
    Some((batch.into(), cost))
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    /// Takes so many bytes at each write, as long as there are answers.
    struct Slow {
        takes: VecDeque<Poll<io::Result<usize>>>,
        flush: VecDeque<Poll<io::Result<()>>>,
    }

    impl AsyncWrite for Slow {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let answer = self.takes.pop_front().expect("it is written to no more often");
            answer.map_ok(|most| most.min(bytes.len()))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.flush.pop_front().unwrap_or(Poll::Ready(Ok(())))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn pending(takes: impl IntoIterator<Item = Poll<io::Result<usize>>>) -> Pending {
        let takes = takes.into_iter().collect();
        Pending::new(Box::new(Slow { takes, flush: VecDeque::new() }))
    }

    fn put(pending: &mut Pending, bytes: &'static str) {
        assert!(pending.put(Bytes::from_static(bytes.as_bytes()), bytes.len() + 1).is_ok());
    }

    /// The bytes of the next write of the task.
    fn next_write(pending: &mut Pending) -> Option<(Bytes, usize)> {
        match pending.poll_work(Waker::noop()) {
            Poll::Ready(Work::Write { bytes, cost, sink }) => {
                pending.give_back(sink);
                Some((bytes, cost))
            }
            _ => None,
        }
    }

    #[tokio::test]
    async fn a_turn_writes_all_that_it_has_queued_and_no_task_is_woken() {
        let mut pending = pending([Poll::Ready(Ok(100))]);
        let woken = Arc::new(Woken::default());
        assert!(pending.poll_work(&woken.clone().into()).is_pending());
        ["one", "two", "three"].into_iter().for_each(|bytes| put(&mut pending, bytes));
        let (free, task) = pending.write_now();
        assert_eq!((free, task.is_none(), woken.0.load(Ordering::Relaxed)), (14, true, 0));
        assert!(next_write(&mut pending).is_none());
    }

    #[tokio::test]
    async fn bytes_that_the_sink_does_not_take_stay_first_and_are_left_to_the_task() {
        for (takes, left) in [
            (vec![Poll::Ready(Ok(4)), Poll::Pending], "wothree"),
            (vec![Poll::Pending], "onetwothree"),
        ] {
            let mut pending = pending(takes);
            assert!(pending.poll_work(Waker::noop()).is_pending());
            ["one", "two", "three"].into_iter().for_each(|bytes| put(&mut pending, bytes));
            let (free, task) = pending.write_now();
            assert_eq!((free, task.is_some()), (0, true), "room is free when all of it is written");
            put(&mut pending, "!");
            let (bytes, cost) = next_write(&mut pending).expect("it has something to do");
            assert_eq!((&bytes[..], cost), (format!("{left}!").as_bytes(), 16));
        }
    }

    #[tokio::test]
    async fn the_rest_of_a_long_write_stays_before_the_next_one() {
        const LONG: usize = BATCH_BYTES_MAX;
        let mut pending = pending([Poll::Ready(Ok(4))]);
        assert!(pending.poll_work(Waker::noop()).is_pending());
        for letter in [b"a", b"b"] {
            assert!(pending.put(letter.repeat(LONG).into(), LONG).is_ok());
        }
        assert_eq!(pending.write_now().0, 0);
        let (bytes, cost) = next_write(&mut pending).expect("it has something to do");
        assert_eq!((bytes.len(), cost), (2 * LONG - 4, 2 * LONG));
        assert!(bytes[..LONG - 4].iter().all(|letter| *letter == b'a'), "in order");
    }

    #[tokio::test]
    async fn a_flush_that_takes_time_is_left_to_the_task() {
        let (takes, flush) = ([Poll::Ready(Ok(100))].into(), [Poll::Pending].into());
        let mut pending = Pending::new(Box::new(Slow { takes, flush }));
        assert!(pending.poll_work(Waker::noop()).is_pending());
        put(&mut pending, "one");
        let (free, task) = pending.write_now();
        assert_eq!((free, task.is_some()), (4, true));
        assert_eq!(next_write(&mut pending), Some((Bytes::new(), 0)));
    }

    #[tokio::test]
    async fn an_error_ends_the_task_and_no_later_write_is_tried() {
        let mut pending = pending([Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))]);
        assert!(pending.poll_work(Waker::noop()).is_pending());
        put(&mut pending, "one");
        assert!(pending.write_now().1.is_some());
        put(&mut pending, "two");
        assert_eq!(pending.write_now().0, 0);
        let Poll::Ready(Work::Failed(error)) = pending.poll_work(Waker::noop()) else {
            panic!("the error was not reported");
        };
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_thread_without_a_runtime_leaves_the_write_to_the_task() {
        let mut pending = pending([]);
        assert!(pending.poll_work(Waker::noop()).is_pending());
        put(&mut pending, "one");
        assert!(pending.write_now().1.is_some());
        assert_eq!(next_write(&mut pending), Some((Bytes::from_static(b"one"), 4)));
    }

    #[test]
    fn after_the_end_bytes_come_back() {
        let mut pending = pending([]);
        put(&mut pending, "one");
        assert_eq!(pending.end().1.len(), 1);
        assert_eq!(pending.put(Bytes::from_static(b"late"), 5), Err(Bytes::from_static(b"late")));
    }
}
