//! The remote workload, written as wigwag's documentation recommends.

mod far;
mod callback;
mod blob;

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::sync::{mpsc, oneshot};
use wigwag::{Actor, CallError, Node, NodeOptions, Pipeline, Refused, call::Unsent};

use super::clerk::serve_node_at;
use super::sp::transport::{address, dial_options, listen_options};
use super::{callers, overload, paced, shapes, spread};
use crate::contract::Failure;
use crate::contract::{Orders, PayloadDraws, Tally, print_line, ready_and_go, senders};
use crate::figures::times::Times;

#[derive(Default)]
pub(super) struct Ledger {
    tally: Tally,
}

#[wigwag::actor]
impl Ledger {
    #[inline]
    pub fn note(&mut self, number: u64, payload: u32) {
        self.tally.take(number, payload);
    }

    #[inline]
    pub fn add(&mut self, number: u64, payload: u32) -> u64 {
        self.tally.take(number, payload);
        number + u64::from(payload)
    }

    /// Prints the account; true when that could be done.
    pub fn finish(&mut self) -> bool {
        print_line(&json!({ "senders": senders(&[self.tally]) }).to_string()).is_ok()
    }
}

/// The cells whose messages are spread.
const SPREAD: [&str; 4] = ["senders", "actors", "actors-random", "links"];

/// The cells whose messages have other arguments.
const SHAPES: [&str; 10] = [
    "u64",
    "u64-task",
    "u64-thread",
    "methods",
    "text",
    "stream",
    "upload",
    "struct",
    "vec",
    "bytes",
];

fn options(orders: &Orders) -> NodeOptions {
    match orders.cell.as_str() {
        "unkept" => NodeOptions::default().keep_sessions(Duration::ZERO),
        "messagepack" => NodeOptions::default().fixed_width(false),
        _ => NodeOptions::default(),
    }
}

pub(crate) fn serve(orders: &Orders) -> Result<(), Failure> {
    match orders.cell.as_str() {
        "overload" => return overload::serve(orders),
        "callers" | "callers-each" => return callers::serve(orders),
        "blob" => return blob::serve(),
        _ => {}
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    if orders.cell == "callback" {
        return runtime.block_on(callback::serve());
    }
    if SPREAD.contains(&orders.cell.as_str()) {
        return runtime.block_on(spread::serve(orders));
    }
    if SHAPES.contains(&orders.cell.as_str()) {
        return runtime.block_on(shapes::serve(orders));
    }
    runtime.block_on(async {
        let node = Node::with(options(orders).listen_options(listen_options(orders)?));
        let ledger = Ledger::default().spawn();
        node.export("ledger", &ledger)?;
        if orders.cell == "chain" {
            far::serve(&node, &ledger)?;
        }
        serve_node_at(&node, &address(orders, 0)).await
    })
}

pub(crate) fn drive(orders: &Orders) -> Result<(), Failure> {
    match orders.cell.as_str() {
        "overload" => return overload::drive(orders),
        "callers" | "callers-each" => return callers::drive(orders),
        "blob" => return blob::drive(orders),
        _ => {}
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    if orders.cell == "callback" {
        return runtime.block_on(callback::drive(orders));
    }
    if SPREAD.contains(&orders.cell.as_str()) {
        return runtime.block_on(spread::drive(orders));
    }
    if SHAPES.contains(&orders.cell.as_str()) {
        return runtime.block_on(shapes::drive(orders));
    }
    runtime.block_on(async {
        let node = Node::with(options(orders).dial_options(dial_options(orders)?));
        let ledger = node.actor::<Ledger>(&ledger_of(orders, "ledger")?).await?;
        ready_and_go()?;
        let (messages, window, draws) =
            (orders.messages, orders.window, PayloadDraws::of(orders.seed, 0));
        let sender = ledger.clone();
        let account = match orders.cell.as_str() {
            "ask" => wigwag::spawn(ask(sender, messages, window, draws)).await??,
            "rtt" => wigwag::spawn(round_trips(sender, messages, draws)).await??,
            "chain" => far::chains(&node, orders).await?,
            "join" => wigwag::spawn(far::together(sender, messages, draws)).await??,
            "paced" => wigwag::spawn(paced::drive(sender, orders.clone())).await??,
            "naive-ask" => wigwag::spawn(naive_ask(sender, messages, draws)).await??,
            "thread" => tell_from_thread(sender, messages, draws).await?,
            "naive" => wigwag::spawn(naive(sender, messages, draws)).await??,
            _ => wigwag::spawn(tell(sender, messages, draws)).await??,
        };
        if !ledger.finish().ask().await? {
            return Err("the server could not print its account".into());
        }
        print_line(&account.to_string())?;
        node.close(Duration::from_secs(1)).await;
        Ok(())
    })
}

/// The address of the actor that the server exports under `name`.
fn ledger_of(orders: &Orders, name: &str) -> Result<String, Failure> {
    Ok(format!("{}/{name}", address(orders, orders.port)))
}

/// Sends as the documentation recommends for a task that sends much: waits only without room.
async fn tell(ledger: LedgerRef, messages: u64, mut draws: PayloadDraws) -> Result<Value, Failure> {
    let mut numbers = 0..messages;
    loop {
        let full;
        (numbers, draws, full) = tell_on(&ledger, numbers, draws);
        let Some(refused) = full else { break };
        ledger.call::<()>(refused.message).tell().await?;
    }
    Ok(json!({ "sent": messages }))
}

/// Tells as long as there is room. A plain function, so that numbers and payloads need no place in
/// the task.
fn tell_on(
    ledger: &LedgerRef,
    mut numbers: Range<u64>,
    mut draws: PayloadDraws,
) -> (Range<u64>, PayloadDraws, Option<Refused<LedgerMessage>>) {
    let full = numbers.find_map(|number| ledger.note(number, draws.next()).try_tell().err());
    (numbers, draws, full)
}

/// Sends from a plain thread, whose tells block while there is no room.
async fn tell_from_thread(
    ledger: LedgerRef,
    messages: u64,
    mut draws: PayloadDraws,
) -> Result<Value, Failure> {
    let (done, ended) = oneshot::channel();
    thread::spawn(move || {
        let told =
            (0..messages).try_for_each(|number| ledger.note(number, draws.next()).blocking_tell());
        // The receiver is gone only when the program ends.
        let _ = done.send(told);
    });
    ended.await??;
    Ok(json!({ "sent": messages }))
}

async fn naive(
    ledger: LedgerRef,
    messages: u64,
    mut draws: PayloadDraws,
) -> Result<Value, Failure> {
    for number in 0..messages {
        ledger.note(number, draws.next()).tell().await?;
    }
    Ok(json!({ "sent": messages }))
}

/// Two plain loops side by side: one asks, the other takes what comes back. An answer that nobody
/// has taken keeps its place, so the first loop waits for the second when there are very many.
async fn naive_ask(
    ledger: LedgerRef,
    messages: u64,
    mut draws: PayloadDraws,
) -> Result<Value, Failure> {
    let (tell, mut told) = mpsc::unbounded_channel();
    let ledger = &ledger;
    let asking = async move {
        for number in 0..messages {
            let payload = draws.next();
            let answer = ledger.add(number, payload).ask().sent().await?;
            let sent = tell.send((answer, number + u64::from(payload)));
            sent.map_err(|_| "the other loop has ended")?;
        }
        Ok::<(), Failure>(())
    };
    let (mut wrong, mut sum) = (0_u64, 0_u64);
    let hearing = async {
        for _ in 0..messages {
            let (answer, due) = told.recv().await.ok_or("the asking loop has ended")?;
            let reply: u64 = answer.await?;
            wrong += u64::from(reply != due);
            sum = sum.wrapping_add(reply);
        }
        Ok(())
    };
    tokio::try_join!(asking, hearing)?;
    Ok(json!({ "replies": messages, "wrong": wrong, "sum": sum.to_string() }))
}

/// Totals of the asks whose answers were taken.
#[derive(Default)]
struct ReplyTotals {
    count: u64,
    wrong: u64,
    sum: u64,
    /// The error of the first failure.
    failed: Option<CallError>,
}

impl ReplyTotals {
    #[inline]
    fn note(&mut self, due: u64, reply: Result<u64, CallError>) {
        match reply {
            Ok(reply) => {
                self.wrong += u64::from(reply != due);
                self.sum = self.sum.wrapping_add(reply);
                self.count += 1;
            }
            Err(error) => {
                self.failed.get_or_insert(error);
            }
        }
    }

    /// Takes answers until `keep` are left: those that are there together, others as they come.
    async fn take(
        &mut self,
        asks: &mut Pipeline<Ledger, u64, u64>,
        keep: usize,
    ) -> Result<(), Failure> {
        while asks.len() > keep {
            asks.take_ready(asks.len() - keep, |due, reply| self.note(due, reply));
            if asks.len() > keep
                && let Some((due, reply)) = asks.answer().await
            {
                self.note(due, reply);
            }
            if let Some(error) = self.failed.take() {
                return Err(error.into());
            }
        }
        Ok(())
    }
}

async fn ask(
    ledger: LedgerRef,
    messages: u64,
    window: usize,
    mut draws: PayloadDraws,
) -> Result<Value, Failure> {
    let mut replies = ReplyTotals::default();
    let mut asks = ledger.pipeline(window)?;
    // The session may have room for fewer.
    let keep = asks.capacity() - asks.capacity().div_ceil(8);
    let mut numbers = 0..messages;
    loop {
        let full;
        (numbers, draws, full) = ask_on(&mut asks, &ledger, numbers, draws);
        let Some(unsent) = full else { break };
        if asks.is_full() {
            // The oldest eighth, in order; the rest is on its way meanwhile.
            replies.take(&mut asks, keep).await?;
        }
        // There may be no room on the way: then it is waited for.
        asks.push(ledger.call(unsent.refused.message), unsent.context).await?;
    }
    replies.take(&mut asks, 0).await?;
    let ReplyTotals { count, wrong, sum, .. } = replies;
    Ok(json!({ "replies": count, "wrong": wrong, "sum": sum.to_string() }))
}

/// Asks as long as there is room; a plain function as well.
fn ask_on(
    asks: &mut Pipeline<Ledger, u64, u64>,
    ledger: &LedgerRef,
    mut numbers: Range<u64>,
    mut draws: PayloadDraws,
) -> (Range<u64>, PayloadDraws, Option<Unsent<LedgerMessage, u64>>) {
    let full = numbers.find_map(|number| {
        let payload = draws.next();
        asks.try_push(ledger.add(number, payload), number + u64::from(payload)).err()
    });
    (numbers, draws, full)
}

async fn round_trips(
    ledger: LedgerRef,
    messages: u64,
    mut draws: PayloadDraws,
) -> Result<Value, Failure> {
    let (mut wrong, mut sum) = (0_u64, 0_u64);
    let mut times = Times::new();
    for number in 0..messages {
        let payload = draws.next();
        let begun = Instant::now();
        let reply = ledger.add(number, payload).ask().await?;
        times.take(begun.elapsed());
        wrong += u64::from(reply != number + u64::from(payload));
        sum = sum.wrapping_add(reply);
    }
    Ok(json!({
        "replies": messages,
        "wrong": wrong,
        "sum": sum.to_string(),
        "rtt_us": times.to_json(),
    }))
}
