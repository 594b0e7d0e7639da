//! The lab's own client of pingpong: one thread and epoll. It is the limit, and it is the witness:
//! beside what the contract wants, it tells what it saw of the other side.
//!
//! It takes its replies four bytes at a time, as any honest client does. With tokens, bytes that
//! nobody asked for end a connection at once; with fixed payloads they look like the next reply,
//! which is how a server that reads a quarter once came out fastest, so there they are counted.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::pingpong::{PONG, TOKEN};
use crate::contract::Failure;
use crate::contract::poller::Poller;
use crate::contract::{Orders, PayloadDraws, print_line, ready_and_go};
use crate::figures::times::Times;

/// The request where payloads are fixed.
const PING: [u8; TOKEN] = *b"Ping";

/// Counts over all connections.
struct ReplyCounts {
    replies: u64,
    wrong: u64,
    /// Bytes that came beyond the replies that were due.
    surplus: u64,
    /// Replies that were there before their request was sent.
    early: u64,
    /// Connections that ended before their work was done.
    broken: u64,
    /// Bytes that came after a connection's last reply.
    after_end: u64,
    bytes_sent: u64,
    bytes_read: u64,
    times: Times,
}

/// State of one connection of the client.
struct DrivenConnection {
    /// `None` once it is over.
    stream: Option<TcpStream>,
    draws: PayloadDraws,
    /// Requests are all the same.
    fixed: bool,
    due: [u8; TOKEN],
    asked: Instant,
    left: u64,
    got: Vec<u8>,
}

pub(crate) fn drive(orders: &Orders) -> Result<(), Failure> {
    let mut poll = Poller::new()?;
    let mut driven = connect(orders, &poll)?;
    ready_and_go()?;
    let mut saw = ReplyCounts::new();
    for it in &mut driven {
        it.ask(&mut saw);
    }
    let half = orders.messages / 2;
    let (mut open, mut at_work) = (driven.len(), None);
    while open > 0 {
        let mut silent = true;
        // When nothing comes on any connection for so long, nothing will.
        for index in poll.wait(Some(orders.answer_max))? {
            silent = false;
            let it = &mut driven[index as usize];
            if it.stream.is_some() && !it.hear(&mut saw) {
                open -= 1;
                if let Some(stream) = it.stream.take() {
                    poll.remove(&stream)?;
                }
            }
            if at_work.is_none() && it.left <= half {
                at_work = Some(driven.iter().filter(|it| it.left < orders.messages).count());
            }
        }
        if silent {
            break;
        }
    }
    let still_open = || driven.iter().filter(|it| it.stream.is_some());
    let mut account = saw.to_json();
    account["at_work"] = at_work.unwrap_or(0).into();
    account["unanswered"] = still_open().filter(|it| it.left > 0).count().into();
    account["unclosed"] = still_open().filter(|it| it.left == 0).count().into();
    Ok(print_line(&account.to_string())?)
}

fn connect(orders: &Orders, poll: &Poller) -> Result<Vec<DrivenConnection>, Failure> {
    let mut driven = Vec::new();
    for index in 0..orders.connections {
        let stream = TcpStream::connect(("127.0.0.1", orders.port))?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        poll.add(&stream, index as u64)?;
        driven.push(DrivenConnection {
            stream: Some(stream),
            draws: PayloadDraws::of(orders.seed, index as u32),
            fixed: orders.fixed,
            due: PONG,
            asked: Instant::now(),
            left: orders.messages,
            got: Vec::new(),
        });
    }
    Ok(driven)
}

impl DrivenConnection {
    fn ask(&mut self, saw: &mut ReplyCounts) {
        let mut request = PING;
        if !self.fixed {
            let token = self.draws.next();
            (request, self.due) = (token.to_le_bytes(), (!token).to_le_bytes());
        }
        self.asked = Instant::now();
        // A connection that can take no more is seen by the next read.
        let written = self.stream.as_mut().and_then(|stream| stream.write(&request).ok());
        saw.bytes_sent += written.unwrap_or(0) as u64;
    }

    /// Reads what is there and asks again; false when the connection is over.
    fn hear(&mut self, saw: &mut ReplyCounts) -> bool {
        let mut inbox = [0; 1_024];
        let read = match self.stream.as_mut().map(|stream| stream.read(&mut inbox)) {
            Some(Ok(read @ 1..)) => read,
            Some(Err(error)) if error.kind() == ErrorKind::WouldBlock => return true,
            _ => {
                saw.broken += u64::from(self.left > 0);
                return false;
            }
        };
        saw.bytes_read += read as u64;
        if self.left == 0 {
            saw.after_end += read as u64;
            return false;
        }
        self.got.extend_from_slice(&inbox[..read]);
        self.take_replies(saw)
    }

    fn take_replies(&mut self, saw: &mut ReplyCounts) -> bool {
        let mut first = true;
        while let Some((reply, rest)) = self.got.split_first_chunk::<TOKEN>() {
            saw.take(*reply == self.due, self.asked.elapsed());
            saw.early += u64::from(!first);
            first = false;
            self.left -= 1;
            if self.left == 0 || (!self.fixed && !rest.is_empty()) {
                saw.surplus += rest.len() as u64;
                return self.left == 0 && rest.is_empty() && self.end();
            }
            self.got.drain(..TOKEN);
            self.ask(saw);
        }
        true
    }

    /// Says that there will be no more; the server closes in its turn.
    fn end(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.shutdown(Shutdown::Write).is_ok())
    }
}

impl ReplyCounts {
    fn new() -> ReplyCounts {
        let times = Times::new();
        let (replies, wrong, surplus, early, broken) = (0, 0, 0, 0, 0);
        let (after_end, bytes_sent, bytes_read) = (0, 0, 0);
        ReplyCounts {
            replies,
            wrong,
            surplus,
            early,
            broken,
            after_end,
            bytes_sent,
            bytes_read,
            times,
        }
    }

    fn take(&mut self, right: bool, took: Duration) {
        self.replies += 1;
        self.wrong += u64::from(!right);
        self.times.take(took);
    }

    fn to_json(&self) -> Value {
        json!({
            "replies": self.replies,
            "wrong": self.wrong,
            "surplus": self.surplus,
            "early": self.early,
            "broken": self.broken,
            "after_end": self.after_end,
            "bytes_sent": self.bytes_sent,
            "bytes_read": self.bytes_read,
            "rtt_us": self.times.to_json(),
        })
    }
}
