//! Calls through references in answers that have not come yet.

mod chains;
mod cuts;
mod errors;
mod lifetime;
mod limits;
mod wire;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use wigwag::{Actor, Node, Yield};

/// The longest wait for what comes at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// An actor that knows others by their names.
#[derive(Default)]
struct Desk {
    desks: HashMap<String, DeskRef>,
    lines: Vec<String>,
    /// An answer that waits takes one permit.
    gate: Option<Arc<Semaphore>>,
}

#[wigwag::actor]
impl Desk {
    pub fn put(&mut self, name: &str, desk: DeskRef) {
        self.desks.insert(name.to_owned(), desk);
    }

    pub fn remove(&mut self, name: &str) {
        self.desks.remove(name);
    }

    /// The only desk here.
    pub fn only(&self) -> DeskRef {
        self.desks.values().next().cloned().unwrap()
    }

    pub fn find(&self, name: &str) -> Option<DeskRef> {
        self.desks.get(name).cloned()
    }

    pub fn look_up(&self, name: &str) -> Result<DeskRef, String> {
        self.desks.get(name).cloned().ok_or(name.to_owned())
    }

    /// Answers when the test lets it.
    pub async fn find_later(&self, name: String) -> Option<DeskRef> {
        if let Some(gate) = self.gate.clone() {
            gate.acquire().await.unwrap().forget();
        }
        self.desks.get(&name).cloned()
    }

    pub fn note(&mut self, line: &str) -> u64 {
        self.lines.push(line.to_owned());
        self.lines.len() as u64
    }

    pub fn lines(&self) -> Vec<String> {
        self.lines.clone()
    }

    pub async fn each_line(&mut self, mut lines: Yield<String>) {
        for line in &self.lines {
            lines.send(line.clone()).await.unwrap();
        }
        lines.finish();
    }
}

/// A desk that answers when permits are added, and its gate.
fn gated() -> (DeskRef, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    (Desk { gate: Some(gate.clone()), ..Desk::default() }.spawn(), gate)
}

/// A node that exports a desk, and its address.
async fn served(desk: &DeskRef) -> (Node, String) {
    let service = Node::new();
    service.export("desk", desk).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    (service, format!("{bound}/desk"))
}

/// A client's node, and its reference to the desk at an address.
async fn client_of(url: &str) -> (Node, DeskRef) {
    let client = Node::new();
    let desk = client.actor::<Desk>(url).await.unwrap();
    (client, desk)
}

/// Puts a new desk on another one, under a name.
async fn put(on: &DeskRef, name: &str) -> DeskRef {
    let desk = Desk::default().spawn();
    on.put(name, desk.clone()).ask().await.unwrap();
    desk
}
