//! The socket beside the rings: a byte over it wakes the other end, and its end shows that the other
//! process has closed the connection or died.
//!
//! Both halves of a connection wait for such a byte, but a socket wakes only the task that asked
//! last. So what wakes one of them wakes the other too.

use std::io::{self, Read};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker, ready};

use socket2::SockRef;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;

use super::link::lock;
use crate::error::NetErrorKind;
use crate::stream::UnixOutlet;
use crate::transport::Outlet;

/// The byte that wakes the other end.
const WAKE: u8 = 1;

/// Bytes that are read from the socket at a time: each is one wake, and more tell nothing more.
const WAKES: usize = 64;

/// The half of a connection that waits.
#[derive(Clone, Copy)]
pub(super) enum Half {
    Reader,
    Writer,
}

pub(super) struct Bell {
    /// The socket, and its writing half as long as bytes go over it.
    pub(super) outlet: UnixOutlet,
    waiting: Arc<Waiting>,
    /// Wakes all that are `waiting`.
    waker: Waker,
}

/// The tasks of both halves, if they wait.
#[derive(Default)]
struct Waiting(Mutex<[Option<Waker>; 2]>);

impl Waiting {
    fn enter(&self, half: Half, waker: &Waker) {
        let place = &mut lock(&self.0)[half as usize];
        if !place.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *place = Some(waker.clone());
        }
    }

    fn take(&self, half: Half) -> Option<Waker> {
        lock(&self.0)[half as usize].take()
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        let waiting = std::mem::take(&mut *lock(&self.0));
        waiting.into_iter().flatten().for_each(Waker::wake);
    }
}

impl Bell {
    pub(super) fn new(half: OwnedWriteHalf) -> Bell {
        let waiting = Arc::<Waiting>::default();
        Bell { outlet: UnixOutlet::new(half), waker: waiting.clone().into(), waiting }
    }

    pub(super) fn socket(&self) -> io::Result<&UnixStream> {
        Ok(self.outlet.half()?.as_ref())
    }

    /// Wakes the other end.
    pub(super) fn ring(&self) {
        // Without room there are wakes that it has not taken; and one that has died needs none.
        let _ = self.socket().and_then(|socket| socket.try_write(&[WAKE]));
    }

    /// Ready when the socket has something to read.
    pub(super) fn poll_readable(&self, half: Half, context: &Context<'_>) -> Poll<io::Result<()>> {
        self.waiting.enter(half, context.waker());
        // Without the lock: the runtime may wake the task from within.
        self.socket()?.poll_read_ready(&mut Context::from_waker(&self.waker))
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
        let other = match half {
            Half::Reader => Half::Writer,
            Half::Writer => Half::Reader,
        };
        let other = self.waiting.take(other);
        if let Some(other) = other.filter(|other| !other.will_wake(context.waker())) {
            other.wake();
        }
    }

    /// Ends both directions.
    pub(super) fn shut_down(&self) {
        self.outlet.close();
    }
}
