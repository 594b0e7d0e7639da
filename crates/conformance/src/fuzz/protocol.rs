//! A whole history with each protocol: pipes open and close, messages of any content arrive, and
//! the user makes every call.
//!
//! In every case a socket returns only messages that it has received, writes only to open pipes,
//! hands back messages that it refuses, and, where each message has one receiver, accounts for all
//! of them.

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use wigwag_sp::limits::{INBOX_MESSAGES_MAX, OUTBOX_MESSAGES_MAX};
use wigwag_sp::raw::RawKind;
use wigwag_sp::{
    Bus, Pair0, Pair1, Pair1Many, PipeId, Protocol, ProtocolEvent, Pub, Pull, Push, Raw,
    RawMessage, Received, Rep, Req, Respondent, Setting, Star, Sub, Surveyor,
};
use wigwag_wire::{ProtocolNumber, Time};

use crate::fuzz::{Verdict, ensure};

/// The number of pipes; few, so that events concern the same pipe.
const PIPES: u8 = 3;

/// Creates the socket that the first byte chooses.
pub type SocketFactory = fn(u8) -> Box<dyn Protocol>;

/// Checks the sockets.
pub fn check(input: &[u8]) -> Verdict {
    check_with(make_socket, input)
}

/// Checks the sockets that `make_socket` creates.
pub fn check_with(make_socket: SocketFactory, input: &[u8]) -> Verdict {
    let Some((choice, mut script)) = input.split_first() else {
        return Ok(());
    };
    let mut socket = ObservedSocket::new(make_socket(*choice));
    while let Some((step, rest)) = script.split_first() {
        script = socket.take(*step, rest)?;
        socket.check_attention()?;
    }
    socket.finish()
}

/// Creates a socket of any protocol, ordinary or raw.
pub fn make_socket(choice: u8) -> Box<dyn Protocol> {
    match choice % CHOICES {
        0 => Box::new(Pair0::new()),
        1 => Box::new(Pair1::new()),
        2 => Box::new(Pair1Many::new()),
        3 => Box::new(Req::new(7, Some(Duration::from_secs(1)))),
        4 => Box::new(Req::new(7, None)),
        5 => Box::new(Rep::new()),
        6 => Box::new(Pub::new()),
        7 => Box::new(subscribed()),
        8 => Box::new(Push::new()),
        9 => Box::new(Pull::new()),
        10 => Box::new(Surveyor::new(7)),
        11 => Box::new(Respondent::new()),
        12 => Box::new(Bus::new()),
        13 => Box::new(Star::new()),
        raw => Box::new(Raw::new(RawKind::ALL[usize::from(raw - RAW) % RawKind::ALL.len()])),
    }
}

/// The first choice of a raw socket; those before it are the ordinary ones.
const RAW: u8 = 14;

/// The number of sockets to choose from.
const CHOICES: u8 = RAW + RawKind::ALL.len() as u8;

fn subscribed() -> Sub {
    let mut sub = Sub::new();
    // A socket with one topic has room for it.
    let _ = sub.set(Setting::Subscribe(Bytes::from_static(b"\x80")));
    sub
}

/// A socket, and the record of what it has received and returned.
struct ObservedSocket {
    protocol: Box<dyn Protocol>,
    open: BTreeSet<u32>,
    now: Time,
    /// Messages that a peer sent and that were not refused with the pipe.
    received: Vec<Vec<u8>>,
    /// The number of messages that user and peers have passed to the socket.
    taken: u64,
    /// The number of messages that the socket has returned or written.
    given: u64,
    queued: u64,
}

impl ObservedSocket {
    fn new(protocol: Box<dyn Protocol>) -> ObservedSocket {
        ObservedSocket {
            protocol,
            open: BTreeSet::new(),
            now: Time::START,
            received: Vec::new(),
            taken: 0,
            given: 0,
            queued: 0,
        }
    }

    /// Takes one step; returns the rest of the script.
    fn take<'a>(&mut self, step: u8, rest: &'a [u8]) -> Result<&'a [u8], String> {
        let pipe = PipeId(u32::from((step >> 4) % PIPES));
        match step % 9 {
            0 | 1 => {
                if !self.open.contains(&pipe.0) && self.protocol.open(pipe, self.now).is_ok() {
                    self.open.insert(pipe.0);
                }
            }
            2 => self.close(pipe),
            3 => self.send()?,
            4 => return self.send_raw(rest),
            5 => {
                let message = self.protocol.transmit(pipe);
                let known = message.is_none() || self.open.contains(&pipe.0);
                ensure(known, || format!("writes to {pipe:?}, which is not open"))?;
                self.given += u64::from(message.is_some());
            }
            6 => return self.receive(pipe, rest),
            7 => self.recv()?,
            _ => {
                self.now = self.now + Duration::from_millis(600);
                self.protocol.tick(self.now);
                let due = self.protocol.deadline().is_none_or(|due| due > self.now);
                ensure(due, || "a deadline stays in the past".to_owned())?;
            }
        }
        Ok(rest)
    }

    fn close(&mut self, pipe: PipeId) {
        self.protocol.close(pipe, self.now);
        self.open.remove(&pipe.0);
    }

    fn send(&mut self) -> Verdict {
        let body = Bytes::from_static(b"sent");
        match self.protocol.send(body.clone(), self.now) {
            Ok(()) => self.taken += 1,
            Err(refused) => ensure(refused.body == body, || "hands back another body".to_owned())?,
        }
        Ok(())
    }

    fn send_raw<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8], String> {
        let (header, rest) = part(rest, 16);
        let (header, body) = (Bytes::copy_from_slice(header), Bytes::from_static(b"sent"));
        let message = RawMessage { header, body };
        match self.protocol.send_raw(message.clone(), self.now) {
            Ok(()) => self.taken += 1,
            Err(refused) => {
                ensure(refused.message == message, || "hands back another message".to_owned())?;
            }
        }
        Ok(rest)
    }

    fn receive<'a>(&mut self, pipe: PipeId, rest: &'a [u8]) -> Result<&'a [u8], String> {
        let (message, rest) = part(rest, usize::from(u8::MAX));
        self.taken += 1;
        match self.protocol.receive(pipe, Bytes::copy_from_slice(message), self.now) {
            Received::Queued => {
                ensure(self.open.contains(&pipe.0), || format!("hears {pipe:?}, not open"))?;
                self.queued += 1;
                self.received.push(message.to_vec());
            }
            Received::Close(_) => {
                // The close of the pipe accounts for this message.
                self.given += 1;
                self.close(pipe);
            }
            Received::Dropped(_) | Received::Unwanted => {}
        }
        Ok(rest)
    }

    fn recv(&mut self) -> Verdict {
        let body = match self.protocol.recv_raw(self.now) {
            Ok(message) => message.body,
            Err(_) => match self.protocol.recv(self.now) {
                Ok(body) => body,
                Err(_) => return Ok(()),
            },
        };
        self.given += 1;
        let known = self.received.iter().any(|message| message.ends_with(&body));
        ensure(known, || format!("gives out {body:02x?}, which never came"))
    }

    fn check_attention(&mut self) -> Verdict {
        let mut asked = 0;
        while let Some(event) = self.protocol.next_event() {
            asked += 1;
            if let ProtocolEvent::Transmit(pipe)
            | ProtocolEvent::Resume(pipe)
            | ProtocolEvent::PipeSendReady(pipe) = event
            {
                ensure(pipe.0 < PIPES.into(), || format!("asks for {pipe:?}, never opened"))?;
            }
        }
        let most = (OUTBOX_MESSAGES_MAX + INBOX_MESSAGES_MAX) * usize::from(PIPES);
        ensure(asked <= most, || format!("asks {asked} times"))?;
        let counters = self.protocol.counters();
        let (received, queued) = (counters.received, self.queued);
        ensure(received <= queued, || format!("{received} given out of {queued}"))
    }

    /// Closes the socket and checks that all messages are accounted for.
    fn finish(mut self) -> Verdict {
        for pipe in std::mem::take(&mut self.open) {
            self.protocol.close(PipeId(pipe), self.now);
        }
        self.protocol.finish();
        // With other protocols a message has many receivers or waits for an answer. A raw socket
        // counts the messages that it refuses and forwards replies, as these sockets do.
        let counts = [
            ProtocolNumber::PUSH,
            ProtocolNumber::PULL,
            ProtocolNumber::PAIR0,
            ProtocolNumber::REP,
            ProtocolNumber::RESPONDENT,
        ];
        if !counts.contains(&self.protocol.number()) {
            return Ok(());
        }
        let counters = self.protocol.counters();
        // A request without a reply was returned before, and counts as a missing reply.
        let gone = counters.dropped() - counters.dropped_abandoned + counters.filtered;
        ensure(self.taken == self.given + gone, || {
            let (taken, given) = (self.taken, self.given);
            format!("{:?}: {taken} in, {given} out, {counters:?}", self.protocol.number())
        })
    }
}

/// Splits off a part: a byte with its length, at most `most`, and its bytes, or as many as are
/// left.
fn part(bytes: &[u8], most: usize) -> (&[u8], &[u8]) {
    match bytes.split_first() {
        Some((length, rest)) => rest.split_at(usize::from(*length).min(most).min(rest.len())),
        None => (&[], &[]),
    }
}

/// Scripts for each socket: a pipe opens, a message arrives, the user takes it and answers.
pub fn seeds() -> Vec<Vec<u8>> {
    let messages = [&b"\x80\0\0\x07body"[..], b"\0\0\0\x01body", b"\x80\0\0\x08", b""];
    let mut seeds = Vec::new();
    for choice in 0..CHOICES {
        for message in messages {
            // The numbers are the steps of `take`; the upper four bits are the pipe.
            let open_and_ask = [choice, 0, 18, 3];
            let (come, length) = ([6], [message.len() as u8]);
            let answer = [7, 3, 5, 8, 7, 2];
            seeds.push([&open_and_ask[..], &come, &length, message, &answer].concat());
        }
    }
    seeds
}
