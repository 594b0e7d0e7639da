//! The limit of many callers that each ask one question at a time: as many requests under way, and
//! each side answers what one read has brought with one write.
//!
//! A request has 16 bytes: sender, number, payload. A reply has 48: number + payload, the float, the
//! name and two tags, filled up with zeros; so it has about the bytes that others send.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use rustix::event::{PollFd, PollFlags, poll};
use serde_json::{Value, json};

use crate::contract::quote::Quote;
use crate::contract::{Failure, Orders, PayloadDraws, Tally, senders};

/// The first byte of a connection that carries such requests.
pub(super) const MARK: u8 = 2;

const REQUEST: usize = 16;
pub(super) const REPLY: usize = 48;
const NAME: usize = 16;
const TAG: usize = 8;
const BUFFER_BYTES: usize = 64 * 1024;

/// Answers until the stream ends, and returns the account.
pub(super) fn serve(stream: &mut TcpStream, orders: &Orders) -> Result<Value, Failure> {
    let mut tallies = vec![Tally::default(); orders.senders as usize];
    let (mut inbox, mut end, mut outbox) = (vec![0; BUFFER_BYTES], 0, Vec::new());
    loop {
        let read = stream.read(&mut inbox[end..])?;
        if read == 0 {
            return Ok(json!({ "senders": senders(&tallies) }));
        }
        end += read;
        let whole = end / REQUEST * REQUEST;
        for request in inbox[..whole].as_chunks::<REQUEST>().0 {
            let quote = unpack(request, &mut tallies);
            put_reply(quote, &mut outbox);
        }
        inbox.copy_within(whole..end, 0);
        end -= whole;
        stream.write_all(&outbox)?;
        outbox.clear();
    }
}

/// Asks for all callers; never waits to write while there is something to read.
pub(super) fn drive(stream: &mut TcpStream, orders: &Orders) -> Result<Value, Failure> {
    let each = orders.messages / u64::from(orders.senders);
    let mut callers: Vec<Caller> =
        (0..orders.senders).map(|sender| Caller::new(orders.seed, sender)).collect();
    let (mut inbox, mut end, mut outbox) = (vec![0; BUFFER_BYTES], 0, Vec::new());
    callers.iter_mut().for_each(|caller| caller.ask(&mut outbox));
    let (mut replies, mut wrong, mut sum) = (0_u64, 0_u64, 0_u64);
    let mut due = Vec::with_capacity(REPLY);
    // Of this connection all calls are answered in their order.
    let mut asked = std::collections::VecDeque::from_iter(0..callers.len());
    stream.set_nonblocking(true)?;
    while replies < orders.messages {
        let written = attempt(stream.write(&outbox))?;
        outbox.drain(..written);
        let read = attempt(stream.read(&mut inbox[end..]))?;
        if read == 0 {
            let wanted =
                if outbox.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
            poll(&mut [PollFd::new(stream, wanted)], None)?;
            continue;
        }
        end += read;
        let whole = end / REPLY * REPLY;
        for reply in inbox[..whole].as_chunks::<REPLY>().0 {
            let at = asked.pop_front().ok_or("a reply that nobody has asked for")?;
            let caller = &mut callers[at];
            due.clear();
            put_reply(caller.quote, &mut due);
            wrong += u64::from(reply[..] != due[..]);
            sum = sum.wrapping_add(u64::from_le_bytes(*reply.first_chunk().expect("it is longer")));
            replies += 1;
            if caller.next < each {
                caller.ask(&mut outbox);
                asked.push_back(at);
            }
        }
        inbox.copy_within(whole..end, 0);
        end -= whole;
    }
    stream.set_nonblocking(false)?;
    Ok(json!({ "replies": replies, "wrong": wrong, "sum": sum.to_string() }))
}

/// The bytes that were moved; 0 when the socket is not ready.
fn attempt(moved: std::io::Result<usize>) -> Result<usize, Failure> {
    match moved {
        Ok(moved) => Ok(moved),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
        Err(error) => Err(error.into()),
    }
}

struct Caller {
    sender: u32,
    draws: PayloadDraws,
    /// The number of the next ask.
    next: u64,
    /// The answer that is due to the last ask.
    quote: Quote,
}

impl Caller {
    fn new(seed: u32, sender: u32) -> Caller {
        let draws = PayloadDraws::of(seed, sender);
        Caller { sender, draws, next: 0, quote: Quote::of(sender, 0, 0) }
    }

    fn ask(&mut self, out: &mut Vec<u8>) {
        let payload = self.draws.next();
        out.extend(self.sender.to_le_bytes());
        out.extend(self.next.to_le_bytes());
        out.extend(payload.to_le_bytes());
        self.quote = Quote::of(self.sender, self.next, payload);
        self.next += 1;
    }
}

fn unpack(request: &[u8; REQUEST], tallies: &mut [Tally]) -> Quote {
    let [a, b, c, d, e, f, g, h, i, j, k, l, payload @ ..] = *request;
    let sender = u32::from_le_bytes([a, b, c, d]);
    let number = u64::from_le_bytes([e, f, g, h, i, j, k, l]);
    let payload = u32::from_le_bytes(payload);
    if let Some(tally) = tallies.get_mut(sender as usize) {
        tally.take(number, payload);
    }
    Quote::of(sender, number, payload)
}

pub(super) fn put_reply(quote: Quote, out: &mut Vec<u8>) {
    out.extend(quote.sum().to_le_bytes());
    out.extend(quote.weight().to_le_bytes());
    put_text(&quote.name(), NAME, out);
    quote.tags().iter().for_each(|tag| put_text(tag, TAG, out));
}

fn put_text(text: &str, width: usize, out: &mut Vec<u8>) {
    let end = out.len() + width;
    out.extend(text.bytes().take(width));
    out.resize(end, 0);
}
