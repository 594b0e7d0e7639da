//! The output of HTTP on a connection. All bytes that are written while the connection's task is polled
//! leave in one piece at the end of the poll.
//!
//! So answers to requests that came together cost one write, as with hyper's own `pipeline_flush`. But
//! that one holds an answer back while anything is left to read, also when the rest of the next
//! request is still to come, or when the handler of the next one waits.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};
use wigwag::transport::Outlet;

use crate::limits::{GATHERED_BYTES_KEPT, GATHERED_BYTES_MAX};

/// The output of one connection, shut until it is [opened](Self::open). A peer that does not read for some time ends it.
pub(crate) struct Output {
    outlet: Arc<dyn Outlet>,
    stall_time: Duration,
    /// Hardly contended: only the connection's task writes, and its watch looks at it rarely.
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    /// The client is known to speak HTTP; what is written before that goes nowhere.
    is_open: bool,
    /// Bytes that the outlet has not been given yet.
    gathered: Vec<u8>,
    /// The outlet has been given bytes that it may still hold.
    is_unflushed: bool,
    /// When the peer must have read something, while a write waits.
    stall: Option<Pin<Box<Sleep>>>,
    /// When the peer last read something for which a write had waited.
    found_room: Option<Instant>,
}

impl Output {
    pub(crate) fn new(outlet: Arc<dyn Outlet>, stall_time: Duration) -> Output {
        Output { outlet, stall_time, pending: Mutex::default() }
    }

    pub(crate) fn outlet(&self) -> &dyn Outlet {
        &*self.outlet
    }

    /// Lets answers through: the client speaks HTTP.
    pub(crate) fn open(&self) {
        self.pending().is_open = true;
    }

    /// When a write last waited for the peer: now, if one does. Then the stall time is the limit.
    pub(crate) fn last_wait(&self) -> Option<Instant> {
        let pending = self.pending();
        pending.stall.as_ref().map_or(pending.found_room, |_| Some(Instant::now()))
    }

    /// Takes bytes to be written: all of them if they are few, or else as many as the peer takes now.
    pub(crate) fn poll_write(
        &self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut pending = self.pending();
        if !pending.is_open {
            return Poll::Ready(Ok(bytes.len()));
        }
        if pending.gathered.len() + bytes.len() > GATHERED_BYTES_MAX {
            ready!(self.poll_gathered(&mut pending, context))?;
        }
        if bytes.len() <= GATHERED_BYTES_MAX {
            pending.gathered.extend_from_slice(bytes);
            return Poll::Ready(Ok(bytes.len()));
        }
        pending.is_unflushed = true;
        self.poll_with(&mut pending, context, || self.outlet.try_write(&[IoSlice::new(bytes)]))
    }

    /// Flushes what the outlet has. Gathered bytes leave at the end of the poll.
    pub(crate) fn poll_flush(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut pending = self.pending();
        match pending.gathered.is_empty() {
            true => self.poll_flushed(&mut pending, context),
            false => Poll::Ready(Ok(())),
        }
    }

    /// Writes and flushes what is gathered.
    pub(crate) fn poll_sent(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut pending = self.pending();
        ready!(self.poll_gathered(&mut pending, context))?;
        self.poll_flushed(&mut pending, context)
    }

    fn poll_flushed(
        &self,
        pending: &mut Pending,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if pending.is_unflushed {
            ready!(self.poll_with(pending, context, || self.outlet.try_flush()))?;
            pending.is_unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what is gathered as far as the peer takes it now. True if nothing is left.
    pub(crate) fn send_now(&self) -> bool {
        let mut pending = self.pending();
        if !pending.gathered.is_empty() {
            let sent = self.outlet.try_write(&[IoSlice::new(&pending.gathered)]).unwrap_or(0);
            pending.gathered.drain(..sent);
            pending.is_unflushed = true;
        }
        pending.gathered.is_empty() && (!pending.is_unflushed || self.outlet.try_flush().is_ok())
    }

    fn poll_gathered(
        &self,
        pending: &mut Pending,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !pending.gathered.is_empty() {
            pending.is_unflushed = true;
            let gathered = std::mem::take(&mut pending.gathered);
            let written = self
                .poll_with(pending, context, || self.outlet.try_write(&[IoSlice::new(&gathered)]));
            pending.gathered = gathered;
            let written = ready!(written)?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            pending.gathered.drain(..written);
        }
        if pending.gathered.capacity() > GATHERED_BYTES_KEPT {
            pending.gathered = Vec::new();
        }
        Poll::Ready(Ok(()))
    }

    /// Repeats `write` until it has an outcome other than that there is no room.
    fn poll_with<T>(
        &self,
        pending: &mut Pending,
        context: &mut Context<'_>,
        write: impl Fn() -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            match write() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    ready!(self.poll_room(pending, context))?;
                }
                outcome => {
                    if pending.stall.take().is_some() {
                        pending.found_room = Some(Instant::now());
                    }
                    return Poll::Ready(outcome);
                }
            }
        }
    }

    /// Waits for room, for a limited time.
    fn poll_room(&self, pending: &mut Pending, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(ready) = self.outlet.poll_writable(context) {
            return Poll::Ready(ready);
        }
        let stall = pending.stall.get_or_insert_with(|| Box::pin(sleep(self.stall_time)));
        ready!(stall.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        // The bytes are consistent between two statements, so a panic elsewhere has broken nothing.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::future::poll_fn;

    use super::*;

    /// A peer that takes so many bytes of each write, and then everything; 0: it has no room, until the
    /// task has waited for it once.
    #[derive(Default)]
    struct Peer {
        takes: Mutex<VecDeque<usize>>,
        writes: Mutex<Vec<Vec<u8>>>,
        has_stalled: bool,
    }

    impl Outlet for Peer {
        fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
            let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_vec()).collect();
            let taken = match self.takes.lock().unwrap().front_mut() {
                Some(0) => return Err(io::ErrorKind::WouldBlock.into()),
                Some(most) => bytes.len().min(*most),
                None => bytes.len(),
            };
            self.takes.lock().unwrap().pop_front();
            self.writes.lock().unwrap().push(bytes[..taken].to_vec());
            Ok(taken)
        }

        fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            if !self.has_stalled {
                self.takes.lock().unwrap().pop_front();
                context.waker().wake_by_ref();
            }
            Poll::Pending
        }

        fn close(&self) {}
    }

    const STALL: Duration = Duration::from_secs(3);

    fn open_output(peer: Arc<Peer>) -> Output {
        let output = Output::new(peer, STALL);
        output.open();
        output
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_written_before_the_output_is_open_go_nowhere() {
        let peer = Arc::new(Peer::default());
        let output = Output::new(peer.clone(), STALL);
        write(&output, b"an answer to no request").await;
        output.open();
        write(&output, b"an answer").await;
        poll_fn(|context| output.poll_sent(context)).await.unwrap();
        assert_eq!(*peer.writes.lock().unwrap(), [b"an answer".to_vec()]);
    }

    async fn write(output: &Output, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let written = poll_fn(|context| output.poll_write(context, bytes)).await.unwrap();
            bytes = &bytes[written..];
            poll_fn(|context| output.poll_flush(context)).await.unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_written_in_one_poll_leave_in_one_piece() {
        let peer = Arc::new(Peer::default());
        let output = open_output(peer.clone());
        for answer in [&b"one"[..], b"two", b"three"] {
            write(&output, answer).await;
        }
        assert!(peer.writes.lock().unwrap().is_empty());
        poll_fn(|context| output.poll_sent(context)).await.unwrap();
        assert_eq!(*peer.writes.lock().unwrap(), [b"onetwothree".to_vec()]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_little_gets_everything_in_order() {
        let long: Vec<u8> = (0..5 * GATHERED_BYTES_MAX).map(|at| (at / 7) as u8).collect();
        for takes in [vec![], vec![0, 1, 0, 0, 7], vec![GATHERED_BYTES_MAX, 3, 0], vec![1; 9]] {
            let peer = Arc::new(Peer { takes: Mutex::new(takes.into()), ..Peer::default() });
            let output = open_output(peer.clone());
            // Small answers before and behind one that is gathered by no means.
            let mut sent = Vec::new();
            for part in [&long[..100], &long, &long[..5], &long[..GATHERED_BYTES_MAX]] {
                write(&output, part).await;
                sent.extend_from_slice(part);
            }
            poll_fn(|context| output.poll_sent(context)).await.unwrap();
            assert_eq!(peer.writes.lock().unwrap().concat(), sent);
            assert!(output.send_now(), "nothing is left");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_that_waits_is_known_until_the_peer_has_read() {
        let takes = Mutex::new([4, 0].into());
        let peer = Arc::new(Peer { takes, has_stalled: true, ..Peer::default() });
        let output = open_output(peer.clone());
        write(&output, b"an answer").await;
        assert_eq!(output.last_wait(), None);
        assert!(poll_once(&output).is_pending());
        tokio::time::advance(STALL / 2).await;
        assert_eq!(output.last_wait(), Some(Instant::now()));
        peer.takes.lock().unwrap().clear();
        assert!(poll_once(&output).is_ready());
        let read = Instant::now();
        tokio::time::advance(STALL / 2).await;
        assert_eq!(output.last_wait(), Some(read));
    }

    fn poll_once(output: &Output) -> Poll<io::Result<()>> {
        output.poll_sent(&mut Context::from_waker(std::task::Waker::noop()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_for_the_stall_time_ends_the_output() {
        let takes = Mutex::new([4, 0].into());
        let peer = Arc::new(Peer { takes, has_stalled: true, ..Peer::default() });
        let output = open_output(peer);
        write(&output, b"an answer").await;
        assert!(!output.send_now());
        let begun = Instant::now();
        let outcome = poll_fn(|context| output.poll_sent(context)).await;
        assert_eq!(outcome.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(begun.elapsed(), STALL);
    }
}
