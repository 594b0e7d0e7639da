//! The limit of sp within a process: messages in chunks that go round between two threads.

use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::BATCH_BYTES;
use crate::contract::Failure;
use crate::contract::sp::{Receipts, RoundTrips, Stamp, merged};
use crate::contract::{Orders, PayloadDraws, print_line, ready_and_go};
use crate::participants::raw::inside::pin_to_this_processor;

/// Chunks on their way between the threads.
const CHUNKS: usize = 4;

pub(in crate::participants) fn play(orders: &Orders) -> Result<(), Failure> {
    let account = match orders.cell.as_str() {
        "req" => ask(orders)?,
        _ => push(orders)?,
    };
    Ok(print_line(&account.to_string())?)
}

/// Two threads on one processor hand a message to each other.
fn ask(orders: &Orders) -> Result<Value, Failure> {
    pin_to_this_processor()?;
    ready_and_go()?;
    let (ask, asked) = sync_channel::<Vec<u8>>(1);
    let (answer, answered) = sync_channel::<Vec<u8>>(1);
    let mut round_trips = RoundTrips::new(orders);
    let receipts = thread::scope(|scope| {
        let answerer = scope.spawn(move || {
            let mut receipts = Receipts::new(orders.size, orders.senders);
            for mut message in asked {
                if let Some(request) = receipts.take(&message) {
                    request.reply().write(&mut message);
                }
                if answer.send(message).is_err() {
                    break;
                }
            }
            receipts
        });
        let mut message = vec![0; orders.size];
        while let Some(request) = round_trips.request() {
            let begun = Instant::now();
            request.write(&mut message);
            ask.send(message)?;
            message = answered.recv()?;
            round_trips.take(&message, begun);
        }
        drop(ask);
        answerer.join().map_err(|_| Failure::from("the answerer panicked"))
    })?;
    Ok(merged(receipts.to_json(), round_trips.to_json()))
}

fn push(orders: &Orders) -> Result<Value, Failure> {
    ready_and_go()?;
    let (full, filled) = sync_channel::<Vec<u8>>(CHUNKS);
    let (back, empty) = sync_channel::<Vec<u8>>(CHUNKS + 2);
    let chunk = (BATCH_BYTES / orders.size).max(1);
    let mut receipts = Receipts::new(orders.size, orders.senders);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut draws = PayloadDraws::of(orders.seed, 0);
            let mut number = 0;
            while number < orders.messages {
                let count = (orders.messages - number).min(chunk as u64) as usize;
                let mut bytes: Vec<u8> =
                    empty.try_recv().unwrap_or_else(|_| vec![0; chunk * orders.size]);
                bytes.truncate(count * orders.size);
                for message in bytes.chunks_exact_mut(orders.size) {
                    Stamp { sender: 0, number, payload: draws.next() }.write(message);
                    number += 1;
                }
                if full.send(bytes).is_err() {
                    return;
                }
            }
        });
        for bytes in filled {
            for message in bytes.chunks_exact(orders.size) {
                receipts.take(message);
            }
            // A sender that is through needs no more chunks.
            let _ = back.try_send(bytes);
        }
    });
    Ok(merged(receipts.to_json(), json!({ "sent": orders.messages })))
}
