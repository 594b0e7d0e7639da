//! The lab's own client and server of pingpong: one thread and epoll. They are the limit, and they
//! are the witnesses: beside what the contract wants, they tell what they saw of the other side.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use serde_json::json;

use super::orders::{Draws, Orders, ready_and_go, ready_until_input_ends, say};
use crate::cells::Failure;

/// Events that are taken at once.
const EVENTS: usize = 128;
const TOKEN: usize = 4;
/// No request, hence also where the listener stands among the connections.
const LISTENER: u64 = u64::MAX;

struct Poll {
    epoll: OwnedFd,
    events: [Event; EVENTS],
}

impl Poll {
    fn new() -> Result<Poll, Failure> {
        let empty = Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        Ok(Poll { epoll: epoll::create(CreateFlags::CLOEXEC)?, events: [empty; EVENTS] })
    }

    fn add(&self, stream: impl std::os::fd::AsFd, index: u64) -> Result<(), Failure> {
        Ok(epoll::add(&self.epoll, stream, EventData::new_u64(index), EventFlags::IN)?)
    }

    /// Which ones have something to read.
    fn wait(&mut self) -> Result<impl Iterator<Item = u64> + use<>, Failure> {
        let count = loop {
            match epoll::wait(&self.epoll, &mut self.events, None) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other?,
            }
        };
        let events = self.events;
        Ok((0..count).map(move |index| events[index].data.u64()))
    }
}

/// What the server knows of a connection.
struct Served {
    stream: TcpStream,
    /// The first bytes of a request whose rest has not come.
    torn: Vec<u8>,
    /// Replies for which there was no room.
    unsent: Vec<u8>,
    count: u64,
    sum: u64,
    open: bool,
}

#[derive(Default)]
struct Witness {
    bytes_read: u64,
    bytes_written: u64,
    outstanding: u64,
    resets: u64,
    at_work: Option<u64>,
}

pub(super) fn serve(orders: &Orders) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let mut poll = Poll::new()?;
    poll.add(&listener, LISTENER)?;
    ready_until_input_ends(listener.local_addr()?.port())?;
    let (mut served, mut witness, mut open) = (Vec::<Served>::new(), Witness::default(), 0);
    while served.is_empty() || open > 0 {
        for index in poll.wait()? {
            if index == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nodelay(true)?;
                    stream.set_nonblocking(true)?;
                    poll.add(&stream, served.len() as u64)?;
                    let (torn, unsent) = (Vec::new(), Vec::new());
                    served.push(Served { stream, torn, unsent, count: 0, sum: 0, open: true });
                    open += 1;
                }
                continue;
            }
            let it = &mut served[index as usize];
            if it.open && !it.answer(&mut witness) {
                it.open = false;
                open -= 1;
                epoll::delete(&poll.epoll, &it.stream)?;
            }
            if witness.at_work.is_none() && it.count >= orders.messages.div_ceil(2) {
                let begun = served.iter().filter(|it| it.count > 0).count();
                witness.at_work = Some(begun as u64);
            }
        }
    }
    let seen = |it: &Served| json!({ "count": it.count, "sum": it.sum.to_string() });
    let account = json!({
        "requests": served.iter().map(|it| it.count).sum::<u64>(),
        "connections": served.iter().map(seen).collect::<Vec<_>>(),
        "bytes_read": witness.bytes_read,
        "bytes_written": witness.bytes_written,
        "at_work": witness.at_work.unwrap_or(0),
        "outstanding": witness.outstanding,
        "resets": witness.resets,
    });
    say(&account.to_string())?;
    loop {
        thread::park();
    }
}

impl Served {
    /// Reads what is there and answers it; false when the connection is over.
    fn answer(&mut self, witness: &mut Witness) -> bool {
        let mut inbox = [0; 1_024];
        let read = match self.stream.read(&mut inbox) {
            Ok(0) => return false,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            Err(_) => {
                witness.resets += 1;
                return false;
            }
        };
        witness.bytes_read += read as u64;
        if self.torn.is_empty() && read == TOKEN {
            self.reply([inbox[0], inbox[1], inbox[2], inbox[3]]);
        } else {
            self.torn.extend_from_slice(&inbox[..read]);
            let waiting = self.torn.len().div_ceil(TOKEN) as u64;
            witness.outstanding = witness.outstanding.max(waiting);
            let whole = self.torn.len() / TOKEN * TOKEN;
            let requests: Vec<u8> = self.torn.drain(..whole).collect();
            for request in requests.as_chunks::<TOKEN>().0 {
                self.reply(*request);
            }
        }
        witness.outstanding = witness.outstanding.max(1);
        match self.stream.write(&self.unsent) {
            Ok(written) => {
                witness.bytes_written += written as u64;
                self.unsent.drain(..written);
                true
            }
            // The client does not read. What it has not got it will never ask for again.
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    fn reply(&mut self, request: [u8; TOKEN]) {
        let token = u32::from_le_bytes(request);
        self.count += 1;
        self.sum += u64::from(token);
        self.unsent.extend((!token).to_le_bytes());
    }
}

/// What the client knows of a connection.
struct Driven {
    stream: TcpStream,
    draws: Draws,
    token: u32,
    left: u64,
    got: Vec<u8>,
}

pub(super) fn drive(orders: &Orders) -> Result<(), Failure> {
    let mut poll = Poll::new()?;
    let mut driven = Vec::new();
    for index in 0..orders.connections {
        let stream = TcpStream::connect(("127.0.0.1", orders.port))?;
        stream.set_nodelay(true)?;
        poll.add(&stream, index as u64)?;
        let draws = Draws::of(orders.seed, index as u32);
        driven.push(Driven { stream, draws, token: 0, left: orders.messages, got: Vec::new() });
    }
    ready_and_go()?;
    let (mut replies, mut wrong, mut surplus, mut broken) = (0_u64, 0_u64, 0_u64, 0_u64);
    for it in &mut driven {
        it.stream.set_nonblocking(true)?;
        it.ask()?;
    }
    let mut working = driven.len();
    while working > 0 {
        for index in poll.wait()? {
            let it = &mut driven[index as usize];
            let mut inbox = [0; 1_024];
            let read = match it.stream.read(&mut inbox) {
                Ok(read @ 1..) => read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => continue,
                _ => {
                    broken += u64::from(it.left > 0);
                    working -= usize::from(it.left > 0);
                    it.left = 0;
                    epoll::delete(&poll.epoll, &it.stream)?;
                    continue;
                }
            };
            if it.left == 0 {
                surplus += read as u64;
                continue;
            }
            it.got.extend_from_slice(&inbox[..read]);
            let Some((reply, rest)) = it.got.split_first_chunk::<TOKEN>() else {
                continue;
            };
            surplus += rest.len() as u64;
            replies += 1;
            wrong += u64::from(u32::from_le_bytes(*reply) != !it.token);
            // Who sends what nobody asked for will not answer what is asked: it ends here.
            it.left = if rest.is_empty() { it.left - 1 } else { 0 };
            it.got.clear();
            match it.left {
                0 => working -= 1,
                // A connection that can take no more is seen by the next read.
                _ => drop(it.ask()),
            }
        }
    }
    for it in &mut driven {
        surplus += it.stream.read(&mut [0; 1_024]).unwrap_or(0) as u64;
    }
    let account =
        json!({ "replies": replies, "wrong": wrong, "surplus": surplus, "broken": broken });
    Ok(say(&account.to_string())?)
}

impl Driven {
    fn ask(&mut self) -> std::io::Result<()> {
        self.token = self.draws.next();
        self.stream.write_all(&self.token.to_le_bytes())
    }
}
