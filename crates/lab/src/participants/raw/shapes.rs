//! The limit of tells of other shapes: the same bytes in flight, 64 KiB and more a system call, by
//! somebody who knows their length beforehand.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::callers::{REPLY, put_reply};
use super::remote::{REQUEST, pack, unpack};
use crate::contract::quote::Quote;
use crate::contract::stamp::{self, Stamp};
use crate::contract::{Failure, Orders, PayloadDraws, Tally, senders};

/// The first byte of a connection that carries such messages.
pub(super) const MARK: u8 = 3;

const WORD: usize = 8;
/// A byte for the method, which follows from the number.
const METHOD: usize = 1 + REQUEST;
/// Bytes of a system call, at the least.
const WRITE_BYTES: usize = 64 * 1_024;

/// Whether this is one of the cells with such messages.
pub(super) fn is_one(cell: &str) -> bool {
    matches!(cell, "methods" | "text" | "stream" | "upload" | "struct" | "vec" | "bytes")
        || cell.starts_with("u64")
}

/// Takes messages until the stream ends, and returns the account.
pub(super) fn serve(stream: &mut TcpStream, orders: &Orders) -> Result<Value, Failure> {
    let block = orders.bytes;
    match orders.cell.as_str() {
        "methods" => take(stream, METHOD, |message| {
            let (number, payload) = unpack(message[1..].first_chunk()?);
            (u64::from(message[0]) == number & 1).then_some((number, payload))
        }),
        "text" | "stream" | "upload" => take(stream, stamp::TEXT, stamp::of_text),
        "struct" => {
            let mut due = Vec::with_capacity(REPLY);
            take(stream, REPLY, move |message| {
                let sum = u64::from_le_bytes(*message.first_chunk()?);
                let weight = f64::from_le_bytes(*message[8..].first_chunk()?);
                let (stamp, quote) = stamp::of_struct(sum, weight)?;
                due.clear();
                put_reply(quote, &mut due);
                (due == message).then_some(stamp)
            })
        }
        "vec" | "bytes" => take(stream, block, |message| stamp::of_block(message, block)),
        _ => take(stream, WORD, |message| {
            Some(stamp::of_word(u64::from_le_bytes(*message.first_chunk()?)))
        }),
    }
}

/// Sends all messages.
pub(super) fn drive(stream: &mut TcpStream, orders: &Orders) -> Result<Value, Failure> {
    let block = orders.bytes;
    match orders.cell.as_str() {
        "methods" => tell(stream, orders, METHOD, |number, payload, out| {
            out.push((number & 1) as u8);
            out.extend(pack(number, payload));
        }),
        "text" | "stream" | "upload" => {
            tell(stream, orders, stamp::TEXT, |number, payload, out| {
                out.extend(stamp::text(number, payload));
            })
        }
        "struct" => tell(stream, orders, REPLY, |number, payload, out| {
            put_reply(Quote::of(0, number, payload), out);
        }),
        "vec" | "bytes" => tell(stream, orders, block, |number, payload, out| {
            stamp::put_block(number, payload, block, out);
        }),
        _ => tell(stream, orders, WORD, |number, payload, out| {
            out.extend(stamp::word(number, payload).to_le_bytes());
        }),
    }?;
    Ok(json!({ "sent": orders.messages }))
}

/// Takes messages of `size` bytes; those that `read` finds fault with are left out.
#[inline]
fn take(
    stream: &mut TcpStream,
    size: usize,
    mut read: impl FnMut(&[u8]) -> Option<Stamp>,
) -> Result<Value, Failure> {
    let (mut tally, mut end) = (Tally::default(), 0);
    let mut inbox = vec![0; batch(size) * size];
    loop {
        let came = stream.read(&mut inbox[end..])?;
        if came == 0 {
            return Ok(json!({ "senders": senders(&[tally]) }));
        }
        end += came;
        let whole = end / size * size;
        for message in inbox[..whole].chunks_exact(size) {
            if let Some((number, payload)) = read(message) {
                tally.take(number, payload);
            }
        }
        inbox.copy_within(whole..end, 0);
        end -= whole;
    }
}

#[inline]
fn tell(
    stream: &mut TcpStream,
    orders: &Orders,
    size: usize,
    put: impl Fn(u64, u32, &mut Vec<u8>),
) -> Result<(), Failure> {
    let mut draws = PayloadDraws::of(orders.seed, 0);
    let mut out = Vec::with_capacity(batch(size) * size);
    for number in 0..orders.messages {
        put(number, draws.next(), &mut out);
        if out.len() >= WRITE_BYTES {
            stream.write_all(&out)?;
            out.clear();
        }
    }
    Ok(stream.write_all(&out)?)
}

/// Messages of a system call.
fn batch(size: usize) -> usize {
    WRITE_BYTES.div_ceil(size)
}
