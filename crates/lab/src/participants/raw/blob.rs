//! The limit of round trips beside long messages: a connection for each.
//!
//! The first connection is that of the round trips, the second carries the long messages: a number
//! of 8 bytes and the bytes of each.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::remote::{REPLY, REQUEST, round_trips, unpack};
use super::replies::joined;
use crate::contract::{Failure, Orders, PayloadDraws, Tally, blob, senders};

/// The first byte of the connection of the round trips.
pub(super) const MARK: u8 = 5;

/// Answers round trips, and takes long messages over the next connection, until both end.
pub(super) fn serve(listener: &TcpListener, stream: &mut TcpStream) -> Result<Value, Failure> {
    let (mut long, _) = listener.accept()?;
    thread::scope(|scope| {
        let taking = scope.spawn(move || take(&mut long).map_err(|error| error.to_string()));
        let (mut tally, mut request) = (Tally::default(), [0; REQUEST]);
        while read_whole(stream, &mut request)? {
            let (number, payload) = unpack(&request);
            tally.take(number, payload);
            let reply: [u8; REPLY] = (number + u64::from(payload)).to_le_bytes();
            stream.write_all(&reply)?;
        }
        Ok(json!({ "senders": senders(&[tally, joined(taking.join())?]) }))
    })
}

fn take(stream: &mut TcpStream) -> Result<Tally, Failure> {
    let (mut tally, mut number, mut bytes) = (Tally::default(), [0; 8], vec![0; blob::BYTES]);
    while read_whole(stream, &mut number)? {
        stream.read_exact(&mut bytes)?;
        tally.take(u64::from_le_bytes(number), blob::payload(&bytes).unwrap_or(0));
    }
    Ok(tally)
}

/// Fills `bytes`; false at the end of the stream.
fn read_whole(stream: &mut TcpStream, bytes: &mut [u8]) -> Result<bool, Failure> {
    let read = stream.read(bytes)?;
    if read > 0 {
        stream.read_exact(&mut bytes[read..])?;
    }
    Ok(read > 0)
}

/// Makes round trips, and sends long messages beside them.
pub(super) fn drive(stream: &mut TcpStream, orders: &Orders) -> Result<Value, Failure> {
    let mut long = TcpStream::connect(("127.0.0.1", orders.port))?;
    let (is_over, seed) = (AtomicBool::new(false), orders.seed);
    thread::scope(|scope| {
        let is_over = &is_over;
        let sending = scope.spawn(move || {
            let (mut draws, mut sent) = (PayloadDraws::of(seed, 1), 0_u64);
            while sent < blob::LEAST || !is_over.load(Ordering::Relaxed) {
                let bytes = blob::of(draws.next());
                let written = long.write_all(&sent.to_le_bytes()).and(long.write_all(&bytes));
                written.map_err(|error| error.to_string())?;
                sent += 1;
            }
            long.shutdown(Shutdown::Write).map_err(|error| error.to_string())?;
            Ok::<u64, String>(sent)
        });
        let account = round_trips(&mut &*stream, &mut &*stream, orders);
        is_over.store(true, Ordering::Relaxed);
        let (sent, mut account) = (joined(sending.join())?, account?);
        account["sent"] = json!(sent);
        Ok(account)
    })
}
