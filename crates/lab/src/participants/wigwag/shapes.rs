//! Tells of the remote workload with other arguments: a number, a text, a struct, long blocks; from
//! a task of wigwag, a task of Tokio, or a plain thread.

use std::ops::Range;
use std::thread;

use serde_json::json;
use tokio::sync::oneshot;
use wigwag::{Actor, Bytes, Items, Node, Refused, Yield};

use super::callers::Offer;
use super::clerk::serve_node;
use crate::contract::quote::Quote;
use crate::contract::stamp::{self, Stamp};
use crate::contract::{Failure, Orders, PayloadDraws, Tally, print_line, ready_and_go, senders};

/// Rows that wait for the task which sends them.
const ITEMS_AHEAD: usize = 256;

/// Takes note of messages of any shape.
pub(super) struct ShapeLedger {
    tally: Tally,
    block_bytes: usize,
}

impl ShapeLedger {
    /// A message that does not fit is left out, and so will be missed.
    #[inline]
    fn take(&mut self, stamp: Option<Stamp>) {
        if let Some((number, payload)) = stamp {
            self.tally.take(number, payload);
        }
    }
}

#[wigwag::actor]
impl ShapeLedger {
    #[inline]
    pub fn word(&mut self, word: u64) {
        self.take(Some(stamp::of_word(word)));
    }

    /// The even numbers.
    #[inline]
    pub fn even(&mut self, number: u64, payload: u32) {
        self.take((number & 1 == 0).then_some((number, payload)));
    }

    /// The odd ones.
    #[inline]
    pub fn odd(&mut self, number: u64, payload: u32) {
        self.take((number & 1 == 1).then_some((number, payload)));
    }

    #[inline]
    pub fn text(&mut self, text: String) {
        self.take(stamp::of_text(text.as_bytes()));
    }

    #[inline]
    pub fn offer(&mut self, offer: Offer) {
        self.take(contents(&offer));
    }

    #[inline]
    pub fn vec(&mut self, block: Vec<u8>) {
        self.take(stamp::of_block(&block, self.block_bytes));
    }

    #[inline]
    pub fn bytes(&mut self, block: Bytes) {
        self.take(stamp::of_block(&block, self.block_bytes));
    }

    /// Reads all rows of a source of the client; true if their stream has ended well.
    pub async fn read(&mut self, source: RowSourceRef) -> bool {
        let mut rows = source.rows();
        while let Some(row) = rows.next().await {
            let Ok(row) = row else { return false };
            self.take(stamp::of_text(row.as_bytes()));
        }
        true
    }

    /// Takes all rows that the client sends; true if their stream has ended well.
    pub async fn upload(&mut self, mut rows: Items<String>) -> bool {
        while let Some(row) = rows.next().await {
            let Ok(row) = row else { return false };
            self.take(stamp::of_text(row.as_bytes()));
        }
        true
    }

    /// Prints the account; true when that could be done.
    pub fn finish(&mut self) -> bool {
        print_line(&json!({ "senders": senders(&[self.tally]) }).to_string()).is_ok()
    }
}

/// Answers with a stream of rows.
pub(super) struct RowSource {
    orders: Orders,
}

#[wigwag::actor]
impl RowSource {
    pub async fn rows(&mut self, mut items: Yield<String>) {
        let mut draws = PayloadDraws::of(self.orders.seed, 0);
        for number in 0..self.orders.messages {
            if items.send(text(number, draws.next())).await.is_err() {
                return;
            }
        }
        items.finish();
    }
}

/// The stamp in a struct, if every part of it fits.
fn contents(offer: &Offer) -> Option<Stamp> {
    let (stamp, quote) = stamp::of_struct(offer.sum, offer.weight)?;
    let fits = offer.name == quote.name() && offer.tags == quote.tags();
    fits.then_some(stamp)
}

pub(super) async fn serve(orders: &Orders) -> Result<(), Failure> {
    let node = Node::new();
    let ledger = ShapeLedger { tally: Tally::default(), block_bytes: orders.bytes };
    node.export("ledger", &ledger.spawn())?;
    serve_node(&node).await
}

pub(super) async fn drive(orders: &Orders) -> Result<(), Failure> {
    let node = Node::new();
    let ledger =
        node.actor::<ShapeLedger>(&format!("tcp://127.0.0.1:{}/ledger", orders.port)).await?;
    ready_and_go()?;
    let sender = Sender { ledger: ledger.clone(), orders: orders.clone() };
    let size = orders.bytes;
    let block = move |number, payload| {
        let mut block = Vec::with_capacity(size);
        stamp::put_block(number, payload, size, &mut block);
        block
    };
    match orders.cell.as_str() {
        "methods" => {
            let tell = |ledger: &ShapeLedgerRef, number: u64, payload| match number & 1 {
                0 => ledger.even(number, payload).try_tell(),
                _ => ledger.odd(number, payload).try_tell(),
            };
            sender.tell(tell).await?;
        }
        "text" => {
            sender.tell(|it, number, payload| it.text(text(number, payload)).try_tell()).await?
        }
        "stream" => {
            let source = RowSource { orders: orders.clone() }.spawn();
            if !ledger.read(source).without_limit().ask().await? {
                return Err("the stream had an error".into());
            }
        }
        "upload" => upload(&ledger, orders).await?,
        "struct" => {
            let offer = |number, payload| Offer::from(Quote::of(0, number, payload));
            sender
                .tell(move |it, number, payload| it.offer(offer(number, payload)).try_tell())
                .await?;
        }
        "vec" => {
            sender
                .tell(move |it, number, payload| it.vec(block(number, payload)).try_tell())
                .await?
        }
        "bytes" => {
            let bytes = move |number, payload| Bytes::from(block(number, payload));
            sender
                .tell(move |it, number, payload| it.bytes(bytes(number, payload)).try_tell())
                .await?;
        }
        "u64-thread" => sender.words_from_thread().await?,
        _ => {
            sender
                .tell(|it, number, payload| it.word(stamp::word(number, payload)).try_tell())
                .await?
        }
    }
    if !ledger.finish().ask().await? {
        return Err("the server could not print its account".into());
    }
    print_line(&json!({ "sent": orders.messages }).to_string())?;
    node.close(std::time::Duration::from_secs(1)).await;
    Ok(())
}

/// Sends the rows as one argument, and waits until the server has counted them.
async fn upload(ledger: &ShapeLedgerRef, orders: &Orders) -> Result<(), Failure> {
    let (mut rows, items) = Items::channel(ITEMS_AHEAD);
    let uploading = ledger.upload(items).without_limit().ask().sent().await?;
    let mut draws = PayloadDraws::of(orders.seed, 0);
    for number in 0..orders.messages {
        rows.send(text(number, draws.next())).await?;
    }
    rows.finish();
    match uploading.await? {
        true => Ok(()),
        false => Err("the stream had an error".into()),
    }
}

fn text(number: u64, payload: u32) -> String {
    let letters = stamp::text(number, payload);
    str::from_utf8(&letters).expect("letters are UTF-8").to_owned()
}

struct Sender {
    ledger: ShapeLedgerRef,
    orders: Orders,
}

impl Sender {
    /// Sends all messages from the task that was ordered. As for `tell`, it waits only without room.
    async fn tell<F>(self, tell: F) -> Result<(), Failure>
    where
        F: Fn(&ShapeLedgerRef, u64, u32) -> Result<(), Refused<ShapeLedgerMessage>>
            + Send
            + Sync
            + 'static,
    {
        let is_foreign = self.orders.cell == "u64-task";
        let all = async move {
            let Sender { ledger, orders } = self;
            let mut draws = PayloadDraws::of(orders.seed, 0);
            let mut numbers = 0..orders.messages;
            loop {
                let full;
                (numbers, draws, full) = tell_on(&ledger, numbers, draws, &tell);
                let Some(refused) = full else { return Ok(()) };
                ledger.call::<()>(refused.message).tell().await?;
            }
        };
        match is_foreign {
            true => tokio::spawn(all).await?,
            false => wigwag::spawn(all).await?,
        }
    }

    async fn words_from_thread(self) -> Result<(), Failure> {
        let (done, ended) = oneshot::channel();
        thread::spawn(move || {
            let Sender { ledger, orders } = self;
            let mut draws = PayloadDraws::of(orders.seed, 0);
            let told = (0..orders.messages).try_for_each(|number| {
                ledger.word(stamp::word(number, draws.next())).blocking_tell()
            });
            // The receiver is gone only when the program ends.
            let _ = done.send(told);
        });
        Ok(ended.await??)
    }
}

/// Tells as long as there is room. A plain function, so that numbers and payloads need no place in
/// the task.
fn tell_on(
    ledger: &ShapeLedgerRef,
    mut numbers: Range<u64>,
    mut draws: PayloadDraws,
    tell: impl Fn(&ShapeLedgerRef, u64, u32) -> Result<(), Refused<ShapeLedgerMessage>>,
) -> (Range<u64>, PayloadDraws, Option<Refused<ShapeLedgerMessage>>) {
    let full = numbers.find_map(|number| tell(ledger, number, draws.next()).err());
    (numbers, draws, full)
}
