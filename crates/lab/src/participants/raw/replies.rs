//! Replies of the limit as they come in: eight bytes each, in the order of their requests.

use std::io::Read;
use std::net::TcpStream;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use super::remote::{BATCH, REPLY, tell};
use crate::contract::Failure;
use crate::contract::{Orders, PayloadDraws};

/// Replies, each held against its own request.
pub(super) struct ReplyChecker {
    due: PayloadDraws,
    pub(super) count: u64,
    pub(super) wrong: u64,
    pub(super) sum: u64,
}

impl ReplyChecker {
    pub(super) fn of(orders: &Orders) -> ReplyChecker {
        ReplyChecker { due: PayloadDraws::of(orders.seed, 0), count: 0, wrong: 0, sum: 0 }
    }

    /// Reads until all have come; `tell` hears which ones did, and when.
    pub(super) fn read(
        &mut self,
        mut stream: &TcpStream,
        messages: u64,
        mut tell: impl FnMut(std::ops::Range<u64>, Instant),
    ) -> Result<(), Failure> {
        let (mut inbox, mut end) = (vec![0; BATCH * REPLY], 0);
        while self.count < messages {
            let read = stream.read(&mut inbox[end..])?;
            let now = Instant::now();
            if read == 0 {
                return Err(format!("the server ended after {} replies", self.count).into());
            }
            end += read;
            let (whole, before) = (end / REPLY * REPLY, self.count);
            for reply in inbox[..whole].as_chunks::<REPLY>().0 {
                let reply = u64::from_le_bytes(*reply);
                let due = self.count + u64::from(self.due.next());
                self.wrong += u64::from(reply != due);
                self.sum = self.sum.wrapping_add(reply);
                self.count += 1;
            }
            tell(before..self.count, now);
            inbox.copy_within(whole..end, 0);
            end -= whole;
        }
        Ok(())
    }
}

/// One thread writes all asks in a plain loop, this one reads what comes back.
pub(super) fn naive_ask(stream: &TcpStream, orders: &Orders) -> Result<Value, Failure> {
    let writing = stream.try_clone()?;
    let mut replies = ReplyChecker::of(orders);
    thread::scope(|scope| {
        let writer = scope.spawn(move || tell(writing, orders, None).map_err(|e| e.to_string()));
        replies.read(stream, orders.messages, |_, _| {})?;
        joined(writer.join())
    })?;
    let ReplyChecker { count, wrong, sum, .. } = replies;
    Ok(json!({ "replies": count, "wrong": wrong, "sum": sum.to_string() }))
}

/// The result of a writing thread.
pub(super) fn joined<T>(ended: thread::Result<Result<T, String>>) -> Result<T, Failure> {
    match ended {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err("the writing thread panicked".into()),
    }
}
