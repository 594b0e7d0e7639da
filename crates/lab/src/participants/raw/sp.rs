//! The limit of sp: bytes framed as the Scalability Protocols frame them, put together by hand and
//! written and read many messages at once.

use std::io::{Read, Write};
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::contract::Failure;
use crate::contract::sp::{Receipts, RoundTrips, Stamp};
use crate::contract::{
    Orders, PayloadDraws, print_line, print_line_and_wait, ready_and_go, ready_until_input_ends,
};

pub(in crate::participants) mod inproc;
mod frames;

use super::stream::{Listener, Stream};
use frames::{Frames, From, Inbox};

/// Bytes that are written or read at once, unless a single message is longer.
const BATCH_BYTES: usize = 128 << 10;

/// Connections of a cell: the limit of threads is that of a connection each.
fn connections(orders: &Orders) -> u32 {
    match orders.cell.as_str() {
        "threads" | "connections" | "thousand-connections" => orders.senders,
        _ => 1,
    }
}

pub(crate) fn serve(orders: &Orders) -> Result<(), Failure> {
    let listener = Listener::bind(orders)?;
    ready_until_input_ends(listener.port()?)?;
    let mut receipts = Receipts::new(orders.size, orders.senders);
    let many = connections(orders);
    if orders.cell == "req" {
        answer(listener.accept(orders)?, orders, &mut receipts)?;
    } else if many == 1 {
        let mut stream = listener.accept(orders)?;
        let mut inbox = Inbox::new(orders, BATCH_BYTES);
        while !receipts.are_complete() {
            inbox.read(&mut stream, &mut receipts)?;
        }
        print_line(&receipts.to_json().to_string())?;
    } else {
        frames::receive_from_many(&listener, many, orders, &mut receipts)?;
        print_line(&receipts.to_json().to_string())?;
    }
    loop {
        thread::park();
    }
}

/// Answers requests until the mark, which asks for the account.
fn answer(mut stream: Stream, orders: &Orders, receipts: &mut Receipts) -> Result<(), Failure> {
    let mut requests = Frames::new(orders, From::Client, 1);
    let mut replies = Frames::new(orders, From::Server, 1);
    loop {
        stream.read_exact(requests.bytes())?;
        let request = receipts.take(requests.take()?).ok_or("a request that nobody sent")?;
        if request.is_end() {
            print_line(&receipts.to_json().to_string())?;
        }
        replies.put(0, |reply| request.reply().write(reply));
        stream.write_all(replies.bytes())?;
        if request.is_end() {
            return Ok(());
        }
    }
}

pub(crate) fn drive(orders: &Orders) -> Result<(), Failure> {
    let connected: Result<Vec<Stream>, Failure> =
        (0..connections(orders)).map(|_| Stream::connect(orders)).collect();
    let mut streams = connected?;
    ready_and_go()?;
    let account = match orders.cell.as_str() {
        "req" => ask(&mut streams[0], orders)?,
        "threads" => {
            let sent: Result<(), String> = thread::scope(|scope| {
                let one = |(stream, sender)| {
                    scope.spawn(move || {
                        send(std::slice::from_mut(stream), sender, orders)
                            .map_err(|error| error.to_string())
                    })
                };
                let threads: Vec<_> = streams.iter_mut().zip(0..).map(one).collect();
                let ended = |thread: thread::ScopedJoinHandle<'_, _>| {
                    thread.join().unwrap_or_else(|_| Err("a sender panicked".to_owned()))
                };
                threads.into_iter().try_for_each(ended)
            });
            sent?;
            json!({ "sent": orders.messages })
        }
        _ => {
            send(&mut streams, 0, orders)?;
            json!({ "sent": orders.messages })
        }
    };
    // The streams stay open until the receiver has everything.
    Ok(print_line_and_wait(&account.to_string())?)
}

/// Sends on `streams` in turn, the first of which belongs to `sender`.
fn send(streams: &mut [Stream], sender: u32, orders: &Orders) -> Result<(), Failure> {
    let each = orders.messages / u64::from(orders.senders);
    let mut frames = Frames::new(orders, From::Client, (BATCH_BYTES / orders.size).max(1));
    let senders = sender..sender + streams.len() as u32;
    let mut draws: Vec<PayloadDraws> =
        senders.map(|sender| PayloadDraws::of(orders.seed, sender)).collect();
    let mut number = 0;
    while number < each {
        let end = each.min(number + frames.len() as u64);
        for ((stream, draws), sender) in streams.iter_mut().zip(&mut draws).zip(sender..) {
            for (at, number) in (number..end).enumerate() {
                let payload = draws.next();
                frames.put(at, |message| Stamp { sender, number, payload }.write(message));
            }
            stream.write_all(frames.first((end - number) as usize))?;
        }
        number = end;
    }
    for (stream, sender) in streams.iter_mut().zip(sender..) {
        frames.put(0, |message| Stamp::end(sender).write(message));
        stream.write_all(frames.first(1))?;
    }
    Ok(())
}

/// One request at a time, each reply held against its own.
fn ask(stream: &mut Stream, orders: &Orders) -> Result<Value, Failure> {
    let mut requests = Frames::new(orders, From::Client, 1);
    let mut replies = Frames::new(orders, From::Server, 1);
    let mut round_trips = RoundTrips::new(orders);
    while let Some(request) = round_trips.request() {
        let begun = Instant::now();
        requests.put(0, |message| request.write(message));
        stream.write_all(requests.bytes())?;
        stream.read_exact(replies.bytes())?;
        round_trips.take(replies.take()?, begun);
    }
    requests.put(0, |message| Stamp::end(0).write(message));
    stream.write_all(requests.bytes())?;
    stream.read_exact(replies.bytes())?;
    Ok(round_trips.to_json())
}
