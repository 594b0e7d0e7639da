//! `inproc://name`: both ends of a connection in one process.
//!
//! No socket and no system call: each direction is a bounded byte queue. The name is any text; a
//! dial to a name without a listener is refused, as in NNG and mangos.

use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::mpsc;
use wigwag_wire::Framing;

use crate::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::transport::{
    Boxed, Connection, DialOptions, ListenOptions, Listener, Outlet, Transport,
};

/// Bytes that one direction holds: four full batches, as much as a socket's buffers would.
const QUEUE_BYTES_MAX: usize = 256 * 1024;

type ListenerTable = HashMap<String, mpsc::Sender<Connection>>;

/// The listeners of this process, by name.
static LISTENERS: LazyLock<Mutex<ListenerTable>> = LazyLock::new(Mutex::default);

/// The `inproc://` transport.
pub struct Inproc;

impl Transport for Inproc {
    fn scheme(&self) -> &'static str {
        "inproc"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let (sender, arrivals) = mpsc::channel(options.backlog.max(1) as usize);
            let mut listeners = lock(&LISTENERS);
            if listeners.get(address.rest()).is_some_and(|sender| !sender.is_closed()) {
                return Err(NetError::new(address, NetErrorKind::InUse));
            }
            listeners.insert(address.rest().to_owned(), sender);
            let arrivals = tokio::sync::Mutex::new(arrivals);
            Ok(Box::new(InprocListener { arrivals, address: address.clone() }) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        _options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let sender = lock(&LISTENERS).get(address.rest()).cloned();
            let nobody = || NetError::new(address, NetErrorKind::NobodyListens);
            let sender = sender.ok_or_else(nobody)?;
            let name: Arc<str> = address.to_string().into();
            let (there, back) = (ByteQueue::new(), ByteQueue::new());
            let ours = end(&back, &there, &name);
            let theirs = end(&there, &back, &name);
            sender.send(theirs).await.map_err(|_| nobody())?;
            Ok(ours)
        })
    }
}

fn end(reads: &Arc<ByteQueue>, writes: &Arc<ByteQueue>, peer: &Arc<str>) -> Connection {
    let outlet = InprocOutlet { writes: writes.clone(), reads: Arc::downgrade(reads) };
    let reader = InprocReader(reads.clone());
    let mut connection = Connection::new(reader, outlet, Framing::Tcp, peer.clone());
    connection.local = Some(peer.clone());
    connection
}

struct InprocListener {
    arrivals: tokio::sync::Mutex<mpsc::Receiver<Connection>>,
    address: Address,
}

impl Listener for InprocListener {
    fn address(&self) -> &Address {
        &self.address
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let arrived = self.arrivals.lock().await.recv().await;
            arrived.ok_or_else(|| {
                NetError::new(&self.address, NetErrorKind::Closed { when: "while listening" })
            })
        })
    }

    fn takes_descriptors(&self) -> bool {
        false
    }
}

impl Drop for InprocListener {
    fn drop(&mut self) {
        self.arrivals.get_mut().close();
        let mut listeners = lock(&LISTENERS);
        if listeners.get(self.address.rest()).is_some_and(mpsc::Sender::is_closed) {
            listeners.remove(self.address.rest());
        }
    }
}

/// Locks a mutex, poisoned or not: every guarded state is consistent between two statements.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One direction of bytes.
struct ByteQueue(Mutex<ByteQueueState>);

#[derive(Default)]
struct ByteQueueState {
    bytes: VecDeque<u8>,
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl ByteQueue {
    fn new() -> Arc<ByteQueue> {
        Arc::new(ByteQueue(Mutex::default()))
    }

    fn close(&self) {
        let mut state = lock(&self.0);
        state.closed = true;
        let wakers = [state.reader.take(), state.writer.take()];
        drop(state);
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut state = lock(&self.0);
        if state.closed {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut room = QUEUE_BYTES_MAX - state.bytes.len();
        if room == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let mut written = 0;
        for part in parts {
            let fits = part.len().min(room);
            state.bytes.extend(&part[..fits]);
            room -= fits;
            written += fits;
        }
        let reader = state.reader.take();
        drop(state);
        reader.into_iter().for_each(Waker::wake);
        Ok(written)
    }

    fn poll_writable(&self, context: &Context<'_>) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0);
        if state.closed || state.bytes.len() < QUEUE_BYTES_MAX {
            return Poll::Ready(Ok(()));
        }
        state.writer = Some(context.waker().clone());
        Poll::Pending
    }
}

struct InprocReader(Arc<ByteQueue>);

impl AsyncRead for InprocReader {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = lock(&self.0.0);
        if state.bytes.is_empty() {
            if state.closed {
                return Poll::Ready(Ok(()));
            }
            state.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        let (front, back) = state.bytes.as_slices();
        let first = front.len().min(into.remaining());
        into.put_slice(&front[..first]);
        let second = back.len().min(into.remaining());
        into.put_slice(&back[..second]);
        state.bytes.drain(..first + second);
        let writer = state.writer.take();
        drop(state);
        writer.into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(()))
    }
}

impl Drop for InprocReader {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct InprocOutlet {
    writes: Arc<ByteQueue>,
    /// The other direction, which `close` ends as well; weak, because its reader owns it.
    reads: Weak<ByteQueue>,
}

impl Outlet for InprocOutlet {
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.writes.write(parts)
    }

    fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writes.poll_writable(context)
    }

    fn write_blocking(&self, bytes: &[u8], limit: Duration) -> io::Result<usize> {
        let begun = Instant::now();
        let mut written = 0;
        while written < bytes.len() && begun.elapsed() < limit {
            match self.writes.write(&[IoSlice::new(&bytes[written..])]) {
                Ok(more) => written += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // The reader is another thread of this process; let it run.
                    std::thread::yield_now();
                }
                Err(_) => break,
            }
        }
        Ok(written)
    }

    /// Written bytes stay in the queue until the peer has read them, as after `close`.
    fn finish(&self) -> bool {
        self.writes.close();
        true
    }

    fn close(&self) {
        self.writes.close();
        if let Some(reads) = self.reads.upgrade() {
            reads.close();
        }
    }
}

impl Drop for InprocOutlet {
    fn drop(&mut self) {
        self.writes.close();
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use tokio::io::AsyncReadExt;

    use super::*;

    #[derive(Default)]
    struct Count(Mutex<usize>);

    impl Wake for Count {
        fn wake(self: Arc<Count>) {
            *lock(&self.0) += 1;
        }
    }

    #[tokio::test]
    async fn a_reader_wakes_the_writer_that_waits_for_room() {
        let address = Address::new("inproc", "room");
        let listener = Inproc.listen(&address, ListenOptions::default()).await.unwrap();
        let ours = Inproc.dial(&address, DialOptions::default()).await.unwrap();
        let mut theirs = listener.accept().await.unwrap();
        while ours.outlet.try_write(&[IoSlice::new(&[7; 4096])]).is_ok() {}
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        assert!(ours.outlet.poll_writable(&mut Context::from_waker(&waker)).is_pending());
        theirs.reader.read_exact(&mut [0; 1]).await.unwrap();
        assert_eq!(*lock(&count.0), 1);
        assert!(ours.outlet.poll_writable(&mut Context::from_waker(&waker)).is_ready());
    }

    #[tokio::test]
    async fn a_dropped_listener_leaves_its_name_to_the_next() {
        let address = Address::new("inproc", "name");
        let listen = || Inproc.listen(&address, ListenOptions::default());
        let first = listen().await.unwrap();
        let taken = listen().await.err().unwrap();
        assert!(matches!(taken.kind, NetErrorKind::InUse), "{taken}");
        drop(first);
        let refused = Inproc.dial(&address, DialOptions::default()).await.err().unwrap();
        assert!(matches!(refused.kind, NetErrorKind::NobodyListens), "{refused}");
        let _second = listen().await.unwrap();
        Inproc.dial(&address, DialOptions::default()).await.unwrap();
    }
}
