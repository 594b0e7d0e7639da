//! SP clients of a node: what they may ask, tell and follow, and what they cannot stop.

mod asks;
mod tells;
mod transports;
mod publishing;
mod surveys;
mod hostile;
mod limits;
mod ends;
mod outside;
mod page;

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::time::sleep;
use wigwag::sp::Req;
use wigwag::{Actor, Address, Node, NodeOptions, PublishError, Responder, This};
use wigwag_testkit::ledger::in_time;

use super::sessions::PATIENCE;

/// An actor with methods of many kinds.
#[derive(Default)]
pub(crate) struct Desk {
    number: u64,
    words: Vec<String>,
    held: Vec<Responder<u64>>,
    gate: Option<Arc<Semaphore>>,
}

#[derive(wigwag::Message, Clone, Debug, PartialEq)]
pub(crate) struct Point {
    x: i64,
    y: i64,
}

#[wigwag::actor]
impl Desk {
    pub fn add(&self, a: i64, b: i64) -> i64 {
        a + b
    }

    #[was("hello")]
    pub fn greet(&self, name: String, times: Option<u8>) -> String {
        vec![format!("hello {name}"); times.unwrap_or(1).into()].join(", ")
    }

    pub fn mirrored(&self, point: Point) -> Point {
        Point { x: point.y, y: point.x }
    }

    pub fn bytes(&self, count: usize) -> wigwag::Bytes {
        vec![7; count].into()
    }

    pub fn length(&self, bytes: wigwag::Bytes) -> usize {
        bytes.len()
    }

    pub fn number(&self) -> u64 {
        self.number
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

    /// The asks that are held and whose askers wait.
    pub fn held(&self) -> usize {
        self.held.iter().filter(|answer| answer.is_wanted()).count()
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
        answer.fail(7, "not today");
    }

    pub fn announce(&self, this: &This<Self>, topic: String, value: Vec<i64>) -> Option<String> {
        this.publish(&topic, value).err().map(|error: PublishError| error.to_string())
    }

    /// Publishes a text of this length.
    pub fn shout(&self, this: &This<Self>, topic: String, length: usize) {
        this.publish(&topic, "x".repeat(length)).unwrap();
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

pub(crate) async fn req_at(address: &Address) -> Req {
    let req = Req::new();
    in_time(PATIENCE, async { req.dial(&address.to_string()).await }).await.unwrap();
    req
}

/// Asks, and returns the answer as text.
pub(crate) async fn ask(req: &Req, request: &str) -> String {
    let asking = async { req.ask(request).await };
    let answer = in_time(PATIENCE, asking).await.unwrap();
    String::from_utf8(answer.to_vec()).unwrap()
}

/// Waits until something holds that no call waits for.
pub(crate) async fn until(mut holds: impl AsyncFnMut() -> bool) {
    let holding = async {
        while !holds().await {
            sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    in_time(PATIENCE, holding).await;
}
