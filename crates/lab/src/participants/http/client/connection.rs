//! One connection of the generator: requests as many as may be in flight, their answers, and as
//! many requests as there is room for again.
//!
//! Now and then the request is another one than usual: for a path that is not there, in two
//! packets, or two at once. A server that does not read what it is asked gives itself away there,
//! while the clock runs.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::check::{Expected, ResponseCheck};
use super::faults::{FaultLog, RequestKind, shown};
use super::requests::{Shapes, unknown, written};
use super::response::{self, Framing};
use crate::contract::{Orders, PayloadDraws};
use crate::figures::statistics::SplitMix64;
use crate::figures::times::Times;

/// One request in so many is of each of the three unusual kinds.
const UNUSUAL_ONE_IN: u64 = 128;

/// State that all connections share.
pub(super) struct ClientState {
    pub(super) check: ResponseCheck,
    pub(super) faults: FaultLog,
    pub(super) times: Times,
    pub(super) shapes: Shapes,
    pub(super) random: SplitMix64,
    /// The time to wait for an answer.
    pub(super) answer_max: Duration,
    /// Unusual requests are mixed in.
    pub(super) mixes: bool,
    /// Requests that a connection may have in flight; a pair among single ones is one more.
    pub(super) depth: usize,
    /// A connection asks again when it was answered; otherwise its driver decides when it asks.
    pub(super) asks_on: bool,
    /// The requests of one write, which all connections make up in turn.
    pub(super) batch: Vec<u8>,
    pub(super) replies: u64,
    pub(super) wrong: u64,
    /// Answers with the document, and the bytes of their heads.
    pub(super) documents: u64,
    pub(super) head_bytes: u64,
}

impl ClientState {
    /// One request in flight on each connection, which asks on by itself.
    pub(super) fn new(orders: &Orders) -> ClientState {
        let mut random = SplitMix64::new(u64::from(orders.seed) << 8);
        ClientState {
            check: ResponseCheck::new(),
            faults: FaultLog::default(),
            times: Times::new(),
            shapes: Shapes::new(&mut random),
            random,
            answer_max: orders.answer_max,
            mixes: ["server", "paced"].contains(&orders.cell.as_str()),
            depth: 1,
            asks_on: true,
            batch: Vec::new(),
            replies: 0,
            wrong: 0,
            documents: 0,
            head_bytes: 0,
        }
    }

    /// Forgets what was counted and timed; the faults stay.
    pub(super) fn forget_counts(&mut self) {
        (self.replies, self.wrong, self.times) = (0, 0, Times::new());
        (self.documents, self.head_bytes) = (0, 0);
    }

    /// The kind of the next request, of which so many are left on its connection. Where many are in
    /// flight, every request is one of a pair already.
    pub(super) fn draw_kind(&mut self, left: u64) -> RequestKind {
        match self.random.draw() % UNUSUAL_ONE_IN {
            0 if self.mixes => RequestKind::Unknown,
            1 if self.mixes => RequestKind::Pieces,
            2 if self.mixes && left >= 2 && self.depth == 1 => RequestKind::Pair,
            _ => RequestKind::Plain,
        }
    }

    /// A connection that cannot be had is the server's fault too.
    pub(super) fn note_failed<T>(&mut self, result: std::io::Result<T>) -> Option<T> {
        let failed = |error: std::io::Error| {
            self.faults.note(RequestKind::Plain, "a connection that failed", || error.to_string());
        };
        result.map_err(failed).ok()
    }
}

/// A connection and what is due on it.
pub(super) struct ClientConnection {
    pub(super) stream: TcpStream,
    draws: PayloadDraws,
    /// Requests that were not asked yet; each is asked as soon as there is room for it.
    left: u64,
    due: VecDeque<(Expected, RequestKind)>,
    /// The first bytes of an answer whose rest has not come.
    got: Vec<u8>,
    /// The second packet of a request in pieces.
    rest: Vec<u8>,
    asked: Instant,
    /// The time from which the answer to a plain request is timed.
    pub(super) timed_from: Instant,
    /// The connection has finished or cannot continue.
    pub(super) over: bool,
}

impl ClientConnection {
    pub(super) fn open(
        port: u16,
        draws: PayloadDraws,
        left: u64,
    ) -> std::io::Result<ClientConnection> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        let now = Instant::now();
        let (due, got, rest) = (VecDeque::with_capacity(2), Vec::new(), Vec::new());
        Ok(ClientConnection {
            stream,
            draws,
            left,
            due,
            got,
            rest,
            asked: now,
            timed_from: now,
            over: left == 0,
        })
    }

    /// Reads without waiting from now on; a server that has answered already is at fault.
    pub(super) fn begin(&mut self, desk: &mut ClientState) -> std::io::Result<()> {
        self.stream.set_nonblocking(true)?;
        let mut early = [0; 512];
        if let Ok(read @ 1..) = self.stream.read(&mut early) {
            desk.faults.note(RequestKind::Plain, "bytes before anything was asked", || {
                shown(&early[..read])
            });
            self.over = true;
        }
        Ok(())
    }

    /// Asks as much as may be in flight, in one write.
    pub(super) fn ask(&mut self, desk: &mut ClientState, now: Instant) {
        let mut batch = std::mem::take(&mut desk.batch);
        batch.clear();
        // Behind the first half of a request only its second one may be sent.
        while self.left > 0 && self.due.len() < desk.depth && self.rest.is_empty() {
            let how = desk.draw_kind(self.left);
            self.append(how, desk, &mut batch);
        }
        self.send_batch(batch, desk, now);
    }

    /// The next request, of a certain kind; of a pair, the next two.
    pub(super) fn ask_as(&mut self, how: RequestKind, desk: &mut ClientState, now: Instant) {
        let mut batch = std::mem::take(&mut desk.batch);
        batch.clear();
        self.append(how, desk, &mut batch);
        self.send_batch(batch, desk, now);
    }

    pub(super) fn ask_no_more(&mut self) {
        self.left = 0;
    }

    /// Nothing is in flight.
    pub(super) fn is_free(&self) -> bool {
        !self.over && self.due.is_empty() && self.rest.is_empty()
    }

    fn send_batch(&mut self, batch: Vec<u8>, desk: &mut ClientState, now: Instant) {
        if !batch.is_empty() {
            (self.asked, self.timed_from) = (now, now);
            send(&self.stream, &batch);
        }
        desk.batch = batch;
    }

    fn append(&mut self, how: RequestKind, desk: &mut ClientState, batch: &mut Vec<u8>) {
        let begins = batch.len();
        let requests = if how == RequestKind::Pair { 2 } else { 1 };
        for _ in 0..requests {
            self.left = self.left.saturating_sub(1);
            let token = written(self.draws.next());
            if how == RequestKind::Unknown {
                batch.extend_from_slice(&unknown(token, &mut desk.random));
                self.due.push_back((Expected::NotFound, how));
            } else {
                let choice = desk.random.draw();
                batch.extend_from_slice(desk.shapes.document(choice, token));
                self.due.push_back((Expected::Document { token }, how));
            }
        }
        if how == RequestKind::Pieces {
            let bytes = (batch.len() - begins) as u64;
            let cut = begins + 1 + (desk.random.draw() % (bytes - 1)) as usize;
            self.rest = batch.split_off(cut);
        }
    }

    /// The second packet, when the first one has certainly been a packet of its own.
    pub(super) fn send_rest(&mut self) {
        send(&self.stream, &self.rest);
        self.rest.clear();
    }

    /// A second packet waits.
    pub(super) fn is_torn(&self) -> bool {
        !self.rest.is_empty() && !self.over
    }

    /// Reads what is there, holds it against what is due and asks on. False when nothing was there.
    pub(super) fn take(&mut self, inbox: &mut [u8], desk: &mut ClientState, now: Instant) -> bool {
        let how = self.due.front().map_or(RequestKind::Plain, |(_, how)| *how);
        let read = match self.stream.read(inbox) {
            Ok(0) => return self.fail(desk, how, "an early end of the connection"),
            Ok(read) => read,
            Err(error) if is_nothing(&error) => return false,
            Err(_) => return self.fail(desk, how, "a reset of the connection"),
        };
        let mut got = std::mem::take(&mut self.got);
        let bytes = if got.is_empty() {
            &inbox[..read]
        } else {
            got.extend_from_slice(&inbox[..read]);
            &got
        };
        // The request in pieces is the last one: answers to those ahead of it may come.
        let (torn, ahead) = (!self.rest.is_empty(), self.due.len());
        let used = if torn && ahead <= 1 { 0 } else { self.hold(bytes, desk, now) };
        if torn && (ahead <= 1 || self.due.is_empty()) {
            let what = "an answer before the request was whole";
            desk.faults.note(RequestKind::Pieces, what, || shown(bytes));
            self.over = true;
            return true;
        }
        let more = &bytes[used..];
        if self.due.is_empty() && !more.is_empty() && !self.over {
            // A server that sends bytes nobody asked for will not answer a request: the connection
            // ends here.
            desk.faults.note(how, "bytes that nobody had asked for", || shown(more));
            self.over = true;
        }
        if !self.over {
            self.got = more.to_vec();
            if desk.asks_on {
                self.ask(desk, now);
                self.over = self.due.is_empty();
            }
        }
        true
    }

    /// Takes all complete answers; returns their number of bytes.
    fn hold(&mut self, bytes: &[u8], desk: &mut ClientState, now: Instant) -> usize {
        let mut used = 0;
        while let Some((due, how)) = self.due.front().copied() {
            let answer = match response::read(&bytes[used..], Framing::Kept) {
                Ok(None) => break,
                Ok(Some(answer)) => answer,
                Err(wrong) => {
                    desk.replies += 1;
                    desk.wrong += 1;
                    desk.faults.take(how, wrong);
                    self.over = true;
                    break;
                }
            };
            used += answer.bytes;
            self.due.pop_front();
            desk.replies += 1;
            if !desk.check.hold(&answer, due, how, &mut desk.faults) {
                desk.wrong += 1;
            }
            if let Expected::Document { .. } = due {
                desk.documents += 1;
                desk.head_bytes += (answer.bytes - answer.body.len()) as u64;
            }
            // With others ahead of it, an answer is as late as they are.
            if how == RequestKind::Plain && desk.depth == 1 {
                desk.times.take(now.saturating_duration_since(self.timed_from));
            }
            self.over |= answer.closes;
        }
        used
    }

    /// Ends here when an answer is waited for in vain.
    pub(super) fn give_up(&mut self, desk: &mut ClientState, now: Instant) {
        if !self.over && now.duration_since(self.asked) > desk.answer_max {
            let how = self.due.front().map_or(RequestKind::Plain, |(_, how)| *how);
            self.fail(desk, how, "no whole answer in time");
        }
    }

    /// Bytes that came when all was done.
    pub(super) fn afterwards(&mut self, inbox: &mut [u8], desk: &mut ClientState) {
        if self.due.is_empty()
            && let Ok(read @ 1..) = self.stream.read(inbox)
        {
            let late = &inbox[..read];
            desk.faults.note(RequestKind::Plain, "bytes that nobody had asked for", || shown(late));
        }
    }

    fn fail(&mut self, desk: &mut ClientState, how: RequestKind, what: &'static str) -> bool {
        let got = &self.got;
        desk.faults.note(how, what, || match got.len() {
            0 => "nothing of an answer".to_owned(),
            some => format!("{some} bytes of an answer, {}", shown(got)),
        });
        self.over = true;
        true
    }
}

/// True when the error means that no bytes have arrived yet.
pub(super) fn is_nothing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Writes a small request, for which there is always room; the next read reports a lost connection.
pub(super) fn send(mut stream: &TcpStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
}
