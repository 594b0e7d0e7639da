//! Calls and replies that are longer than a frame: they arrive whole, within the limits of their
//! receiver, and hold up nothing else.

mod whole;
mod cuts;
mod beside;
mod limits;

use std::time::Duration;

use wigwag::{Actor, Bytes, Node, NodeOptions};
use wigwag_testkit::ledger::in_time;

/// Every wait ends much earlier; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(180);

const MIB: usize = 1024 * 1024;

/// The longest payload of a call: its head and the length of the bytes take the rest.
const LONGEST: usize = 16 * MIB - 64;

/// Bytes of a payload that are equal. It divides no length that a message is cut at.
const BLOCK: usize = 251;

/// Bytes that tell their length and place. They are copied by the block, since one by one the longest
/// payload keeps a thread of a debug build from its heartbeats for most of a second.
fn payload(length: usize, seed: u8) -> Bytes {
    let mut bytes = Vec::with_capacity(length);
    for block in 0..length.div_ceil(BLOCK) {
        let left = length - bytes.len();
        bytes.extend_from_slice(&[block as u8 ^ seed; BLOCK][..left.min(BLOCK)]);
    }
    bytes.into()
}

/// Keeps what has come, in order.
#[derive(Default)]
struct Store {
    lengths: Vec<u64>,
    wrong: u64,
    ticks: u64,
}

#[wigwag::actor]
impl Store {
    /// Keeps the length of a payload.
    pub fn put(&mut self, seed: u8, bytes: Bytes) {
        self.wrong += u64::from(bytes != payload(bytes.len(), seed));
        self.lengths.push(bytes.len() as u64);
    }

    /// Keeps the length of a payload, and gives it back.
    pub fn swap(&mut self, seed: u8, bytes: Bytes) -> Bytes {
        self.put(seed, bytes.clone());
        bytes
    }

    /// Makes a payload.
    pub fn get(&self, seed: u8, length: u64) -> Bytes {
        payload(length as usize, seed)
    }

    /// Keeps a number.
    pub fn note(&mut self, number: u64) {
        self.lengths.push(number);
    }

    /// Counts.
    pub fn tick(&mut self) {
        self.ticks += 1;
    }

    /// How many ticks have come.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// The lengths that have come, and how many payloads were damaged.
    pub fn all(&self) -> (Vec<u64>, u64) {
        (self.lengths.clone(), self.wrong)
    }

    /// Answers at once.
    pub fn echo(&self, number: u64) -> u64 {
        number
    }

    /// Never answers.
    pub async fn never(&mut self) -> u64 {
        std::future::pending().await
    }
}

/// A node with a store, and another one with a reference to it.
struct Stage {
    service: Node,
    client: Node,
    store: StoreRef,
    there: String,
}

impl Stage {
    async fn new() -> Stage {
        Stage::with(NodeOptions::default(), NodeOptions::default()).await
    }

    async fn with(service: NodeOptions, client: NodeOptions) -> Stage {
        let (service, client) = (Node::with(service), Node::with(client));
        service.export("store", &Store::default().spawn()).unwrap();
        service.export("other", &Store::default().spawn()).unwrap();
        let there = service.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
        let store = client.actor::<Store>(&format!("{there}/store")).await.unwrap();
        Stage { service, client, store, there }
    }

    async fn other(&self) -> StoreRef {
        self.client.actor::<Store>(&format!("{}/other", self.there)).await.unwrap()
    }

    async fn all(&self) -> Vec<u64> {
        let (all, wrong) = in_time(PATIENCE, self.store.all().ask()).await.unwrap();
        assert_eq!(wrong, 0, "damaged payloads");
        all
    }
}
