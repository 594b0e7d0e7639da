//! Messages of the limit, as they lie on its streams.
//!
//! Over WebSocket each message is a frame, which a client masks where it lies.

use std::io::Read;

use crate::contract::poller::Poller;
use crate::contract::sp::Receipts;
use crate::contract::{Failure, Orders};
use crate::participants::raw::stream::Listener;
use crate::participants::raw::stream::ws::{self, KEY_BYTES, Keys};

/// The end that a message comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Client,
    Server,
}

/// The head of each message of one direction, and the lengths of both.
#[derive(Clone)]
struct Layout {
    /// The type of ipc and the length, or the head of a WebSocket frame, whose key is 0 here; and the
    /// id of a request.
    head: Vec<u8>,
    /// Where the key of a frame stands that is masked.
    key_at: Option<usize>,
    /// Bytes of a message with its head.
    frame: usize,
}

impl Layout {
    fn new(orders: &Orders, from: From) -> Layout {
        let id: &[u8] = if orders.cell == "req" { &[0x80, 0, 0, 1] } else { &[] };
        let length = (orders.size + id.len()) as u64;
        let (front, key_at) = match orders.transport.as_str() {
            "ws" | "wss" if from == From::Client => {
                let head = ws::head(length, true);
                let key_at = head.len();
                ([&head[..], &[0; KEY_BYTES]].concat(), Some(key_at))
            }
            "ws" | "wss" => (ws::head(length, false), None),
            "ipc" => ([&[1], &length.to_be_bytes()[..]].concat(), None),
            _ => (length.to_be_bytes().to_vec(), None),
        };
        let head = [&front, id].concat();
        Layout { frame: head.len() + orders.size, head, key_at }
    }

    /// Masks a frame whose message is complete.
    fn seal(&self, frame: &mut [u8], keys: &mut Keys) {
        let Some(key_at) = self.key_at else { return };
        let (head, body) = frame.split_at_mut(key_at + KEY_BYTES);
        let key = keys.next();
        head[key_at..].copy_from_slice(&key);
        // The last mask lies on the id still.
        let id = &self.head[key_at + KEY_BYTES..];
        body[..id.len()].copy_from_slice(id);
        ws::mask(body, key);
    }

    /// Checks the head of a frame that has come, and unmasks its message, which is returned.
    fn open<'a>(&self, frame: &'a mut [u8]) -> Result<&'a mut [u8], Failure> {
        let mut same = self.head.len();
        if let Some(key_at) = self.key_at {
            let (head, body) = frame.split_at_mut(key_at + KEY_BYTES);
            let mut key = [0; KEY_BYTES];
            key.copy_from_slice(&head[key_at..]);
            ws::mask(body, key);
            same = key_at;
        }
        let behind = self.key_at.map_or(same, |key_at| key_at + KEY_BYTES);
        let (head, message) = frame.split_at_mut(self.head.len());
        // Behind another length nothing can be read.
        if head[..same] != self.head[..same] || head[behind..] != self.head[behind..] {
            return Err("a message with another head than was ordered".into());
        }
        Ok(message)
    }
}

/// Messages with their heads, one behind the other.
pub(super) struct Frames {
    bytes: Vec<u8>,
    layout: Layout,
    keys: Keys,
}

impl Frames {
    pub(super) fn new(orders: &Orders, from: From, count: usize) -> Frames {
        let layout = Layout::new(orders, from);
        let mut frame = layout.head.clone();
        frame.resize(layout.frame, 0);
        Frames { bytes: frame.repeat(count), layout, keys: Keys::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.layout.frame
    }

    /// Puts a message at an index: `write` fills all of it.
    #[inline]
    pub(super) fn put(&mut self, at: usize, write: impl FnOnce(&mut [u8])) {
        let Layout { frame, ref head, .. } = self.layout;
        let frame = &mut self.bytes[at * frame..(at + 1) * frame];
        write(&mut frame[head.len()..]);
        self.layout.seal(frame, &mut self.keys);
    }

    /// The message of the only frame, which has been read into [`bytes`](Self::bytes).
    pub(super) fn take(&mut self) -> Result<&mut [u8], Failure> {
        self.layout.open(&mut self.bytes)
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    pub(super) fn first(&self, count: usize) -> &[u8] {
        &self.bytes[..count * self.layout.frame]
    }
}

/// Bytes that were read, as many as a whole number of messages has.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    layout: Layout,
    start: usize,
    end: usize,
}

impl Inbox {
    /// Room for about `bytes` of a client, and for one message at least.
    pub(super) fn new(orders: &Orders, bytes: usize) -> Inbox {
        let layout = Layout::new(orders, From::Client);
        let bytes = vec![0; (bytes / layout.frame).max(1) * layout.frame];
        Inbox { bytes, layout, start: 0, end: 0 }
    }

    /// Reads once, and takes the messages that are whole.
    pub(super) fn read(
        &mut self,
        stream: &mut impl Read,
        receipts: &mut Receipts,
    ) -> Result<(), Failure> {
        let read = stream.read(&mut self.bytes[self.end..])?;
        if read == 0 {
            return Err("a sender ended before its mark".into());
        }
        self.end += read;
        for frame in self.bytes[self.start..self.end].chunks_exact_mut(self.layout.frame) {
            receipts.take(self.layout.open(frame)?);
            self.start += self.layout.frame;
        }
        // The inbox ends with a whole message, so nothing is ever moved.
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        Ok(())
    }
}

/// Bytes of an inbox where there are very many of them.
const INBOX_BYTES: usize = 16 << 10;

/// Reads from so many connections whenever there is something, until all marks have come.
pub(super) fn receive_from_many(
    listener: &Listener,
    many: u32,
    orders: &Orders,
    receipts: &mut Receipts,
) -> Result<(), Failure> {
    let mut poller = Poller::new()?;
    let mut streams = Vec::new();
    for index in 0..u64::from(many) {
        let stream = listener.accept(orders)?;
        poller.add(&stream, index)?;
        streams.push((stream, Inbox::new(orders, INBOX_BYTES)));
    }
    while !receipts.are_complete() {
        for index in poller.wait(None)? {
            let (stream, inbox) = &mut streams[index as usize];
            inbox.read(stream, receipts)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::sp::Stamp;

    const STAMP: Stamp = Stamp { sender: 0, number: 7, payload: 0xA1B2_C3D4 };

    fn orders(transport: &str, cell: &str, size: usize) -> Orders {
        Orders { transport: transport.to_owned(), cell: cell.to_owned(), size, ..Orders::read() }
    }

    /// Two messages of a client as they lie on the stream.
    fn sent(orders: &Orders) -> Vec<u8> {
        let mut frames = Frames::new(orders, From::Client, 2);
        // The second time, the mask of the first one lies on everything.
        for _ in 0..2 {
            frames.put(0, |message| STAMP.write(message));
            frames.put(1, |message| STAMP.write(message));
        }
        frames.bytes().to_vec()
    }

    fn received(orders: &Orders, mut bytes: &[u8]) -> Result<String, String> {
        let (mut inbox, mut receipts) = (Inbox::new(orders, 1), Receipts::new(orders.size, 1));
        while !bytes.is_empty() {
            inbox.read(&mut bytes, &mut receipts).map_err(|error| error.to_string())?;
        }
        Ok(receipts.to_json().to_string())
    }

    #[test]
    fn framed_and_masked_messages_are_read_over_each_transport() {
        for transport in ["tcp", "ipc", "tls", "ws", "wss"] {
            for (cell, size) in [("push", 16), ("push", 130), ("req", 111), ("push", 70_000)] {
                let orders = orders(transport, cell, size);
                let seen = received(&orders, &sent(&orders)).unwrap();
                assert!(seen.contains("\"count\":2"), "{transport} {cell} {size}: {seen}");
                assert!(seen.contains("\"corrupt\":0"), "{transport} {cell} {size}: {seen}");
            }
        }
    }

    /// RFC 6455, 5.1: a server must not accept a frame of a client that is not masked; and one with
    /// another mask than it says, here for the first of every four bytes, holds another message.
    #[test]
    fn a_message_that_is_not_masked_is_refused_or_corrupt() {
        let orders = orders("ws", "push", 16);
        let mut plain = Frames::new(&orders, From::Server, 2);
        plain.put(0, |message| STAMP.write(message));
        let refused = received(&orders, plain.bytes()).unwrap_err();
        assert!(refused.contains("another head"), "{refused}");
        let mut claimed = sent(&orders);
        let key_at = ws::head(16, true).len();
        claimed[key_at] ^= 1;
        let seen = received(&orders, &claimed).unwrap();
        assert!(seen.contains("\"corrupt\":1") && seen.contains("\"count\":1"), "{seen}");
    }

    /// RFC 6455, 5.7: the example of a masked text, with the first byte of a binary message.
    #[test]
    fn a_frame_is_laid_out_as_the_specification_says() {
        let mut hello = *b"Hello";
        ws::mask(&mut hello, [0x37, 0xfa, 0x21, 0x3d]);
        assert_eq!(hello, [0x7f, 0x9f, 0x4d, 0x51, 0x58]);
        assert_eq!(ws::head(5, true), [0x82, 0x85]);
        assert_eq!(ws::head(256, false), [0x82, 0x7e, 1, 0]);
        assert_eq!(ws::head(65_536, false), [0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]);
    }
}
