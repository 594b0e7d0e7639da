//! A connection over another one that changes the bytes on their way: TLS, WebSocket.
//!
//! A [`Layer`] is the state of both directions, without a socket. Its handshake belongs to it, so a
//! connection is there before it is complete: bytes that are sent early wait in the layer, which
//! bounds them, and an error of the handshake is that of a read, within which a
//! [`NetErrorKind`](crate::NetErrorKind) tells the reason. The handshake of the protocol above reports
//! it to the dialer or the listener, within its time limit.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::AsyncRead;
use wigwag_wire::ReadBuf;

use crate::transport::{ByteInlet, Connection, Inlet, Outlet};
use crate::transports::halves::{Half, Halves};

/// Bytes that a layer accepts to send at a time, unless it has another bound: its output is written
/// before it gets more.
pub const SEND_BYTES_MAX: usize = 64 * 1024;

/// Received bytes that a layer may leave for later: more than a record of TLS, the head of an HTTP
/// request, or a frame of WebSocket whose body is passed on where it lies.
const LEFT_BYTES_MAX: usize = 80 * 1024;

/// The outcome of giving received bytes to a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Bytes that were taken off the front.
    pub taken: usize,
    /// Bytes behind them that are the next ones of the input as they stand. They are handed over
    /// where they lie, and the layer is called again for those behind them.
    pub passed: usize,
    /// The peer has ended its direction.
    pub is_end: bool,
}

/// The bytes of both directions of a connection, changed on their way.
pub trait Layer: Send + 'static {
    /// Appends what is sent before anything else to `out`.
    fn begin(&mut self, _out: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }

    /// Accepts bytes to send, up to its bound ([`SEND_BYTES_MAX`]), and appends what they become to `out`.
    /// Returns how many it has accepted: 0 only if it takes none before it has received more.
    fn send(&mut self, parts: &[IoSlice<'_>], out: &mut Vec<u8>) -> io::Result<usize>;

    /// True unless [`send`](Self::send) takes none before more is received.
    fn is_open(&self) -> bool;

    /// Takes what it can from the front of `received`, which it may change in place; appends what
    /// that means to `input`, and what is to be answered to `out`. Called with bytes that it did not
    /// take only together with further ones, so it must not leave a whole record, other than behind
    /// bytes that it passes on.
    ///
    /// # Errors
    /// The peer breaks the layer's protocol. `out` may hold what tells it so.
    fn receive(
        &mut self,
        received: &mut [u8],
        input: &mut ReadBuf,
        out: &mut Vec<u8>,
    ) -> io::Result<Received>;

    /// Handles the end of the stream below.
    ///
    /// # Errors
    /// The layer does not end there: bytes may have been cut off.
    fn ended(&mut self) -> io::Result<()>;

    /// Appends the end of this direction to `out`. False if the layer cannot end one direction only.
    fn finish(&mut self, out: &mut Vec<u8>) -> bool;

    /// Appends what tells the peer that the connection ends.
    fn close(&mut self, out: &mut Vec<u8>);
}

/// `layer` over `below`.
pub fn over(below: Connection, layer: impl Layer) -> io::Result<Connection> {
    over_read(below, layer, &[])
}

/// [`over`] a connection of which `read` has been read already.
pub fn over_read(mut below: Connection, layer: impl Layer, read: &[u8]) -> io::Result<Connection> {
    let reader = std::mem::replace(&mut below.reader, Box::new(ByteInlet(tokio::io::empty())));
    let (mut inlet, outlet) = halves(reader, below.outlet.clone(), layer)?;
    inlet.received.append(read);
    inlet.has_unseen = !read.is_empty();
    Ok(Connection { reader: Box::new(inlet), outlet: Arc::new(outlet), ..below })
}

/// Both halves of `layer` over those of a connection.
fn halves<L: Layer>(
    reader: Box<dyn Inlet>,
    outlet: Arc<dyn Outlet>,
    mut layer: L,
) -> io::Result<(LayeredInlet<L>, LayeredOutlet<L>)> {
    let mut out = Vec::new();
    layer.begin(&mut out)?;
    let shared = Arc::new(Shared {
        sides: Mutex::new(Sides { layer, out, written: 0, finishing: false }),
        below: outlet,
        waiting: Halves::new(),
    });
    shared.flush(&mut shared.sides()).or_else(|error| match error.kind() {
        io::ErrorKind::WouldBlock => Ok(()),
        _ => Err(error),
    })?;
    let inlet = LayeredInlet {
        below: reader,
        received: ReadBuf::new(),
        has_unseen: false,
        spare: ReadBuf::new(),
        failed: None,
        has_ended: false,
        shared: shared.clone(),
    };
    Ok((inlet, LayeredOutlet(shared)))
}

struct Shared<L> {
    sides: Mutex<Sides<L>>,
    below: Arc<dyn Outlet>,
    /// A writer that waits until the layer takes bytes, or for room below, and a reader that waits
    /// until the output is written.
    waiting: Halves,
}

struct Sides<L> {
    layer: L,
    /// Output that is to be written, of which the front is.
    out: Vec<u8>,
    written: usize,
    /// The direction below ends behind the output.
    finishing: bool,
}

impl<L: Layer> Shared<L> {
    fn sides(&self) -> MutexGuard<'_, Sides<L>> {
        // Output of a layer that has panicked must not be written; the connection is of no use.
        self.sides.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the output; `WouldBlock` while some is left.
    fn flush(&self, sides: &mut Sides<L>) -> io::Result<()> {
        while sides.written < sides.out.len() {
            let written = self.below.try_write(&[IoSlice::new(&sides.out[sides.written..])])?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            sides.written += written;
        }
        sides.out.clear();
        sides.written = 0;
        self.below.try_flush()?;
        if std::mem::take(&mut sides.finishing) {
            self.below.finish();
        }
        self.wake(Half::Reader);
        if sides.layer.is_open() {
            self.wake(Half::Writer);
        }
        Ok(())
    }

    fn wake(&self, half: Half) {
        if let Some(waker) = self.waiting.take(half) {
            waker.wake();
        }
    }

    /// Ready if there is room below. Pending, `half` is woken then.
    fn poll_room(&self, half: Half, context: &Context<'_>) -> Poll<io::Result<()>> {
        let room = self.waiting.poll(half, context, |context| self.below.poll_writable(context));
        if room.is_ready() {
            self.waiting.take(half);
        }
        room
    }
}

struct LayeredInlet<L> {
    below: Box<dyn Inlet>,
    /// Bytes that the layer has not taken.
    received: ReadBuf,
    /// The layer has not seen all of them: they were there from the beginning, or there was no room for
    /// what they mean.
    has_unseen: bool,
    /// Bytes for [`poll_read`](AsyncRead::poll_read), which takes few at a time.
    spare: ReadBuf,
    /// The layer's error, which is reported when its last output is written.
    failed: Option<io::Error>,
    has_ended: bool,
    shared: Arc<Shared<L>>,
}

impl<L: Layer> Inlet for LayeredInlet<L> {
    fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        input: &mut ReadBuf,
    ) -> Poll<io::Result<usize>> {
        if !self.spare.is_empty() {
            let spare = self.spare.take(usize::MAX);
            input.append(&spare);
            return Poll::Ready(Ok(spare.len()));
        }
        loop {
            let flushed = self.poll_flush(context);
            if let Some(error) = self.failed.take_if(|_| flushed.is_ready()) {
                return Poll::Ready(Err(error));
            }
            if self.has_ended {
                return flushed.map(|()| Ok(0));
            }
            let arrived = match std::mem::take(&mut self.has_unseen) {
                true => self.received.len(),
                false => ready!(self.below.poll_fill(context, &mut self.received))?,
            };
            let before = input.len();
            self.give_to_layer(arrived, input);
            let gained = input.len() - before;
            if gained > 0 {
                // The layer's answers leave now, if there is room.
                let _ = self.poll_flush(context);
                return Poll::Ready(Ok(gained));
            }
        }
    }

    fn release(&mut self) {
        self.below.release();
        self.received.release();
        self.spare.release();
        let mut sides = self.shared.sides();
        if sides.out.is_empty() {
            sides.out = Vec::new();
        }
    }
}

impl<L: Layer> LayeredInlet<L> {
    /// Writes what the layer answers. Pending without room, and then this task is woken.
    fn poll_flush(&self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut sides = self.shared.sides();
            match self.shared.flush(&mut sides) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // An error shows at the next write.
                    let _ = ready!(self.shared.poll_room(Half::Reader, context));
                }
                // A peer that no longer reads may have sent its reason, so reading goes on.
                _ => return Poll::Ready(()),
            }
        }
    }

    fn give_to_layer(&mut self, arrived: usize, input: &mut ReadBuf) {
        let mut sides = self.shared.sides();
        let Sides { layer, out, .. } = &mut *sides;
        // They become no more bytes than they are. Shown all of them, the layer made the block of every
        // other read grow, into new memory: messages of 64 KiB over TLS took their receiver 43 µs of
        // processor time instead of 19.
        let room = input.room_in_block().max(LEFT_BYTES_MAX + 1);
        let mut shown = self.received.len().min(room);
        let failed = loop {
            let outcome = match arrived {
                0 => layer.ended().map(|()| Received { is_end: true, ..Received::default() }),
                _ => layer.receive(&mut self.received.as_mut_slice()[..shown], input, out),
            };
            let Received { taken, passed, is_end } = match outcome {
                Ok(received) => received,
                Err(error) => break Some(error),
            };
            self.received.skip(taken);
            shown -= taken;
            if passed > 0 {
                input.append_shared(self.received.take(passed));
                shown -= passed;
                if shown > 0 {
                    continue;
                }
            }
            self.has_ended |= is_end;
            self.has_unseen = self.received.len() > shown;
            let rule = "a record of the peer is longer than its protocol allows";
            let is_endless = !is_end && shown > LEFT_BYTES_MAX;
            break is_endless.then(|| io::Error::new(io::ErrorKind::InvalidData, rule));
        };
        self.has_ended |= failed.is_some();
        self.failed = failed;
        let is_open = self.has_ended || sides.layer.is_open();
        drop(sides);
        if is_open {
            self.shared.wake(Half::Writer);
        }
    }
}

/// For a reader that takes few bytes at a time.
impl<L: Layer> AsyncRead for LayeredInlet<L> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.spare.is_empty() {
            let mut spare = std::mem::take(&mut self.spare);
            let filled = self.poll_fill(context, &mut spare);
            self.spare = spare;
            ready!(filled)?;
        }
        let part = self.spare.take(into.remaining());
        into.put_slice(&part);
        Poll::Ready(Ok(()))
    }
}

struct LayeredOutlet<L>(Arc<Shared<L>>);

impl<L: Layer> LayeredOutlet<L> {
    /// Writes what `end` appends, if there is room; a peer that has left needs no end.
    fn write_end(&self, end: impl FnOnce(&mut L, &mut Vec<u8>)) {
        let mut sides = self.0.sides();
        let Sides { layer, out, .. } = &mut *sides;
        end(layer, out);
        let _ = self.0.flush(&mut sides);
    }
}

impl<L: Layer> Outlet for LayeredOutlet<L> {
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut sides = self.0.sides();
        self.0.flush(&mut sides)?;
        let Sides { layer, out, .. } = &mut *sides;
        let accepted = layer.send(parts, out)?;
        match self.0.flush(&mut sides) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ if accepted == 0 => Err(io::ErrorKind::WouldBlock.into()),
            _ => Ok(accepted),
        }
    }

    fn try_flush(&self) -> io::Result<()> {
        self.0.flush(&mut self.0.sides())
    }

    fn poll_writable(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sides = self.0.sides();
        if sides.written < sides.out.len() || sides.layer.is_open() {
            return self.0.poll_room(Half::Writer, context);
        }
        self.0.waiting.enter(Half::Writer, context.waker());
        Poll::Pending
    }

    fn writes_on_any_thread(&self) -> bool {
        self.0.below.writes_on_any_thread()
    }

    fn write_blocking(&self, bytes: &[u8], limit: Duration) -> io::Result<usize> {
        let (begun, mut accepted, mut passed_on) = (Instant::now(), 0, 0);
        let mut sides = self.0.sides();
        loop {
            while sides.written < sides.out.len() {
                let left = limit.saturating_sub(begun.elapsed());
                let rest = &sides.out[sides.written..];
                match self.0.below.write_blocking(rest, left)? {
                    0 => return Ok(passed_on),
                    written => sides.written += written,
                }
            }
            passed_on = accepted;
            sides.out.clear();
            sides.written = 0;
            let Some(rest) = bytes.get(accepted..).filter(|rest| !rest.is_empty()) else {
                return Ok(passed_on);
            };
            let Sides { layer, out, .. } = &mut *sides;
            match layer.send(&[IoSlice::new(rest)], out)? {
                0 => return Ok(passed_on),
                more => accepted += more,
            }
        }
    }

    fn finish(&self) -> bool {
        let mut sides = self.0.sides();
        let Sides { layer, out, .. } = &mut *sides;
        if !layer.finish(out) {
            return false;
        }
        sides.finishing = true;
        // Without room, the reading half goes on.
        let _ = self.0.flush(&mut sides);
        true
    }

    fn close(&self) {
        self.write_end(|layer, out| layer.close(out));
        self.0.below.close();
    }

    fn abort(&self) {
        self.0.below.abort();
    }
}

#[cfg(test)]
mod tests;
