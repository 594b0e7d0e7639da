//! SP clients of a node: what they may ask and tell, and what they cannot stop.

mod asks;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use wigwag::{Actor, ActorOptions, Address, Node, NodeOptions, Responder};
use wigwag_testkit::ledger::in_time;

use super::sessions::PATIENCE;

/// An actor with methods of many kinds.
#[derive(Default)]
pub(crate) struct Desk {
    words: Vec<String>,
    held: Vec<Responder<u64>>,
    gate: Option<Arc<Semaphore>>,
}

#[derive(wigwag::Message, Clone, Debug, PartialEq)]
pub struct Point {
    x: i64,
    y: i64,
}

#[wigwag::actor]
impl Desk {
    pub fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }

    pub fn greet(&self, name: String, times: Option<u8>) -> String {
        vec![format!("hello {name}"); times.unwrap_or(1).into()].join(", ")
    }

    pub fn mirrored(&self, point: Point) -> Point {
        Point { x: point.y, y: point.x }
    }

    pub fn bytes(&self, count: usize) -> wigwag::Bytes {
        vec![7; count].into()
    }

    pub fn write(&mut self, word: String) {
        self.words.push(word);
    }

    pub fn words(&self) -> Vec<String> {
        self.words.clone()
    }

    /// Answers with the next `release`.
    pub fn hold(&mut self, answer: Responder<u64>) {
        self.held.push(answer);
    }

    pub fn held(&self) -> usize {
        self.held.len()
    }

    pub fn release(&mut self) -> usize {
        let held = std::mem::take(&mut self.held);
        let count = held.len();
        held.into_iter().zip(0..).for_each(|(answer, number)| answer.send(number));
        count
    }

    /// Is handled when the gate lets it pass.
    pub async fn pass(&mut self, word: String) {
        if let Some(gate) = &self.gate {
            gate.acquire().await.unwrap().forget();
        }
        self.words.push(word);
    }

    pub fn fails(&self) -> u64 {
        panic!("the test wants it")
    }

    pub fn refuses(&self, answer: Responder<u64>) {
        answer.fail(0x8007, "not today");
    }
}

/// A node that exports a [`Desk`] as `desk`.
pub(crate) async fn desk_at(address: &str) -> (Node, Address, DeskRef) {
    desk_with(address, Desk::default(), NodeOptions::default()).await
}

pub(crate) async fn desk_with(
    address: &str,
    desk: Desk,
    options: NodeOptions,
) -> (Node, Address, DeskRef) {
    let node = Node::with(options);
    let desk = desk.spawn();
    node.export("desk", &desk).unwrap();
    let bound = node.listen(address).await.unwrap();
    (node, bound, desk)
}
