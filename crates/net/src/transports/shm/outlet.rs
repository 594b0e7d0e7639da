//! The writing half.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use wigwag_shm::Direction;

use super::link::{Link, broken};
use crate::transport::Outlet;
use crate::transports::halves::Half;

pub(super) struct ShmOutlet(Arc<Link>);

impl ShmOutlet {
    pub(super) fn new(link: Arc<Link>) -> ShmOutlet {
        ShmOutlet(link)
    }

    fn end(&self, how: Direction) {
        if self.0.producer().is_some_and(|mut producer| producer.end(how)) {
            self.0.bell.ring();
        }
    }
}

impl Outlet for ShmOutlet {
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut producer = self.0.producer().ok_or(io::ErrorKind::WouldBlock)?;
        if producer.has_ended() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let progress = producer.write(parts).map_err(broken)?;
        drop(producer);
        if progress.wake {
            self.0.bell.ring();
        }
        match progress.bytes {
            0 if parts.iter().any(|part| !part.is_empty()) => Err(io::ErrorKind::WouldBlock.into()),
            bytes => Ok(bytes),
        }
    }

    fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.0.poll_open(Half::Writer, context))?;
        loop {
            self.0.bell.enter(Half::Writer, context);
            let waits = self.0.producer().map(|mut producer| producer.wait());
            if !waits.unwrap_or(Ok(true)).map_err(broken)? {
                return Poll::Ready(Ok(()));
            }
            if !ready!(self.0.bell.poll_rung(Half::Writer, context))? {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
        }
    }

    fn finish(&self) -> bool {
        self.end(Direction::Finished);
        true
    }

    fn close(&self) {
        self.end(Direction::Finished);
        self.0.bell.shut_down();
    }

    fn abort(&self) {
        self.end(Direction::Aborted);
        self.0.bell.shut_down();
    }
}
