//! The limit of the remote workload: one blocking connection, 64 KiB and more a system call.
//!
//! The first byte says whether replies are wanted, or that the messages are other ones; as a rule
//! there come messages of 12 bytes, number and payload. A reply is 8 bytes. The end of the stream asks for the account.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::replies::{joined, naive_ask};
use super::stream::{Listener, Stream, ws};
use super::{actors, blob, callers, paced, shapes};
use crate::contract::Failure;
use crate::contract::{
    Orders, PayloadDraws, Tally, print_line, ready_and_go, ready_until_input_ends, senders,
};
use crate::figures::times::Times;

pub(super) const REQUEST: usize = 12;
pub(super) const REPLY: usize = 8;
/// Messages of a system call.
pub(super) const BATCH: usize = 8_192;

// Over shared memory the writing thread of `ask` must never wait: the other one sleeps at the only
// socket. Two batches are on their way at most.
const _: () = assert!(2 * BATCH * REQUEST <= wigwag_shm::RING_BYTES);

/// Whether the cell goes over another transport than tcp, over which there are no other cells than
/// tells, asks and round trips.
fn is_over_another(orders: &Orders) -> bool {
    !matches!(orders.transport.as_str(), "" | "tcp")
}

/// A stream of bytes over the ordered transport.
fn framed(stream: Stream, orders: &Orders, is_client: bool) -> Stream {
    match orders.transport.as_str() {
        "ws" | "wss" => ws::over(stream, is_client),
        _ => stream,
    }
}

fn serve_over_another(orders: &Orders) -> Result<(), Failure> {
    let listener = Listener::bind(orders)?;
    ready_until_input_ends(listener.port()?)?;
    let Stream { mut reader, mut writer, .. } = framed(listener.accept(orders)?, orders, false);
    let mut kind = [0];
    reader.read_exact(&mut kind)?;
    let account = answer(&mut reader, &mut writer, kind[0] != 0)?;
    print_line(&account.to_string())?;
    loop {
        thread::park();
    }
}

fn drive_over_another(orders: &Orders) -> Result<(), Failure> {
    let Stream { mut reader, mut writer, .. } = framed(Stream::connect(orders)?, orders, true);
    ready_and_go()?;
    let asks = matches!(orders.cell.as_str(), "ask" | "rtt");
    writer.write_all(&[u8::from(asks)])?;
    let account = match orders.cell.as_str() {
        "ask" => ask(&mut reader, &mut writer, orders)?,
        "rtt" => round_trips(&mut reader, &mut writer, orders)?,
        _ => {
            tell(&mut writer, orders, None)?;
            json!({ "sent": orders.messages })
        }
    };
    writer.finish()?;
    Ok(print_line(&account.to_string())?)
}

pub(crate) fn serve(orders: &Orders) -> Result<(), Failure> {
    if is_over_another(orders) {
        return serve_over_another(orders);
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    ready_until_input_ends(listener.local_addr()?.port())?;
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    let mut kind = [0];
    stream.read_exact(&mut kind)?;
    let account = match kind[0] {
        callers::MARK => callers::serve(&mut stream, orders)?,
        shapes::MARK => shapes::serve(&mut stream, orders)?,
        actors::MARK => actors::serve(&mut stream, orders)?,
        blob::MARK => blob::serve(&listener, &mut stream)?,
        wants_replies => answer(&mut &stream, &mut &stream, wants_replies != 0)?,
    };
    print_line(&account.to_string())?;
    loop {
        thread::park();
    }
}

/// Takes numbers and payloads until the stream ends, and returns the account.
fn answer(
    reader: &mut impl Read,
    writer: &mut impl Write,
    wants_replies: bool,
) -> Result<Value, Failure> {
    let (mut tally, mut inbox, mut end) = (Tally::default(), vec![0; BATCH * REQUEST], 0);
    let mut outbox = Vec::with_capacity(BATCH * REPLY);
    loop {
        let read = reader.read(&mut inbox[end..])?;
        if read == 0 {
            return Ok(json!({ "senders": senders(&[tally]) }));
        }
        end += read;
        let whole = end / REQUEST * REQUEST;
        for message in inbox[..whole].as_chunks::<REQUEST>().0 {
            let (number, payload) = unpack(message);
            tally.take(number, payload);
            if wants_replies {
                outbox.extend((number + u64::from(payload)).to_le_bytes());
            }
        }
        inbox.copy_within(whole..end, 0);
        end -= whole;
        writer.write_all(&outbox)?;
        outbox.clear();
    }
}

pub(crate) fn drive(orders: &Orders) -> Result<(), Failure> {
    if is_over_another(orders) {
        return drive_over_another(orders);
    }
    let mut stream = TcpStream::connect(("127.0.0.1", orders.port))?;
    stream.set_nodelay(true)?;
    ready_and_go()?;
    let asks = matches!(orders.cell.as_str(), "ask" | "rtt" | "naive-ask" | "paced" | "callback");
    let kind = match orders.cell.as_str() {
        "callers" | "callers-each" => callers::MARK,
        "actors" | "actors-random" => actors::MARK,
        "blob" => blob::MARK,
        cell if shapes::is_one(cell) => shapes::MARK,
        _ => u8::from(asks),
    };
    stream.write_all(&[kind])?;
    let account = match orders.cell.as_str() {
        _ if kind == callers::MARK => callers::drive(&mut stream, orders)?,
        _ if kind == blob::MARK => blob::drive(&mut stream, orders)?,
        _ if kind == actors::MARK => actors::drive(&mut stream, orders)?,
        _ if kind == shapes::MARK => shapes::drive(&mut stream, orders)?,
        "rtt" => round_trips(&mut &stream, &mut &stream, orders)?,
        // A reference need not cross the wire: there is one connection.
        "ask" | "callback" => ask(&mut &stream, &mut &stream, orders)?,
        "naive-ask" => naive_ask(&stream, orders)?,
        "paced" => paced::drive(&stream, orders)?,
        _ => {
            tell(&stream, orders, None)?;
            json!({ "sent": orders.messages })
        }
    };
    stream.shutdown(Shutdown::Write)?;
    Ok(print_line(&account.to_string())?)
}

/// Writes all messages; with `room`, a batch only when it may be on its way.
pub(super) fn tell(
    mut writer: impl Write,
    orders: &Orders,
    room: Option<SyncSender<u64>>,
) -> Result<(), Failure> {
    let mut draws = PayloadDraws::of(orders.seed, 0);
    let mut batch = Vec::with_capacity(BATCH * REQUEST);
    let size = match room {
        Some(_) => BATCH.min(orders.window / 2).max(1) as u64,
        None => BATCH as u64,
    };
    let mut number = 0;
    while number < orders.messages {
        let end = orders.messages.min(number + size);
        batch.clear();
        for number in number..end {
            batch.extend(pack(number, draws.next()));
        }
        if let Some(room) = &room {
            room.send(end - number)?;
        }
        writer.write_all(&batch)?;
        number = end;
    }
    Ok(())
}

/// One thread writes, this one reads: the window is so many batches, two at the least, and neither
/// side can wait for the other's room.
fn ask(
    reader: &mut impl Read,
    writer: &mut (impl Write + Send),
    orders: &Orders,
) -> Result<Value, Failure> {
    // One batch is being read, the others wait here.
    let (room, batches) = sync_channel((orders.window / BATCH).max(2) - 1);
    thread::scope(|scope| {
        let writer =
            scope.spawn(move || tell(writer, orders, Some(room)).map_err(|e| e.to_string()));
        let mut due = PayloadDraws::of(orders.seed, 0);
        let (mut replies, mut wrong, mut sum) = (0_u64, 0_u64, 0_u64);
        let mut inbox = vec![0; BATCH * REPLY];
        for batch in batches {
            let inbox = &mut inbox[..batch as usize * REPLY];
            reader.read_exact(inbox)?;
            for reply in inbox.as_chunks::<REPLY>().0 {
                let reply = u64::from_le_bytes(*reply);
                wrong += u64::from(reply != replies + u64::from(due.next()));
                replies += 1;
                sum = sum.wrapping_add(reply);
            }
        }
        joined(writer.join())?;
        Ok(json!({ "replies": replies, "wrong": wrong, "sum": sum.to_string() }))
    })
}

pub(super) fn round_trips(
    reader: &mut impl Read,
    writer: &mut impl Write,
    orders: &Orders,
) -> Result<Value, Failure> {
    let mut draws = PayloadDraws::of(orders.seed, 0);
    let (mut wrong, mut sum, mut reply) = (0_u64, 0_u64, [0; REPLY]);
    let mut times = Times::new();
    for number in 0..orders.messages {
        let payload = draws.next();
        let begun = Instant::now();
        writer.write_all(&pack(number, payload))?;
        reader.read_exact(&mut reply)?;
        times.take(begun.elapsed());
        let reply = u64::from_le_bytes(reply);
        wrong += u64::from(reply != number + u64::from(payload));
        sum = sum.wrapping_add(reply);
    }
    Ok(json!({
        "replies": orders.messages,
        "wrong": wrong,
        "sum": sum.to_string(),
        "rtt_us": times.to_json(),
    }))
}

pub(super) fn pack(number: u64, payload: u32) -> [u8; REQUEST] {
    let mut message = [0; REQUEST];
    message[..8].copy_from_slice(&number.to_le_bytes());
    message[8..].copy_from_slice(&payload.to_le_bytes());
    message
}

pub(super) fn unpack(message: &[u8; REQUEST]) -> (u64, u32) {
    let [a, b, c, d, e, f, g, h, rest @ ..] = *message;
    (u64::from_le_bytes([a, b, c, d, e, f, g, h]), u32::from_le_bytes(rest))
}
