//! The lab's own server of pingpong: one thread and epoll. It is the limit, and it is the witness:
//! beside what the contract wants, it tells what it saw of the other side.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use serde_json::json;

use crate::contract::Failure;
use crate::contract::poller::Poller;
use crate::contract::{Orders, print_line, ready_until_input_ends};

/// Bytes of a request and of a reply.
pub(super) const TOKEN: usize = 4;
/// The reply where payloads are fixed.
pub(super) const PONG: [u8; TOKEN] = *b"Pong";
/// No request, hence also where the listener stands among the connections.
const LISTENER: u64 = u64::MAX;

/// State of one connection of the server.
struct PingpongConnection {
    stream: TcpStream,
    /// The first bytes of a request whose rest has not come.
    torn: Vec<u8>,
    /// Replies for which there was no room.
    unsent: Vec<u8>,
    count: u64,
    sum: u64,
    open: bool,
    /// The reply, if it is always the same.
    fixed: Option<[u8; TOKEN]>,
}

#[derive(Default)]
struct PingpongWitness {
    bytes_read: u64,
    bytes_written: u64,
    outstanding: u64,
    resets: u64,
    at_work: Option<u64>,
}

pub(crate) fn serve(orders: &Orders) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let mut poll = Poller::new()?;
    poll.add(&listener, LISTENER)?;
    ready_until_input_ends(listener.local_addr()?.port())?;
    let (mut served, mut witness, mut open) =
        (Vec::<PingpongConnection>::new(), PingpongWitness::default(), 0);
    while served.is_empty() || open > 0 {
        for index in poll.wait(None)? {
            if index == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nodelay(true)?;
                    stream.set_nonblocking(true)?;
                    poll.add(&stream, served.len() as u64)?;
                    served.push(PingpongConnection::new(stream, orders.fixed.then_some(PONG)));
                    open += 1;
                }
                continue;
            }
            let it = &mut served[index as usize];
            if it.open && !it.answer(&mut witness) {
                it.open = false;
                open -= 1;
                poll.remove(&it.stream)?;
                // The other side waits for this; one that was reset needs it no more.
                let _ = it.stream.shutdown(Shutdown::Both);
            }
            if witness.at_work.is_none() && it.count >= orders.messages.div_ceil(2) {
                let begun = served.iter().filter(|it| it.count > 0).count();
                witness.at_work = Some(begun as u64);
            }
        }
    }
    let seen = |it: &PingpongConnection| json!({ "count": it.count, "sum": it.sum.to_string() });
    let account = json!({
        "requests": served.iter().map(|it| it.count).sum::<u64>(),
        "connections": served.iter().map(seen).collect::<Vec<_>>(),
        "bytes_read": witness.bytes_read,
        "bytes_written": witness.bytes_written,
        "at_work": witness.at_work.unwrap_or(0),
        "outstanding": witness.outstanding,
        "resets": witness.resets,
    });
    print_line(&account.to_string())?;
    loop {
        thread::park();
    }
}

impl PingpongConnection {
    fn new(stream: TcpStream, fixed: Option<[u8; TOKEN]>) -> PingpongConnection {
        let (torn, unsent) = (Vec::new(), Vec::new());
        PingpongConnection { stream, torn, unsent, count: 0, sum: 0, open: true, fixed }
    }

    /// Reads what is there and answers it; false when the connection is over.
    fn answer(&mut self, witness: &mut PingpongWitness) -> bool {
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
            // The client does not read, and will never ask again for the bytes that it has not got.
            Err(error) if error.kind() == ErrorKind::WouldBlock => true,
            Err(_) => {
                witness.resets += 1;
                false
            }
        }
    }

    fn reply(&mut self, request: [u8; TOKEN]) {
        let token = u32::from_le_bytes(request);
        self.count += 1;
        self.sum += u64::from(token);
        self.unsent.extend(self.fixed.unwrap_or((!token).to_le_bytes()));
    }
}
