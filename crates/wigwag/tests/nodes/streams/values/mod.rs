//! Streams as arguments, and within replies.

mod credit;
mod cuts;
mod ends;
mod ways;
mod wire;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;
use wigwag::call::NotSent;
use wigwag::lifecycle::Alive;
use wigwag::{
    Actor, Bytes, CallErrorKind, ItemSender, Items, Message, Node, NodeOptions, Reason, Responder,
    This,
};
use wigwag_testkit::ledger::in_time;

use super::PATIENCE;
use crate::references::{MemberRef, member};

/// The number of items, which are those from 0 on, and the end: an error's kind and text.
pub(crate) type Counted = (u64, Option<(u16, String)>);

/// Reads numbers until the end.
pub(crate) async fn count(items: &mut Items<u64>) -> Counted {
    let mut number = 0;
    loop {
        match items.next().await {
            Some(Ok(item)) => {
                assert_eq!(item, number);
                number += 1;
            }
            end => {
                assert!(items.next().await.is_none(), "the end is told once");
                let error = end.and_then(Result::err);
                let error = error.map(|error| (error.kind.code(), error.to_string()));
                return (number, error);
            }
        }
    }
}

/// A stream within another argument.
#[derive(Debug, Message)]
pub(crate) struct Batch {
    name: String,
    rows: Option<Items<u64>>,
}

/// An actor that is given streams.
#[derive(Default)]
pub(crate) struct Store {
    kept: Vec<Items<u64>>,
    /// Items that were read with `take`.
    read: u64,
    noted: Vec<u64>,
    is_full: Arc<Notify>,
}

#[wigwag::actor]
impl Store {
    /// Reads in the handler.
    pub async fn count(&mut self, mut rows: Items<u64>) -> Counted {
        count(&mut rows).await
    }

    /// Reads in a task, while the actor goes on.
    pub fn count_aside(&mut self, mut rows: Items<u64>, answer: Responder<Counted>) {
        tokio::spawn(async move { answer.send(count(&mut rows).await) });
    }

    pub async fn count_all(&mut self, batches: Vec<Batch>) -> Vec<(String, Counted)> {
        let mut counted = Vec::new();
        for batch in batches {
            let mut rows = batch.rows.unwrap();
            counted.push((batch.name, count(&mut rows).await));
        }
        counted
    }

    pub fn keep(&mut self, rows: Items<u64>) {
        self.kept.push(rows);
        self.read = 0;
    }

    /// Reads items of the stream that was kept first.
    pub async fn take(&mut self, items: u64) {
        for _ in 0..items {
            assert_eq!(self.kept[0].next().await.unwrap().unwrap(), self.read);
            self.read += 1;
        }
    }

    /// Reads it to its end.
    pub async fn finish(&mut self) -> (u64, bool) {
        while let Some(Ok(item)) = self.kept[0].next().await {
            assert_eq!(item, self.read);
            self.read += 1;
        }
        (self.read, self.kept.remove(0).next().await.is_none())
    }

    pub fn lose(&mut self) {
        self.kept.clear();
    }

    pub fn panic_with(&mut self, _rows: Items<u64>) {
        panic!("on purpose");
    }

    pub fn stop_with(&mut self, rows: Items<u64>, this: &This<Self>) {
        self.kept.push(rows);
        this.stop(Reason::Shutdown);
    }

    pub fn with_number(&mut self, _rows: Items<u64>, number: u8) -> u8 {
        number
    }

    pub fn note(&mut self, number: u64) {
        self.noted.push(number);
    }

    pub fn noted(&self) -> Vec<u64> {
        self.noted.clone()
    }

    /// The lengths of blocks.
    pub async fn blocks(&mut self, mut blocks: Items<Bytes>) -> (Vec<u64>, Option<String>) {
        let mut lengths = Vec::new();
        loop {
            match blocks.next().await {
                Some(Ok(block)) => {
                    assert!(block.iter().all(|byte| *byte == block.len() as u8));
                    lengths.push(block.len() as u64);
                }
                end => return (lengths, end.and_then(Result::err).map(|error| error.to_string())),
            }
        }
    }

    /// Tells each member of a stream of members.
    pub async fn greet(&mut self, mut members: Items<Option<MemberRef>>) -> u64 {
        let mut told = 0;
        while let Some(member) = members.next().await {
            if let Some(member) = member.unwrap() {
                member.heard("hello".to_owned()).tell().await.unwrap();
                told += 1;
            }
        }
        told
    }

    /// Gives each number back, one more.
    pub fn increased(&mut self, mut rows: Items<u64>) -> Items<u64> {
        let (mut sender, increased) = Items::channel(8);
        tokio::spawn(async move {
            while let Some(Ok(row)) = rows.next().await {
                if sender.send(row + 1).await.is_err() {
                    return;
                }
            }
            sender.finish();
        });
        increased
    }

    /// Passes a stream on.
    pub async fn count_at(&mut self, other: StoreRef, rows: Items<u64>) -> Counted {
        other.count(rows).ask().await.unwrap()
    }

    /// Waits until the test says so.
    pub async fn wait(&mut self) {
        self.is_full.notified().await;
    }
}

/// Two nodes, one of which has a store.
pub(crate) struct Nodes {
    pub(crate) service: Node,
    pub(crate) client: Node,
    pub(crate) store: StoreRef,
    pub(crate) address: String,
    /// The store in its own process.
    pub(crate) here: StoreRef,
    pub(crate) go: Arc<Notify>,
}

pub(crate) async fn nodes() -> Nodes {
    nodes_with(NodeOptions::default()).await
}

pub(crate) async fn nodes_with(options: NodeOptions) -> Nodes {
    let [service, client] = [(); 2].map(|()| Node::with(options.clone()));
    let store = Store::default();
    let go = store.is_full.clone();
    let here = store.spawn();
    service.export("store", &here).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let address = format!("{bound}/store");
    let store = client.actor::<Store>(&address).await.unwrap();
    Nodes { service, client, store, address, here, go }
}

/// Sends numbers from `first` on.
pub(crate) async fn send(sender: &mut ItemSender<u64>, first: u64, count: u64) {
    for number in first..first + count {
        in_time(PATIENCE, sender.send(number)).await.unwrap();
    }
}

/// Why the reader of a sender has gone: the kind of the error.
pub(crate) async fn closed(sender: &mut ItemSender<u64>) -> CallErrorKind {
    in_time(PATIENCE, sender.closed()).await.kind
}

/// Sends numbers without a wait until the stream takes no more.
pub(crate) fn fill(sender: &mut ItemSender<u64>, first: u64) -> u64 {
    let mut number = first;
    loop {
        match sender.try_send(number) {
            Ok(()) => number += 1,
            Err(NotSent::NoCredit(_)) => return number - first,
            Err(gone) => panic!("{gone}"),
        }
    }
}
