//! actix: the counter is an actor in an arbiter (thread) of its own; senders are threads.
//!
//! After the Actix book: "Actor", "Address" (`do_send` tells, `send` asks) and "Arbiter". A tell
//! ignores the mailbox's capacity, as the documentation of `Addr::do_send` says.
#![forbid(unsafe_code)]

mod inside;

use std::{env, thread};

use actix::{Actor, Arbiter, Context, Handler, Message, MessageResult};
use peer_common::{Payloads, Result, Seen, order, say};

#[derive(Message)]
#[rtype(result = "()")]
struct Count {
    amount: u64,
    sender: u32,
    number: u64,
    payload: u32,
}

#[derive(Message)]
#[rtype(result = "(u64, Seen)")]
struct GetAndReset;

struct Counter {
    total: u64,
    seen: Seen,
}

impl Actor for Counter {
    type Context = Context<Self>;
}

impl Handler<Count> for Counter {
    type Result = ();

    fn handle(&mut self, message: Count, _: &mut Context<Self>) {
        self.total += message.amount;
        self.seen.accept(message.sender, message.number, message.payload);
    }
}

impl Handler<GetAndReset> for Counter {
    type Result = MessageResult<GetAndReset>;

    fn handle(&mut self, _: GetAndReset, _: &mut Context<Self>) -> Self::Result {
        MessageResult((std::mem::take(&mut self.total), self.seen.clone()))
    }
}

#[actix::main]
async fn main() -> Result<()> {
    match env::args().nth(1).as_deref() {
        Some("counter") if inside::play().await? => Ok(()),
        Some("counter") => counter().await,
        role => Err(format!("no such role: {role:?}").into()),
    }
}

async fn counter() -> Result<()> {
    let (senders, amount, seed) = (order("SENDERS")?, order("AMOUNT")?, order("SEED")?);
    let each = order::<u64>("MESSAGES")? / u64::from(senders);
    let counter = Counter::start_in_arbiter(&Arbiter::new().handle(), move |_| Counter {
        total: 0,
        seen: Seen::new(senders as usize),
    });
    peer_common::ready_and_wait_for_go()?;
    let threads: Vec<_> = (0..senders)
        .map(|sender| {
            let counter = counter.clone();
            thread::spawn(move || {
                for (number, payload) in (0..each).zip(Payloads::new(seed, sender)) {
                    counter.do_send(Count { amount, sender, number, payload });
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().map_err(|_| "a sender panicked")?;
    }
    let (total, seen) = counter.send(GetAndReset).await?;
    say(&format!(r#"{{"total": {total}, {}}}"#, seen.account()))
}
