//! The reading half.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use tokio::io::AsyncRead;
use wigwag_shm::Direction;
use wigwag_wire::ReadBuf;

use super::bell::Half;
use super::link::{Link, broken};
use crate::transport::Inlet;

pub(super) struct ShmInlet {
    link: Arc<Link>,
    spin: Duration,
    /// When this end began to look at an empty ring.
    since: Option<Instant>,
}

impl ShmInlet {
    pub(super) fn new(link: Arc<Link>, spin: Duration) -> ShmInlet {
        ShmInlet { link, spin, since: None }
    }

    /// Appends what is in the ring, as much as `out` has room for. 0 at the end.
    fn poll_into(
        &mut self,
        context: &mut Context<'_>,
        out: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        ready!(self.link.poll_open(Half::Reader, context))?;
        loop {
            if let Some(outcome) = self.read(out)? {
                self.since = None;
                return Poll::Ready(Ok(outcome));
            }
            if self.goes_on_looking() {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let Some(waits) = self.link.consumer().map(|consumer| consumer.wait()) else {
                return Poll::Pending;
            };
            if waits.map_err(broken)? && !ready!(self.link.bell.poll_rung(Half::Reader, context))? {
                // The peer has closed the connection, perhaps behind its last bytes.
                return Poll::Ready(Ok(self.read(out)?.unwrap_or(0)));
            }
        }
    }

    /// Reads once; `None` if nothing is there yet.
    fn read(&self, out: &mut BytesMut) -> io::Result<Option<usize>> {
        let Some(mut consumer) = self.link.consumer() else { return Ok(None) };
        // Before the bytes: those that are written before the end are in the ring then.
        let direction = consumer.direction().map_err(broken)?;
        let room = out.capacity() - out.len();
        let progress = consumer.read(out, room).map_err(broken)?;
        drop(consumer);
        if progress.wake {
            self.link.bell.ring();
        }
        match direction {
            _ if progress.bytes > 0 => Ok(Some(progress.bytes)),
            Direction::Open => Ok(None),
            Direction::Finished => Ok(Some(0)),
            Direction::Aborted => Err(io::ErrorKind::ConnectionReset.into()),
        }
    }

    /// True as long as the ring has been empty for less than the time to spin.
    fn goes_on_looking(&mut self) -> bool {
        if self.spin.is_zero() {
            return false;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        since.elapsed() < self.spin
    }
}

impl Inlet for ShmInlet {
    fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        input: &mut ReadBuf,
    ) -> Poll<io::Result<usize>> {
        self.poll_into(context, input.space())
    }
}

/// For a reader that takes few bytes at a time.
impl AsyncRead for ShmInlet {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut part = BytesMut::with_capacity(into.remaining());
        ready!(self.poll_into(context, &mut part))?;
        into.put_slice(&part);
        Poll::Ready(Ok(()))
    }
}
