//! A connection over two pipes, one for each direction.
//!
//! A direction ends when the last handle of its writing end is gone. The reading half and the
//! outlet share the state that `close` changes, because the driver of the connection waits in the
//! reading half when another thread closes.

use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::oneshot;
use wigwag::transport::{Connection, Framing, Outlet};

/// Makes a connection to `peer` of the pipe from it and the pipe to it. The future that is returned
/// with it resolves when the connection is gone.
pub(crate) fn connection(
    from: Receiver,
    to: Sender,
    peer: String,
) -> (Connection, impl Future<Output = ()> + Send + 'static) {
    let (alive, gone) = oneshot::channel::<Infallible>();
    let state = State { to: Some(to), closed: false, reading: None };
    let shared = Arc::new(Shared(Mutex::new(state)));
    let reader = PipeReader { from, shared: shared.clone(), _alive: alive };
    let gone = async { _ = gone.await };
    (Connection::new(reader, PipeOutlet(shared), Framing::Tcp, peer), gone)
}

struct Shared(Mutex<State>);

struct State {
    /// `None` when the direction to the peer has ended.
    to: Option<Sender>,
    closed: bool,
    /// Wakes the reading half, which may wait for the peer.
    reading: Option<Waker>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct PipeReader {
    from: Receiver,
    shared: Arc<Shared>,
    _alive: oneshot::Sender<Infallible>,
}

impl AsyncRead for PipeReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        {
            let mut state = self.shared.lock();
            if state.closed {
                return Poll::Ready(Ok(()));
            }
            match &mut state.reading {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
        }
        Pin::new(&mut self.from).poll_read(context, into)
    }
}

struct PipeOutlet(Arc<Shared>);

/// The error of a write after the end.
fn ended() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl Outlet for PipeOutlet {
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.lock().to.as_ref().ok_or_else(ended)?.try_write_vectored(parts)
    }

    fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &self.0.lock().to {
            Some(to) => to.poll_write_ready(context),
            None => Poll::Ready(Err(ended())),
        }
    }

    fn try_write_unpolled(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(self.0.lock().to.as_ref().ok_or_else(ended)?, bytes)?)
    }

    fn finish(&self) -> bool {
        self.0.lock().to.take().is_some()
    }

    fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        state.to = None;
        let reading = state.reading.take();
        drop(state);
        if let Some(waker) = reading {
            waker.wake();
        }
    }
}
