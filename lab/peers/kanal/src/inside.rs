//! What else is done within the process: work on each message, asks, and a number that threads hand
//! round, each with a bounded channel of its own.

use std::{env, thread};

use peer_common::{
    Asker, CHANNEL_MESSAGES_MAX, Hop, Payloads, Place, Result, Seen, order, ready_and_wait_for_go,
    say, say_and_stay, work,
};

/// Plays the cell that was ordered; false if it is the plain counter.
pub fn play() -> Result<bool> {
    match env::var("CELL").as_deref() {
        Ok("slow") => slow()?,
        Ok("ask") => ask()?,
        Ok("bounce" | "ring") => ring()?,
        _ => return Ok(false),
    }
    Ok(true)
}

struct Count {
    amount: u64,
    number: u64,
    sender: u32,
    payload: u32,
}

fn slow() -> Result<()> {
    let (senders, amount, seed): (u32, u64, u32) =
        (order("SENDERS")?, order("AMOUNT")?, order("SEED")?);
    let (each, draws) = (order::<u64>("MESSAGES")? / u64::from(senders), order("WORK")?);
    let (inbox, messages) = kanal::bounded::<Count>(CHANNEL_MESSAGES_MAX);
    ready_and_wait_for_go()?;
    for sender in 0..senders {
        let inbox = inbox.clone();
        thread::spawn(move || {
            for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                // Refused when the counter has ended, and then nobody wants to know.
                let _ = inbox.send(Count { amount, number, sender, payload });
            }
        });
    }
    drop(inbox);
    let (mut total, mut worked, mut seen) = (0_u64, 0_u64, Seen::new(senders as usize));
    for Count { amount, number, sender, payload } in messages {
        total += amount;
        seen.accept(sender, number, payload);
        worked = worked.wrapping_add(work(draws, payload));
    }
    let seen = seen.account();
    say_and_stay(&format!(r#"{{"total": {total}, {seen}, "worked": "{worked}"}}"#))
}

/// Number, payload, and the way back.
type Ask = (u64, u32, kanal::Sender<u64>);

fn ask() -> Result<()> {
    let (asks, mut asker) = (order::<u64>("MESSAGES")?, Asker::new(order("SEED")?));
    let (inbox, messages) = kanal::bounded::<Ask>(CHANNEL_MESSAGES_MAX);
    let answerer = thread::spawn(move || {
        let mut seen = Seen::new(1);
        for (number, payload, reply) in messages {
            seen.accept(0, number, payload);
            // An asker that is gone needs no answer.
            let _ = reply.send(number + u64::from(payload));
        }
        seen
    });
    ready_and_wait_for_go()?;
    let (reply, answers) = kanal::bounded(1);
    for _ in 0..asks {
        let (number, payload) = asker.ask();
        inbox.send((number, payload, reply.clone())).map_err(|_| "the answerer is gone")?;
        asker.hold(answers.recv()?);
    }
    drop(inbox);
    say(&asker.account(&answerer.join().map_err(|_| "the answerer panicked")?))
}

fn ring() -> Result<()> {
    let (places, seed) = (Place::all()?, order("SEED")?);
    let (first, mut incoming) = kanal::bounded::<(u64, u32)>(CHANNEL_MESSAGES_MAX);
    let (done, ended) = kanal::bounded(1);
    let last = places.len() - 1;
    let mut threads = Vec::new();
    for (at, mut place) in places.into_iter().enumerate() {
        let (mut next, following) = kanal::bounded(CHANNEL_MESSAGES_MAX);
        if at == last {
            next = first.clone();
        }
        let (messages, done) = (std::mem::replace(&mut incoming, following), done.clone());
        threads.push(thread::spawn(move || {
            for (number, value) in messages {
                // Refused when the next one has ended, which is after the last hop.
                match place.pass(number, value) {
                    Hop::On(number, value) => drop(next.send((number, value))),
                    Hop::End(value) => {
                        let _ = done.send(value);
                        break;
                    }
                }
            }
            place
        }));
    }
    ready_and_wait_for_go()?;
    first.send((0, seed)).map_err(|_| "the ring has ended")?;
    drop(first);
    let value = ended.recv()?;
    let places = threads.into_iter().map(thread::JoinHandle::join);
    let places: std::result::Result<Vec<Place>, _> = places.collect();
    say(&Place::account(value, places.map_err(|_| "one of the ring panicked")?))
}
