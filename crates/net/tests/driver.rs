//! The driver of a connection, with a handler of the test's own.
#![allow(clippy::unwrap_used, reason = "a test may panic, and so may its helpers")]
#![allow(clippy::disallowed_types, reason = "no model runs these tests")]

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::timeout;
use wigwag_net::driver::{ConnectionHandler, Ending, Flow, Flusher, drive};
use wigwag_net::transport::{self, Connection, Inlet, Outlet};
use wigwag_net::{Address, ListenOptions};
use wigwag_spin::{Spin, SpinPolicy};
use wigwag_wire::{Batch, ReadBuf, Time};

/// Takes what arrives, and counts how often the driver runs.
struct Counting {
    spin: SpinPolicy,
    /// How long it takes for what has arrived.
    work: Duration,
    bytes: AtomicUsize,
    runs: AtomicUsize,
}

impl Counting {
    fn new(spin: Duration, work: Duration) -> Arc<Counting> {
        let [bytes, runs] = [(); 2].map(|()| AtomicUsize::new(0));
        Arc::new(Counting { spin: SpinPolicy::spinning(spin), work, bytes, runs })
    }
}

impl ConnectionHandler for Counting {
    type Error = Infallible;

    fn read(&self, input: &mut ReadBuf, _now: Time) -> Result<(), Infallible> {
        self.bytes.fetch_add(input.len(), Ordering::Relaxed);
        input.skip(usize::MAX);
        if !self.work.is_zero() {
            std::thread::sleep(self.work);
        }
        Ok(())
    }

    fn fill(&self, _batch: &mut Batch, _now: Time) {}

    fn tick(&self, _now: Time) -> Result<(), Infallible> {
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn flow(&self) -> Flow {
        self.runs.fetch_add(1, Ordering::Relaxed);
        Flow::Open
    }

    fn spin(&self) -> Option<Spin<'_>> {
        self.spin.begin()
    }
}

async fn connected() -> (Connection, Connection) {
    let at = Address::new("tcp", "127.0.0.1:0");
    let listener = transport::listen(&at, ListenOptions::default()).await.unwrap();
    let dialing = transport::dial(listener.address());
    let (ours, theirs) = tokio::join!(listener.accept(), dialing);
    (ours.unwrap(), theirs.unwrap())
}

/// Runs of the driver while the tasks of its runtime yield a hundred times behind two reads.
async fn runs_behind_reads(limit: Duration) -> usize {
    let (mut ours, theirs) = connected().await;
    let handler = Counting::new(limit, Duration::ZERO);
    let driven = handler.clone();
    let driving = tokio::spawn(async move {
        let flusher = Flusher::new(ours.outlet.clone());
        drive(&*driven, &mut *ours.reader, &mut ReadBuf::new(), &flusher).await
    });
    for bytes in [4, 8] {
        theirs.outlet.writable().await.unwrap();
        theirs.outlet.try_write(&[io::IoSlice::new(b"word")]).unwrap();
        while handler.bytes.load(Ordering::Relaxed) < bytes {
            yield_now().await;
        }
    }
    let before = handler.runs.load(Ordering::Relaxed);
    for _ in 0..100 {
        yield_now().await;
    }
    driving.abort();
    handler.runs.load(Ordering::Relaxed) - before
}

#[tokio::test]
async fn a_driver_that_spins_runs_again_and_again_and_another_one_sleeps() {
    let spins = runs_behind_reads(Duration::from_secs(3600)).await;
    assert!(spins >= 50, "{spins}");
    // Once, to see that nothing else has come.
    let sleeps = runs_behind_reads(Duration::ZERO).await;
    assert!(sleeps <= 2, "{sleeps}");
}

/// A peer that never stops to send.
struct Flood;

impl AsyncRead for Flood {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        unreachable!("the driver fills its own memory")
    }
}

impl Inlet for Flood {
    fn poll_fill(&mut self, _: &mut Context<'_>, input: &mut ReadBuf) -> Poll<io::Result<usize>> {
        input.append(b"word");
        Poll::Ready(Ok(4))
    }
}

/// A runtime looks for arrivals every 61 turns of its tasks unless it is asked to.
#[tokio::test]
async fn a_flood_whose_reads_take_long_keeps_no_other_connection_waiting() {
    const ROUNDS: usize = 10;
    let (ours, _theirs) = connected().await;
    let handler = Counting::new(Duration::ZERO, Duration::from_millis(2));
    let driven = handler.clone();
    let driving = tokio::spawn(async move {
        let flusher = Flusher::new(ours.outlet.clone());
        drive(&*driven, &mut Flood, &mut ReadBuf::new(), &flusher).await
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let dialing = TcpStream::connect(listener.local_addr().unwrap());
    let (accepted, dialed) = tokio::join!(listener.accept(), dialing);
    let (mut here, mut there) = (accepted.unwrap().0, dialed.unwrap());
    // Each end waits before the other one sends.
    let echoing = tokio::spawn(async move {
        let mut byte = [0];
        while there.read_exact(&mut byte).await.is_ok() && there.write_all(&byte).await.is_ok() {}
    });
    let before = handler.runs.load(Ordering::Relaxed);
    for _ in 0..ROUNDS {
        here.write_all(b"x").await.unwrap();
        here.read_exact(&mut [0]).await.unwrap();
    }
    let runs = handler.runs.load(Ordering::Relaxed) - before;
    driving.abort();
    echoing.abort();
    // Each way takes one look or two, and not 61 turns.
    assert!(runs < ROUNDS * 2 * 10, "{runs} runs during {ROUNDS} rounds");
}

/// One message to send, as soon as it `waits`.
#[derive(Default)]
struct Sending {
    waits: AtomicBool,
    /// The driver has looked for what comes.
    runs: Notify,
}

impl ConnectionHandler for Sending {
    type Error = Infallible;

    fn read(&self, _input: &mut ReadBuf, _now: Time) -> Result<(), Infallible> {
        Ok(())
    }

    fn fill(&self, batch: &mut Batch, _now: Time) {
        if self.waits.swap(false, Ordering::Relaxed) {
            batch.head(|out| out.extend(b"word"));
        }
    }

    fn tick(&self, _now: Time) -> Result<(), Infallible> {
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn flow(&self) -> Flow {
        self.runs.notify_one();
        Flow::Open
    }
}

/// A peer that never sends.
struct Silence;

impl AsyncRead for Silence {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl Inlet for Silence {
    fn poll_fill(&mut self, _: &mut Context<'_>, _: &mut ReadBuf) -> Poll<io::Result<usize>> {
        Poll::Pending
    }
}

/// A direction without room, until it `has_room`; a write fails with `failure` if there is one.
#[derive(Default)]
struct Gate {
    has_room: AtomicBool,
    failure: Option<io::ErrorKind>,
    waiting: Mutex<Option<Waker>>,
    written: Notify,
}

impl Outlet for Gate {
    fn try_write(&self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        if let Some(failure) = self.failure {
            return Err(failure.into());
        }
        if !self.has_room.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.written.notify_one();
        Ok(parts.iter().map(|part| part.len()).sum())
    }

    fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        *self.waiting.lock().unwrap() = Some(context.waker().clone());
        match self.has_room.load(Ordering::Relaxed) {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        }
    }

    fn close(&self) {}
}

/// Flushes a message on the thread of its sender while the driver sleeps, and returns the driver.
async fn flushed_by_a_sender(gate: &Arc<Gate>) -> JoinHandle<Ending<Infallible>> {
    let handler = Arc::new(Sending::default());
    let flusher = Arc::new(Flusher::new(gate.clone()));
    let (driven, writing) = (handler.clone(), flusher.clone());
    let driving =
        tokio::spawn(
            async move { drive(&*driven, &mut Silence, &mut ReadBuf::new(), &writing).await },
        );
    handler.runs.notified().await;
    handler.waits.store(true, Ordering::Relaxed);
    flusher.flush(&*handler);
    driving
}

/// Longer than any step of these tests, in the time of a clock that is advanced.
const LATE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn the_driver_writes_what_a_sender_found_no_room_for() {
    let gate = Arc::new(Gate::default());
    let driving = flushed_by_a_sender(&gate).await;
    yield_now().await;
    gate.has_room.store(true, Ordering::Relaxed);
    let waiting = gate.waiting.lock().unwrap().take();
    waiting.into_iter().for_each(Waker::wake);
    timeout(LATE, gate.written.notified()).await.expect("the driver was woken");
    driving.abort();
}

#[tokio::test(start_paused = true)]
async fn a_write_of_a_sender_that_fails_ends_the_connection() {
    let failure = Some(io::ErrorKind::ConnectionReset);
    let gate = Arc::new(Gate { failure, ..Gate::default() });
    let driving = flushed_by_a_sender(&gate).await;
    let ended = timeout(LATE, driving).await.expect("the driver was woken").unwrap();
    assert!(matches!(ended, Ending::Io(error) if Some(error.kind()) == failure));
}
