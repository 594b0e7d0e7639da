//! The lab's own server of http: one thread and epoll, every request read as HTTP.
//!
//! It takes part as `reference`, which shows what honest reading costs beside the limit. Beside a
//! participant's client (`CELL=client`) it is the witness and gives an account of what it saw.

mod request;

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::json;

use super::date::Date;
use crate::contract::Failure;
use crate::contract::poller::Poller;
use crate::contract::{Orders, print_line, ready_until_input_ends};
use request::{Request, RequestError};

/// The index of the listener among the connections.
const LISTENER: u64 = u64::MAX;
/// Connections that are served at once; those beyond it are closed.
const CONNECTIONS_MAX: usize = 4_096;
const INBOX: usize = 16 * 1_024;

/// State of one connection.
struct ServerConnection {
    stream: TcpStream,
    /// A request whose rest has not come.
    got: Vec<u8>,
    unsent: Vec<u8>,
    count: u64,
    sum: u64,
}

/// Observations that the account has beside the tokens.
#[derive(Default)]
struct Observations {
    requests: u64,
    /// Requests that were none, or for something else.
    refused: u64,
    /// The most requests that a connection had open.
    outstanding: u64,
    resets: u64,
    at_work: Option<u64>,
}

/// The next state of a connection after an answer.
#[derive(PartialEq, Eq)]
enum AfterAnswer {
    Stays,
    Ends,
}

pub(crate) fn serve(orders: &Orders) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let mut poll = Poller::new()?;
    poll.add(&listener, LISTENER)?;
    ready_until_input_ends(listener.local_addr()?.port())?;
    let (mut guests, mut free) = (Vec::<Option<ServerConnection>>::new(), Vec::new());
    let (mut witness, mut seen, mut date) = (Observations::default(), Vec::new(), Date::default());
    let is_witness = orders.cell == "client";
    // Shared by all answers: making it costs as much as reading the request.
    let mut inbox = vec![0; INBOX];
    loop {
        for index in poll.wait(None)? {
            if index == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    receive_loop(stream, &poll, &mut guests, &mut free)?;
                }
                continue;
            }
            let Some(place) = guests.get_mut(index as usize) else { continue };
            let Some(guest) = place else { continue };
            let then = guest.answer(&mut inbox, date.now(), &mut witness);
            let is_half_done = guest.count >= orders.messages.div_ceil(2).max(1);
            if then == AfterAnswer::Ends
                && let Some(guest) = place.take()
            {
                // Closing takes it off the poll too.
                free.push(index as usize);
                if is_witness && guest.count > 0 {
                    seen.push(json!({ "count": guest.count, "sum": guest.sum.to_string() }));
                }
            }
            if is_witness && is_half_done && witness.at_work.is_none() {
                let begun = guests.iter().flatten().filter(|guest| guest.count > 0).count();
                witness.at_work = Some((begun + seen.len()) as u64);
            }
        }
        if is_witness && seen.len() >= orders.connections && guests.iter().all(Option::is_none) {
            return account(&witness, &seen);
        }
    }
}

fn account(witness: &Observations, seen: &[serde_json::Value]) -> Result<(), Failure> {
    let account = json!({
        "requests": witness.requests,
        "refused": witness.refused,
        "connections": seen,
        "at_work": witness.at_work.unwrap_or(0),
        "outstanding": witness.outstanding,
        "resets": witness.resets,
    });
    print_line(&account.to_string())?;
    loop {
        thread::park();
    }
}

fn receive_loop(
    stream: TcpStream,
    poll: &Poller,
    guests: &mut Vec<Option<ServerConnection>>,
    free: &mut Vec<usize>,
) -> Result<(), Failure> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    let at = free.pop().unwrap_or(guests.len());
    if at >= CONNECTIONS_MAX {
        return Ok(());
    }
    poll.add(&stream, at as u64)?;
    let guest = ServerConnection { stream, got: Vec::new(), unsent: Vec::new(), count: 0, sum: 0 };
    match guests.get_mut(at) {
        Some(place) => *place = Some(guest),
        None => guests.push(Some(guest)),
    }
    Ok(())
}

impl ServerConnection {
    /// Reads what is there and answers what is whole.
    fn answer(&mut self, inbox: &mut [u8], date: &str, witness: &mut Observations) -> AfterAnswer {
        let read = match self.stream.read(inbox) {
            Ok(0) => return AfterAnswer::Ends,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return AfterAnswer::Stays,
            Err(_) => {
                witness.resets += 1;
                return AfterAnswer::Ends;
            }
        };
        let mut got = std::mem::take(&mut self.got);
        let bytes = if got.is_empty() {
            &inbox[..read]
        } else {
            got.extend_from_slice(&inbox[..read]);
            &got
        };
        let (mut used, mut open, mut then) = (0, 0, AfterAnswer::Stays);
        while used < bytes.len() && then == AfterAnswer::Stays {
            open += 1;
            match request::read(&bytes[used..]) {
                Ok(None) => break,
                Ok(Some(request)) => {
                    used += request.bytes;
                    then = self.reply(&request, date, witness);
                }
                Err(refused) => {
                    witness.refused += 1;
                    self.refuse(refused, date);
                    then = AfterAnswer::Ends;
                }
            }
        }
        witness.outstanding = witness.outstanding.max(open);
        self.got = bytes[used..].to_vec();
        // A client that leaves no room for its answers does not read them: it is let go.
        let written = self.stream.write_all(&self.unsent);
        self.unsent.clear();
        if written.is_err() { AfterAnswer::Ends } else { then }
    }

    fn reply(
        &mut self,
        request: &Request<'_>,
        date: &str,
        witness: &mut Observations,
    ) -> AfterAnswer {
        witness.requests += 1;
        let (status, kind, body) = match (request.method, request.path) {
            (b"GET", b"/") => ("200 OK", "application/json", "{\"id\": 1}"),
            (b"GET", _) => ("404 Not Found", "text/plain", "there is no such path\n"),
            _ => ("405 Method Not Allowed\r\nAllow: GET", "text/plain", "GET is what there is\n"),
        };
        let token = request.token.unwrap_or_default();
        let number = std::str::from_utf8(token).ok();
        match number.and_then(|text| u32::from_str_radix(text, 16).ok()) {
            Some(number) if body.starts_with('{') => {
                self.count += 1;
                self.sum += u64::from(number);
            }
            _ => witness.refused += 1,
        }
        let stays = if request.stays { "keep-alive" } else { "close" };
        self.head(status, kind, body.len(), date);
        self.unsent.extend_from_slice(b"Token: ");
        self.unsent.extend_from_slice(token);
        self.unsent.extend_from_slice(b"\r\nConnection: ");
        self.unsent.extend_from_slice(stays.as_bytes());
        self.unsent.extend_from_slice(b"\r\n\r\n");
        self.unsent.extend_from_slice(body.as_bytes());
        if request.stays { AfterAnswer::Stays } else { AfterAnswer::Ends }
    }

    fn refuse(&mut self, refused: RequestError, date: &str) {
        self.head(refused.status(), "text/plain", 0, date);
        self.unsent.extend_from_slice(b"Connection: close\r\n\r\n");
    }

    fn head(&mut self, status: &str, kind: &str, length: usize, date: &str) {
        let unsent = &mut self.unsent;
        for part in ["HTTP/1.1 ", status, "\r\nDate: ", date, "\r\nContent-Type: ", kind] {
            unsent.extend_from_slice(part.as_bytes());
        }
        // A vector takes whatever is written.
        let _ = write!(unsent, "\r\nContent-Length: {length}\r\n");
    }
}
