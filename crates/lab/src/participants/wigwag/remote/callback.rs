//! The cell `callback`: each message brings a reference to an actor of the client, which the server
//! tells.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};
use wigwag::{Actor, Node};

use super::super::clerk::serve_node;
use crate::contract::{Failure, Orders, PayloadDraws, Tally, print_line, ready_and_go, senders};

/// Parts of the window that are asked for together.
const PARTS: usize = 8;

/// Takes messages, and tells whoever each of them names.
#[derive(Default)]
pub(super) struct Teller {
    tally: Tally,
}

#[wigwag::actor]
impl Teller {
    pub async fn call_back(&mut self, number: u64, payload: u32, listener: ListenerRef) {
        self.tally.take(number, payload);
        // A listener that has gone is missed by its own account.
        let _ = listener.hear(number, number + u64::from(payload)).tell().await;
    }

    /// Prints the account; true when that could be done.
    pub fn finish(&mut self) -> bool {
        print_line(&json!({ "senders": senders(&[self.tally]) }).to_string()).is_ok()
    }
}

/// Holds what it is told against the messages.
pub(super) struct Listener {
    messages: u64,
    draws: PayloadDraws,
    /// Payloads of the last messages, by their numbers: two tells may come in another order than
    /// their messages, which each brought a reference.
    due: Vec<u32>,
    drawn: u64,
    heard: u64,
    wrong: u64,
    sum: u64,
    room: Arc<Semaphore>,
    done: Option<oneshot::Sender<Value>>,
}

impl Listener {
    /// The value that is due for this number, which is no further ahead than the window.
    fn due(&mut self, number: u64) -> u64 {
        let places = self.due.len() as u64;
        while self.drawn <= number.min(self.messages) {
            self.due[(self.drawn % places) as usize] = self.draws.next();
            self.drawn += 1;
        }
        number.wrapping_add(self.due[(number % places) as usize].into())
    }
}

#[wigwag::actor]
impl Listener {
    pub fn hear(&mut self, number: u64, sum: u64) {
        let due = self.due(number);
        self.wrong += u64::from(sum != due);
        self.sum = self.sum.wrapping_add(sum);
        self.heard += 1;
        let part = self.due.len() / PARTS;
        if self.heard.is_multiple_of(part as u64) {
            self.room.add_permits(part);
        }
        if self.heard == self.messages
            && let Some(done) = self.done.take()
        {
            let sum = self.sum.to_string();
            // The client waits for it.
            let _ = done.send(json!({ "replies": self.heard, "wrong": self.wrong, "sum": sum }));
        }
    }
}

pub(super) async fn serve() -> Result<(), Failure> {
    let node = Node::new();
    node.export("teller", &Teller::default().spawn())?;
    serve_node(&node).await
}

pub(super) async fn drive(orders: &Orders) -> Result<(), Failure> {
    let node = Node::new();
    let teller = node.actor::<Teller>(&format!("tcp://127.0.0.1:{}/teller", orders.port)).await?;
    ready_and_go()?;
    let part = (orders.window / PARTS).max(1);
    let (room, (done, heard)) = (Arc::new(Semaphore::new(part * PARTS)), oneshot::channel());
    let listener = Listener {
        messages: orders.messages,
        draws: PayloadDraws::of(orders.seed, 0),
        due: vec![0; part * PARTS],
        drawn: 0,
        heard: 0,
        wrong: 0,
        sum: 0,
        room: room.clone(),
        done: Some(done),
    };
    let (sender, listener) = (teller.clone(), listener.spawn());
    let (messages, mut draws) = (orders.messages, PayloadDraws::of(orders.seed, 0));
    let sending = wigwag::spawn(async move {
        for number in 0..messages {
            if number.is_multiple_of(part as u64) {
                room.acquire_many(part as u32).await?.forget();
            }
            sender.call_back(number, draws.next(), listener.clone()).tell().await?;
        }
        Ok::<(), Failure>(())
    });
    sending.await??;
    let account = heard.await?;
    if !teller.finish().ask().await? {
        return Err("the server could not print its account".into());
    }
    print_line(&account.to_string())?;
    node.close(Duration::from_secs(1)).await;
    Ok(())
}
