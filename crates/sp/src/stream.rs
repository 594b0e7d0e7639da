//! One SP connection on a byte stream: header first, then messages.
//!
//! Our eight bytes go out at once; the partner's are checked within the handshake time (RFC
//! sp-tcp-mapping-01, section 3). Nothing is taken from a peer before its header is right. The
//! runtime and the simulator drive the same machine.

use bytes::Bytes;
use wigwag_wire::header::HEADER_BYTES;
use wigwag_wire::machine::HANDSHAKE_MAX;
use wigwag_wire::{
    Batch, Buffer, Framing, FramingError, Header, HeaderError, Machine, ProtocolNumber, ReadBuf,
    Time,
};

use crate::limits::{
    BATCH_BYTES_MAX, BATCH_SLICES_MAX, COPY_BYTES_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX,
    SHARE_BYTES_MIN,
};
use crate::queue::Queue;
use crate::{Head, Message};

/// Cuts the next message off the front of `input`; `None` asks for more bytes.
///
/// A short message is copied out of the block that it was read into, a long one shares it: so a body
/// of less than [`SHARE_BYTES_MIN`] holds at most a slab of as many bytes, and a longer one at most
/// the block of 256 KiB that it came in, sixteen times its own length. Whoever keeps bodies for long
/// copies them. Either way nothing is allocated while bodies are dropped as fast as they come.
pub fn cut(
    framing: Framing,
    input: &mut ReadBuf,
    limit: usize,
) -> Result<Option<Bytes>, FramingError> {
    let Some(length) = framing.next(input, limit)? else {
        return Ok(None);
    };
    input.skip(framing.prefix_bytes());
    Ok(Some(if length < SHARE_BYTES_MIN { input.copy(length) } else { input.take(length) }))
}

/// Gathers messages until one write has enough.
#[derive(Debug)]
pub struct BatchBuilder<'a> {
    batch: &'a mut Batch,
    framing: Framing,
    slices: usize,
}

impl<'a> BatchBuilder<'a> {
    /// Appends to `batch`, which should be empty.
    pub fn new(batch: &'a mut Batch, framing: Framing) -> BatchBuilder<'a> {
        BatchBuilder { batch, framing, slices: 1 }
    }

    /// False when the write is long enough: by bytes, or by slices.
    pub fn has_room(&self) -> bool {
        self.batch.len() < BATCH_BYTES_MAX && self.slices + 2 <= BATCH_SLICES_MAX
    }

    /// Appends a message with its framing: short bodies copied, long ones by reference.
    pub fn put(&mut self, message: Message) {
        let (prefix, used) = self.framing.prefix(message.len());
        let copied = message.body.len() <= COPY_BYTES_MAX;
        self.batch.head(|out| {
            out.put(prefix, used);
            put_head(out, &message.head);
            if copied {
                out.extend(&message.body);
            }
        });
        if !copied {
            self.batch.body(message.body);
            self.slices += 2;
        }
    }
}

fn put_head(out: &mut Buffer, head: &Head) {
    match head {
        Head::Empty => {}
        Head::Word(word) => out.put(word.to_be_bytes(), 4),
        Head::Stack(words) => out.extend(words),
    }
}

/// What a connection tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The partner's header was right; it comes first and once.
    Open(Header),
    /// A message: protocol header and body.
    Message(Bytes),
}

/// Why a connection must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The partner's header is wrong.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// What follows the header cannot be cut into messages.
    #[error(transparent)]
    Framing(#[from] FramingError),
    /// The header did not come in time.
    #[error("the peer's SP header was not whole within {HANDSHAKE_MAX:?}")]
    Silent,
}

/// The machine.
#[derive(Debug)]
pub struct Stream {
    ours: ProtocolNumber,
    framing: Framing,
    receive_limit: usize,
    greeted: bool,
    /// `None` once the partner's header is checked.
    handshake_until: Option<Time>,
    outbox: Queue<Message>,
}

impl Stream {
    /// A connection that has just been made, at our end `ours`.
    pub fn new(ours: ProtocolNumber, framing: Framing, receive_limit: usize, now: Time) -> Stream {
        Stream {
            ours,
            framing,
            receive_limit,
            greeted: false,
            handshake_until: Some(now + HANDSHAKE_MAX),
            outbox: Queue::new(OUTBOX_MESSAGES_MAX, OUTBOX_BYTES_MAX),
        }
    }

    /// Queues a message for the next write, or hands it back when the queue is full.
    pub fn send(&mut self, message: Message) -> Result<(), Message> {
        self.outbox.push(message)
    }
}

impl Machine for Stream {
    type Event<'a> = Event;
    type Error = StreamError;

    fn receive(&mut self, input: &mut ReadBuf, _now: Time) -> Result<Option<Event>, StreamError> {
        if self.handshake_until.is_none() {
            let message = cut(self.framing, input, self.receive_limit)?;
            return Ok(message.map(Event::Message));
        }
        let Some((bytes, _)) = input.as_slice().split_first_chunk::<HEADER_BYTES>() else {
            input.want(HEADER_BYTES);
            return Ok(None);
        };
        let header = Header::expect_partner(self.ours, *bytes)?;
        input.take(HEADER_BYTES);
        self.handshake_until = None;
        Ok(Some(Event::Open(header)))
    }

    fn tick(&mut self, now: Time) -> Result<(), StreamError> {
        match self.handshake_until {
            Some(until) if until <= now => Err(StreamError::Silent),
            _ => Ok(()),
        }
    }

    fn take_output(&mut self, batch: &mut Batch) {
        if !self.greeted {
            self.greeted = true;
            let header = Header { protocol: self.ours };
            batch.head(|out| out.extend(&header.to_bytes()));
        }
        if self.handshake_until.is_some() {
            // A peer of another protocol must not get a message.
            return;
        }
        let mut gather = BatchBuilder::new(batch, self.framing);
        while gather.has_room() {
            let Some(message) = self.outbox.pop() else {
                return;
            };
            gather.put(message);
        }
    }

    fn deadline(&self) -> Option<Time> {
        self.handshake_until
    }
}

#[cfg(test)]
mod tests;
