//! The socket beside the rings: a byte over it wakes the other end, and its end shows that the other
//! process has closed the connection or died.
//!
//! Both halves of a connection wait for such a byte, so what wakes one of them wakes the other too.

use std::io::{self, Read};
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;

use crate::error::NetErrorKind;
use crate::transport::Outlet;
use crate::transports::halves::{Half, Halves};
use crate::transports::stream::UnixOutlet;

/// The byte that wakes the other end.
const WAKE: u8 = 1;

/// Bytes that are read from the socket at a time: each is one wake, and more tell nothing more.
const WAKES: usize = 64;

pub(super) struct Bell {
    /// The socket, and its writing half as long as bytes go over it.
    pub(super) outlet: UnixOutlet,
    /// The halves that wait for the other end to ring.
    waiting: Halves,
}

impl Bell {
    pub(super) fn new(half: OwnedWriteHalf) -> Bell {
        Bell { outlet: UnixOutlet::new(half), waiting: Halves::new() }
    }

    pub(super) fn socket(&self) -> io::Result<&UnixStream> {
        Ok(self.outlet.half()?.as_ref())
    }

    /// Wakes the other end.
    pub(super) fn ring(&self) {
        // Without room there are wakes that it has not taken; and one that has died needs none.
        let _ = self.socket().and_then(|socket| socket.try_write(&[WAKE]));
    }

    /// Registers the task of `half` before it says that it waits: the other half may take the byte that
    /// answers before this one looks for it, and then wakes this one.
    pub(super) fn enter(&self, half: Half, context: &Context<'_>) {
        self.waiting.enter(half, context.waker());
    }

    /// Ready when the socket has something to read.
    pub(super) fn poll_readable(&self, half: Half, context: &Context<'_>) -> Poll<io::Result<()>> {
        let socket = self.socket()?;
        self.waiting.poll(half, context, |context| socket.poll_read_ready(context))
    }

    /// Ready when the other end has rung; with false if it has closed the connection.
    pub(super) fn poll_rung(&self, half: Half, context: &Context<'_>) -> Poll<io::Result<bool>> {
        loop {
            ready!(self.poll_readable(half, context))?;
            let mut wakes = [0; WAKES];
            let outcome = match self.take(&mut wakes) {
                Ok(bytes) if wakes[..bytes].iter().any(|byte| *byte != WAKE) => {
                    Err(io::Error::other(NetErrorKind::NotShared))
                }
                Ok(bytes) => Ok(bytes > 0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(false),
                Err(error) => Err(error),
            };
            self.wake_other(half, context);
            return Poll::Ready(outcome);
        }
    }

    /// Reads wakes. Fewer than there is room for are all: the socket counts as empty then, without a
    /// second read that would find it so.
    fn take(&self, wakes: &mut [u8]) -> io::Result<usize> {
        let socket = self.socket()?;
        let mut outcome = Err(io::ErrorKind::WouldBlock.into());
        let _ = socket.try_io(Interest::READABLE, || {
            outcome = (&*SockRef::from(socket)).read(wakes);
            match outcome {
                Ok(bytes) if bytes == 0 || bytes == wakes.len() => Ok(()),
                _ => Err(io::ErrorKind::WouldBlock.into()),
            }
        });
        outcome
    }

    /// Wakes the task of the other half, which what was read may have been for, if it is another task.
    pub(super) fn wake_other(&self, half: Half, context: &Context<'_>) {
        let other = self.waiting.take(half.other());
        if let Some(other) = other.filter(|other| !other.will_wake(context.waker())) {
            other.wake();
        }
    }

    /// Ends both directions.
    pub(super) fn shut_down(&self) {
        self.outlet.close();
    }
}
