//! The limit of tells to many actors over one connection: the place of the actor stands before number
//! and payload, and each has counts of its own.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::remote::{BATCH, REQUEST, pack, unpack};
use crate::contract::{Failure, Orders, PayloadDraws, Tally, sequences};

/// The first byte of a connection that carries such messages.
pub(super) const MARK: u8 = 4;

const PLACE: usize = 4;
const MESSAGE: usize = PLACE + REQUEST;

/// Takes messages until the stream ends, and returns the account.
pub(super) fn serve(stream: &mut TcpStream, orders: &Orders) -> Result<Value, Failure> {
    let mut tallies = vec![Tally::default(); orders.senders as usize];
    let (mut inbox, mut end) = (vec![0; BATCH * MESSAGE], 0);
    loop {
        let read = stream.read(&mut inbox[end..])?;
        if read == 0 {
            let counts: Vec<_> = tallies.into_iter().map(Tally::to_counts).collect();
            return Ok(sequences(&counts));
        }
        end += read;
        let whole = end / MESSAGE * MESSAGE;
        for [a, b, c, d, message @ ..] in inbox[..whole].as_chunks::<MESSAGE>().0 {
            let (number, payload) = unpack(message);
            if let Some(tally) = tallies.get_mut(u32::from_le_bytes([*a, *b, *c, *d]) as usize) {
                tally.take(number, payload);
            }
        }
        inbox.copy_within(whole..end, 0);
        end -= whole;
    }
}

/// Tells the actors, in turn or at random.
pub(super) fn drive(stream: &mut TcpStream, orders: &Orders) -> Result<Value, Failure> {
    let mut out = Vec::with_capacity(BATCH * MESSAGE);
    let mut tell = |actor: u32, number: u64, payload: u32| {
        out.extend(actor.to_le_bytes());
        out.extend(pack(number, payload));
        if out.len() < BATCH * MESSAGE {
            return Ok(());
        }
        let written = stream.write_all(&out);
        out.clear();
        written
    };
    let actors = orders.senders;
    if orders.cell == "actors-random" {
        let (mut draws, mut numbers) = (PayloadDraws::of(orders.seed, 0), vec![0; actors as usize]);
        for _ in 0..orders.messages {
            let payload = draws.next();
            let number = &mut numbers[(payload % actors) as usize];
            tell(payload % actors, *number, payload)?;
            *number += 1;
        }
    } else {
        let mut draws: Vec<_> =
            (0..actors).map(|actor| PayloadDraws::of(orders.seed, actor)).collect();
        for number in 0..orders.messages / u64::from(actors) {
            for (actor, draws) in (0..).zip(&mut draws) {
                tell(actor, number, draws.next())?;
            }
        }
    }
    stream.write_all(&out)?;
    Ok(json!({ "sent": orders.messages }))
}
