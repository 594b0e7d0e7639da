//! Drives one connection: reads from it, and writes what no sender has written.
//!
//! Senders flush inline: a sender that finds the socket free writes its message together with
//! everything that piled up during the last write. That is the whole batching rule; no timer is
//! involved. The driver waits for the socket only when it has no room.

pub mod handover;
mod flusher;
mod signal;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

pub use flusher::Flusher;
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep};
use wigwag_spin::Spin;
use wigwag_wire::{Batch, ReadBuf, Time};

use crate::clock;
use crate::sync::Ordering;
use crate::transport::{Inlet, Outlet};

/// Silence after which a connection releases its read buffer at its next deadline.
const IDLE_AFTER: Duration = Duration::from_millis(500);

/// Reads from a peer that no longer accepts writes, however much it sends: 4 MiB, more than a
/// connection's buffers hold as a rule.
const LAST_READS_MAX: usize = 16;

/// Time of a turn of the driver behind which the runtime looks for arrivals on other connections. It looks
/// every 61 turns as a rule, and a peer that sends many tiny frames makes each turn take tens of
/// milliseconds: the others would wait for seconds.
const LONG_TURN: Duration = Duration::from_millis(1);

/// A protocol on one connection. Its methods are called from any thread.
pub trait ConnectionHandler: Send + Sync {
    /// Why the protocol ends the connection.
    type Error;

    /// Notes that bytes have arrived, perhaps only a part of a message.
    fn received(&self, _now: Time) {}

    /// Consumes what it can from the front of `input`.
    fn read(&self, input: &mut ReadBuf, now: Time) -> Result<(), Self::Error>;

    /// Fills the empty `batch` with waiting messages; leaves it empty if there are none.
    fn fill(&self, batch: &mut Batch, now: Time);

    /// Handles a deadline that has passed.
    fn tick(&self, now: Time) -> Result<(), Self::Error>;

    /// When [`tick`](Self::tick) is due.
    fn deadline(&self) -> Option<Time>;

    /// Whether reading continues. The driver asks whenever it runs; code that resumes a stopped
    /// flow must call [`Flusher::wake_driver`].
    fn flow(&self) -> Flow {
        Flow::Open
    }

    /// Begins to spin for the next bytes if that is likely to pay; called after each read.
    fn spin(&self) -> Option<Spin<'_>> {
        None
    }

    /// True if a driver that is woken to write lets the tasks that are runnable go first, so that it
    /// writes what they send too.
    fn gathers_output(&self) -> bool {
        false
    }
}

/// Whether the driver reads from a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Read on.
    Open,
    /// The last [`ConnectionHandler::read`] left bytes for lack of room: the rest stays with the
    /// peer.
    Stopped,
    /// There is room for the bytes that were left: [`ConnectionHandler::read`] runs before more are
    /// read.
    Resumed,
}

/// Why a connection ended.
#[derive(Debug)]
pub enum Ending<E> {
    /// The protocol ended it.
    Protocol(E),
    /// The peer closed it: the stream ended.
    PeerClosed,
    /// The operating system reported an error: reset, timed out.
    Io(io::Error),
}

/// Drives a connection until it ends. Dropping the future leaves the connection open and silent;
/// [`Flusher::retire`] closes it.
pub async fn drive<C: ConnectionHandler>(
    handler: &C,
    reader: &mut dyn Inlet,
    input: &mut ReadBuf,
    flusher: &Flusher,
) -> Ending<C::Error> {
    let mut timer = DeadlineTimer::new();
    let mut last_received = clock::now();
    let Some(outlet) = flusher.outlet() else {
        return Ending::Io(io::ErrorKind::NotConnected.into());
    };
    // Bytes that came with the last message of the handshake are already in `input`.
    let first = handler.read(input, clock::now());
    flusher.flush(handler);
    if let Err(error) = first {
        return Ending::Protocol(error);
    }
    let mut spin: Option<Spin<'_>> = None;
    poll_fn(|context| {
        let was_queued = flusher.queued.swap(false, Ordering::SeqCst);
        // A sender has woken the driver, which a runtime runs next: let the others send first.
        if !was_queued && handler.gathers_output() && flusher.signal.is_raised() {
            flusher.queued.store(true, Ordering::SeqCst);
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
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
                reader.release();
            }
        }
        match handler.flow() {
            Flow::Open => match reader.poll_fill(context, input) {
                Poll::Pending => {
                    if let Some(spin) = &mut spin {
                        spin.again(context);
                    }
                    return Poll::Pending;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Ending::Io(error)),
                Poll::Ready(Ok(0)) => return Poll::Ready(Ending::PeerClosed),
                Poll::Ready(Ok(_)) => {
                    if let Some(spin) = spin.take() {
                        spin.found();
                    }
                    last_received = clock::now();
                    handler.received(last_received);
                }
            },
            // `poll_write` has registered our waker with the signal.
            Flow::Stopped => return Poll::Pending,
            Flow::Resumed => {}
        }
        let begun = clock::now();
        if input.is_ready() {
            let outcome = handler.read(input, begun);
            flusher.flush(handler);
            if let Err(error) = outcome {
                return Poll::Ready(Ending::Protocol(error));
            }
            spin = handler.spin();
        }
        // Let the woken actors run first, then read again.
        flusher.queued.store(true, Ordering::SeqCst);
        wake_again(clock::now().since(begun), context);
        Poll::Pending
    })
    .await
}

/// Makes the driver run again, behind the runtime's next look for arrivals if this turn has `taken` long.
fn wake_again(taken: Duration, context: &mut Context<'_>) {
    if taken < LONG_TURN || pin!(yield_now()).poll(context).is_ready() {
        context.waker().wake_by_ref();
    }
}

/// Reads what has arrived although nothing can be written any more: a peer that closes may have
/// sent its reason. Returns the error that the handler found, which also covers an orderly end.
fn read_remaining<C: ConnectionHandler>(
    handler: &C,
    reader: &mut dyn Inlet,
    input: &mut ReadBuf,
    context: &mut Context<'_>,
) -> Option<C::Error> {
    for _ in 0..LAST_READS_MAX {
        match handler.flow() {
            Flow::Open => match reader.poll_fill(context, input) {
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

/// Flushes on request, and waits for room if there is none. Ready when the connection is broken,
/// with the error of the write.
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
            // An error shows at the next write, which reports it in full.
            if outlet.poll_writable(context).is_pending() {
                if asked {
                    // The signal returned its note instead of registering our waker: poll it again,
                    // or a flow that is resumed while we wait for room would go unnoticed.
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

/// A timer that is reset only when the deadline has changed.
struct DeadlineTimer {
    sleep: Pin<Box<Sleep>>,
    due: Option<Time>,
}

impl DeadlineTimer {
    fn new() -> DeadlineTimer {
        DeadlineTimer { sleep: Box::pin(tokio::time::sleep_until(Instant::now())), due: None }
    }

    /// True if `deadline` has passed; otherwise the task is woken then.
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
        // The runtime's timer has a resolution of milliseconds, so the deadline decides.
        clock::now() >= deadline
    }
}
