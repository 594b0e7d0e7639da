//! One SP connection on a byte stream: first the header, then messages.
//!
//! Our eight header bytes go out at once; the partner's are checked within the handshake time (RFC
//! sp-tcp-mapping-01, section 3). Nothing is accepted from a peer before its header is correct.

pub mod inbound_run;
pub(crate) mod outbox;

use core::mem;

use bytes::Bytes;
use wigwag_wire::header::HEADER_BYTES;
use wigwag_wire::state_machine::HANDSHAKE_MAX;
use wigwag_wire::{
    Batch, Buffer, ConnectionStateMachine, Framing, FramingError, Header, HeaderError,
    ProtocolNumber, ReadBuf, Time,
};

use crate::limits::{
    BATCH_BYTES_MAX, BATCH_SLICES_MAX, COPY_BYTES_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX,
    SHARE_BYTES_MIN,
};
use crate::stream::outbox::Outbox;
use crate::{Head, Message};

/// Splits the next message off the front of `input`; `None` if more bytes are needed.
///
/// A short message is copied out of the block it was read into, a long one shares the block: a body
/// of less than [`SHARE_BYTES_MIN`] keeps at most a slab of as many bytes alive, and a longer one
/// at most its block of 256 KiB, sixteen times its own length. A program that keeps bodies for long
/// should copy them. Neither way allocates while bodies are dropped as fast as they arrive.
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

/// Gathers messages into a batch until one write has enough.
#[derive(Debug)]
pub struct BatchBuilder<'a> {
    batch: &'a mut Batch,
    framing: Framing,
    slices: usize,
    messages_max: usize,
    tally: Tally,
}

/// The messages of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of messages.
    pub messages: usize,
    /// Their bytes, without the framing.
    pub bytes: usize,
    /// Bytes of the longest one.
    pub longest: usize,
}

impl Tally {
    #[inline]
    pub(crate) fn add(&mut self, length: usize) {
        self.messages += 1;
        self.bytes += length;
        self.longest = self.longest.max(length);
    }
}

impl<'a> BatchBuilder<'a> {
    /// A builder that appends to `batch`, which should be empty.
    pub fn new(batch: &'a mut Batch, framing: Framing) -> BatchBuilder<'a> {
        let tally = Tally::default();
        BatchBuilder { batch, framing, slices: 1, messages_max: usize::MAX, tally }
    }

    /// Lets the builder accept at most `messages_max` messages.
    pub fn messages_max(mut self, messages_max: usize) -> BatchBuilder<'a> {
        self.messages_max = messages_max;
        self
    }

    /// The framing of the messages.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// The messages so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// False if the write is long enough, in messages, bytes or slices.
    pub fn has_room(&self) -> bool {
        self.tally.messages < self.messages_max
            && self.batch.len() < BATCH_BYTES_MAX
            && self.slices + 2 <= BATCH_SLICES_MAX
    }

    /// Appends a message with its framing: a short body is copied, a long one goes by reference.
    pub fn put(&mut self, mut message: Message) {
        self.tally.add(message.len());
        if !put_frame(self.batch, self.framing, &message.head, &mut message.body) {
            self.slices += 2;
        }
    }

    /// Shows the first word of each message that begins with one: its header, or the start of a
    /// short body.
    pub(crate) fn first_words(&self, mut each: impl FnMut(u32)) {
        // Bytes of a long body, which are in slices of their own.
        let mut body = 0;
        for slice in self.batch.slices() {
            let mut rest = slice.get(body..).unwrap_or_default();
            body -= body.min(slice.len());
            while let Some(length) = self.framing.length(rest) {
                let message = &rest[self.framing.prefix_bytes()..];
                message.first_chunk().iter().for_each(|word| each(u32::from_be_bytes(**word)));
                rest = message.get(length..).unwrap_or_default();
                body = length.saturating_sub(message.len());
            }
        }
    }

    /// Takes all of `framed` in exchange for the empty batch; false if it has something already, or
    /// may not have as much.
    pub(crate) fn exchange(&mut self, framed: &mut Batch, tally: Tally) -> bool {
        if !self.batch.is_empty() || tally.messages > self.messages_max {
            return false;
        }
        mem::swap(self.batch, framed);
        self.tally = tally;
        true
    }
}

/// Appends a message with its framing to `batch`. True if its body was short and is copied; a long
/// one is taken.
#[inline]
pub(crate) fn put_frame(
    batch: &mut Batch,
    framing: Framing,
    head: &Head,
    body: &mut Bytes,
) -> bool {
    let (prefix, used) = framing.prefix(head.len() + body.len());
    let copied = body.len() <= COPY_BYTES_MAX;
    batch.head(|out| {
        out.put(prefix, used);
        put_head(out, head);
        if copied {
            out.extend(body);
        }
    });
    if !copied {
        batch.body(mem::take(body));
    }
    copied
}

/// Takes the first message out of a batch of whole frames. A copied body comes with its header.
pub(crate) fn take_frame(batch: &mut Batch, framing: Framing) -> Option<Message> {
    let length = framing.length(batch.slices().next()?)?;
    batch.advance(framing.prefix_bytes());
    let here = batch.slices().next().map_or(0, <[u8]>::len);
    let first = batch.take(length.min(here));
    if first.len() == length {
        return Some(Message { head: Head::Empty, body: first });
    }
    let head = if first.is_empty() { Head::Empty } else { Head::Stack(first) };
    let body = batch.take(length - head.len());
    Some(Message { head, body })
}

fn put_head(out: &mut Buffer, head: &Head) {
    match head {
        Head::Empty => {}
        Head::Word(word) => out.put(word.to_be_bytes(), 4),
        Head::Stack(words) => out.extend(words),
    }
}

/// An event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The partner's header is correct; the first event, and only once.
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
    /// The bytes after the header cannot be split into messages.
    #[error(transparent)]
    Framing(#[from] FramingError),
    /// The header did not arrive in time.
    #[error("the peer's SP header was not whole within {HANDSHAKE_MAX:?}")]
    Silent,
}

/// The state machine of one SP connection.
#[derive(Debug)]
pub struct Stream {
    ours: ProtocolNumber,
    framing: Framing,
    receive_limit: usize,
    greeted: bool,
    /// `None` once the partner's header is checked.
    handshake_until: Option<Time>,
    outbox: Outbox,
}

impl Stream {
    /// A new connection; `ours` is the protocol of our end.
    pub fn new(ours: ProtocolNumber, framing: Framing, receive_limit: usize, now: Time) -> Stream {
        Stream {
            ours,
            framing,
            receive_limit,
            greeted: false,
            handshake_until: Some(now + HANDSHAKE_MAX),
            outbox: Outbox::new(OUTBOX_MESSAGES_MAX, OUTBOX_BYTES_MAX),
        }
    }

    /// Queues a message for the next write, or returns it if the queue is full.
    pub fn send(&mut self, message: Message) -> Result<(), Message> {
        self.outbox.push(message)
    }
}

impl ConnectionStateMachine for Stream {
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
        self.outbox.fill(&mut BatchBuilder::new(batch, self.framing));
    }

    fn deadline(&self) -> Option<Time> {
        self.handshake_until
    }
}

#[cfg(test)]
mod tests;
