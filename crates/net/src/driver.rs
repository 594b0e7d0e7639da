//! Turns the crank of one connection.
//!
//! The driver reads, and writes what nobody else has written. Senders flush inline: whoever has
//! something to send and finds the socket free writes it, together with all that piled up while
//! the last write was under way. That is the whole batching rule; no timer is involved. Only when
//! the socket has no room does the driver wait for it.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, Sleep};
use wigwag_wire::{Batch, ReadBuf, Time};

use crate::clock;
use crate::handover::Handover;
use crate::sync::{AtomicBool, Mutex, Ordering};
use crate::transport::Outlet;

/// Slices of one vectored write. Linux takes 1,024; few batches have more than a handful.
const SLICES_MAX: usize = 64;

/// A connection that has brought nothing for so long gives its memory back when its deadline comes.
const IDLE_AFTER: Duration = Duration::from_millis(500);

/// Reads after which a peer that takes nothing any more is not heard any longer, however much it says:
/// 4 MiB, more than lies in a connection's buffers as a rule.
const LAST_READS_MAX: usize = 16;

/// What speaks over the connection. Its methods are called from any thread.
pub trait ConnectionHandler: Send + Sync {
    /// Why the protocol ends the connection.
    type Error;

    /// Bytes have come, perhaps not yet all of a message.
    fn received(&self, _now: Time) {}

    /// Takes what it can off the front of `input`.
    fn read(&self, input: &mut ReadBuf, now: Time) -> Result<(), Self::Error>;

    /// Puts what waits to be written into the empty `batch`; leaves it empty when nothing waits.
    fn fill(&self, batch: &mut Batch, now: Time);

    /// The deadline has come.
    fn tick(&self, now: Time) -> Result<(), Self::Error>;

    /// When [`tick`](Self::tick) is due.
    fn deadline(&self) -> Option<Time>;

    /// Whether reading goes on. Asked whenever the driver runs; who opens a flow that was stopped
    /// calls [`Flusher::wake_driver`].
    fn flow(&self) -> Flow {
        Flow::Open
    }
}

/// Whether a connection is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Read on.
    Open,
    /// The last [`ConnectionHandler::read`] left bytes for want of room: leave the rest with the peer.
    Stopped,
    /// There is room for what was left: [`ConnectionHandler::read`] comes before more bytes.
    Resumed,
}

/// Why a connection is over.
#[derive(Debug)]
pub enum Ending<E> {
    /// The protocol ended it.
    Protocol(E),
    /// The peer closed it between two bytes.
    PeerClosed,
    /// The operating system reported an error: reset, timed out.
    Io(io::Error),
}

struct Writing {
    batch: Batch,
    failed: Option<io::Error>,
    /// `None` once the connection is over: its descriptor must not outlive it.
    outlet: Option<Arc<dyn Outlet>>,
}

/// The writing half of a connection, shared by the driver and everybody who sends.
pub struct Flusher {
    writing: Handover<Writing>,
    /// The socket has no room; nobody tries until the driver has seen some.
    blocked: AtomicBool,
    signal: Signal,
}

impl Flusher {
    /// A flusher for `outlet`.
    pub fn new(outlet: Arc<dyn Outlet>) -> Flusher {
        let writing = Writing { batch: Batch::new(), failed: None, outlet: Some(outlet) };
        Flusher {
            writing: Handover::new(writing),
            blocked: AtomicBool::new(false),
            signal: Signal::default(),
        }
    }

    /// Writes all that waits with the calling thread, as far as the socket has room. One system
    /// call a batch; never waits. Another thread that is writing at this moment takes ours along.
    pub fn flush(&self, handler: &(impl ConnectionHandler + ?Sized)) {
        if self.blocked.load(Ordering::SeqCst) {
            return;
        }
        self.writing.run(|writing| self.write_all(writing, handler));
    }

    /// Has the driver flush: for a sender that must not pay for the write, because then it would
    /// pay for every single message.
    pub fn wake_driver(&self) {
        self.signal.raise();
    }

    /// Writes all that waits with the calling thread, waiting for room up to `limit`: for a process
    /// that is about to end. True when nothing is left.
    pub fn flush_blocking(
        &self,
        handler: &(impl ConnectionHandler + ?Sized),
        limit: Duration,
    ) -> bool {
        let begun = std::time::Instant::now();
        let mut done = false;
        self.writing.run(|writing| {
            done = writing.failed.is_none();
            while done {
                if writing.batch.is_empty() {
                    handler.fill(&mut writing.batch, clock::now());
                }
                let Some(slice) = writing.batch.slices().find(|slice| !slice.is_empty()) else {
                    return;
                };
                let left = limit.saturating_sub(begun.elapsed());
                let outlet = writing.outlet.as_ref();
                match outlet.map(|outlet| outlet.write_blocking(slice, left)) {
                    Some(Ok(written)) if written > 0 => writing.batch.advance(written),
                    _ => done = false,
                }
            }
        });
        done
    }

    /// Closes the connection and lets go of its writing half, whose descriptor is free as soon as the
    /// driver has ended too. Nothing goes out from now on. True when a part of what was taken for
    /// writing has not gone: the last batch that [`ConnectionHandler::fill`] has given is not whole at the peer.
    pub fn retire(&self) -> bool {
        self.blocked.store(true, Ordering::SeqCst);
        self.writing.run_alone(|writing| {
            writing.failed.get_or_insert(io::ErrorKind::NotConnected.into());
            if let Some(outlet) = writing.outlet.take() {
                outlet.close();
            }
            !writing.batch.is_empty()
        })
    }

    /// The writing half; `None` after [`retire`](Self::retire).
    pub fn outlet(&self) -> Option<Arc<dyn Outlet>> {
        self.writing.run_alone(|writing| writing.outlet.clone())
    }

    fn write_all(&self, writing: &mut Writing, handler: &(impl ConnectionHandler + ?Sized)) {
        if writing.failed.is_some() {
            return;
        }
        loop {
            if writing.batch.is_empty() {
                handler.fill(&mut writing.batch, clock::now());
                if writing.batch.is_empty() {
                    return;
                }
            }
            match write_once(writing.outlet.as_deref(), &writing.batch) {
                Ok(written) => writing.batch.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.blocked.store(true, Ordering::SeqCst);
                    self.signal.raise();
                    return;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    writing.failed = Some(error);
                    self.signal.raise();
                    return;
                }
            }
        }
    }

    fn take_failure(&self) -> Option<io::Error> {
        let mut failed = None;
        self.writing.run(|writing| {
            if let Some(error) = &writing.failed {
                failed = Some(error.kind().into());
            }
        });
        failed
    }
}

fn write_once(outlet: Option<&dyn Outlet>, batch: &Batch) -> io::Result<usize> {
    let Some(outlet) = outlet else {
        return Err(io::ErrorKind::NotConnected.into());
    };
    let mut parts = [IoSlice::new(&[]); SLICES_MAX];
    let mut used = 0;
    for (part, slice) in parts.iter_mut().zip(batch.slices()) {
        *part = IoSlice::new(slice);
        used += 1;
    }
    match outlet.try_write(&parts[..used]) {
        Ok(0) => Err(io::ErrorKind::WriteZero.into()),
        other => other,
    }
}

/// Turns the crank until the connection is over. Dropping the future leaves the connection open
/// and silent; [`Flusher::retire`] closes it.
pub async fn drive<C: ConnectionHandler>(
    handler: &C,
    reader: &mut (dyn AsyncRead + Send + Unpin),
    input: &mut ReadBuf,
    flusher: &Flusher,
) -> Ending<C::Error> {
    let mut timer = DeadlineTimer::new();
    let mut last_received = clock::now();
    let Some(outlet) = flusher.outlet() else {
        return Ending::Io(io::ErrorKind::NotConnected.into());
    };
    // What came together with the last message of the handshake lies in `input` already.
    let first = handler.read(input, clock::now());
    flusher.flush(handler);
    if let Err(error) = first {
        return Ending::Protocol(error);
    }
    poll_fn(|context| {
        if let Poll::Ready(error) = poll_write(handler, flusher, &*outlet, context) {
            let last = read_remaining(handler, reader, input, context);
            return Poll::Ready(last.map_or(Ending::Io(error), Ending::Protocol));
        }
        while timer.poll_due(handler.deadline(), context) {
            if let Err(error) = handler.tick(clock::now()) {
                flusher.flush(handler);
                return Poll::Ready(Ending::Protocol(error));
            }
            flusher.flush(handler);
            if clock::now().since(last_received) >= IDLE_AFTER {
                input.release();
            }
        }
        match handler.flow() {
            Flow::Open => match pin!(reader.read_buf(input.space())).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(Ending::Io(error)),
                Poll::Ready(Ok(0)) => return Poll::Ready(Ending::PeerClosed),
                Poll::Ready(Ok(_)) => {
                    last_received = clock::now();
                    handler.received(last_received);
                }
            },
            // `poll_write` has left our waker with the signal.
            Flow::Stopped => return Poll::Pending,
            Flow::Resumed => {}
        }
        if input.is_ready() {
            let outcome = handler.read(input, clock::now());
            flusher.flush(handler);
            if let Err(error) = outcome {
                return Poll::Ready(Ending::Protocol(error));
            }
        }
        // The actors that were woken go first, then we read again.
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Reads what has come, when nothing can be written any more: a peer that goes may have said so, and
/// that lies here. Gives what the crank has found wrong with it, which is how it ends in good order too.
fn read_remaining<C: ConnectionHandler>(
    handler: &C,
    reader: &mut (dyn AsyncRead + Send + Unpin),
    input: &mut ReadBuf,
    context: &mut Context<'_>,
) -> Option<C::Error> {
    for _ in 0..LAST_READS_MAX {
        match handler.flow() {
            Flow::Open => match pin!(reader.read_buf(input.space())).poll(context) {
                Poll::Ready(Ok(1..)) => handler.received(clock::now()),
                _ => return None,
            },
            Flow::Stopped => return None,
            Flow::Resumed => {}
        }
        if let Err(error) = handler.read(input, clock::now()) {
            return Some(error);
        }
    }
    None
}

/// Flushes when asked to, and waits for room when there is none. `Ready` is the end, with why nothing
/// can be written.
fn poll_write<C: ConnectionHandler>(
    handler: &C,
    flusher: &Flusher,
    outlet: &dyn Outlet,
    context: &mut Context<'_>,
) -> Poll<io::Error> {
    loop {
        let asked = flusher.signal.poll(context).is_ready();
        if asked {
            flusher.flush(handler);
            if let Some(error) = flusher.take_failure() {
                return Poll::Ready(error);
            }
        }
        if flusher.blocked.load(Ordering::SeqCst) {
            // An error shows at the next write, which says it in full.
            if outlet.poll_writable(context).is_pending() {
                if asked {
                    // The signal gave its note instead of keeping our waker: look again, or a
                    // flow that is opened while we wait for room would not be noticed.
                    continue;
                }
                return Poll::Pending;
            }
            flusher.blocked.store(false, Ordering::SeqCst);
            flusher.flush(handler);
        } else if !asked {
            return Poll::Pending;
        }
    }
}

/// A timer that is set anew only when the deadline has moved.
struct DeadlineTimer {
    sleep: Pin<Box<Sleep>>,
    due: Option<Time>,
}

impl DeadlineTimer {
    fn new() -> DeadlineTimer {
        DeadlineTimer { sleep: Box::pin(tokio::time::sleep_until(Instant::now())), due: None }
    }

    /// True when `deadline` is over; otherwise the task is woken then.
    fn poll_due(&mut self, deadline: Option<Time>, context: &mut Context<'_>) -> bool {
        let Some(deadline) = deadline else {
            return false;
        };
        if self.due != Some(deadline) {
            self.due = Some(deadline);
            self.sleep.as_mut().reset(clock::instant(deadline));
        }
        if self.sleep.as_mut().poll(context).is_pending() {
            return false;
        }
        self.due = None;
        // The runtime's timer has milliseconds; the deadline is the judge.
        clock::now() >= deadline
    }
}

/// A note for the driver, and its waker.
#[derive(Default)]
struct Signal(Mutex<SignalState>);

#[derive(Default)]
struct SignalState {
    raised: bool,
    driver: Option<Waker>,
}

impl Signal {
    fn raise(&self) {
        let Ok(mut state) = self.0.lock() else { return };
        state.raised = true;
        let driver = state.driver.take();
        drop(state);
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let Ok(mut state) = self.0.lock() else {
            return Poll::Pending;
        };
        if std::mem::take(&mut state.raised) {
            return Poll::Ready(());
        }
        if !state.driver.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            state.driver = Some(context.waker().clone());
        }
        Poll::Pending
    }
}
