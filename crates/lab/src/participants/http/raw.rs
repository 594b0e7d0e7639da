//! The limit of http: one thread and epoll, a head that is read as far as the answer needs it, one
//! write for all answers to what one read has brought.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use super::date::Date;
use crate::contract::Failure;
use crate::contract::poller::Poller;
use crate::contract::ready_until_input_ends;

/// The index of the listener among the connections.
const LISTENER: u64 = u64::MAX;
/// A longer head is no request.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// The parts of a request that the answer needs.
struct RawRequest<'a> {
    found: bool,
    stays: bool,
    token: &'a [u8],
    bytes: usize,
}

struct RawConnection {
    stream: TcpStream,
    got: Vec<u8>,
}

pub(crate) fn serve() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let mut poll = Poller::new()?;
    poll.add(&listener, LISTENER)?;
    ready_until_input_ends(listener.local_addr()?.port())?;
    let (mut guests, mut free) = (Vec::<Option<RawConnection>>::new(), Vec::new());
    let (mut date, mut unsent) = (Date::default(), Vec::new());
    loop {
        let ready = poll.wait(None)?;
        let now = date.now();
        for index in ready {
            if index == LISTENER {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nodelay(true)?;
                    stream.set_nonblocking(true)?;
                    let at = free.pop().unwrap_or(guests.len());
                    guests.resize_with(guests.len().max(at + 1), || None);
                    poll.add(&stream, at as u64)?;
                    guests[at] = Some(RawConnection { stream, got: Vec::new() });
                }
                continue;
            }
            unsent.clear();
            let place = &mut guests[index as usize];
            if !place.as_mut().is_none_or(|guest| guest.answer(now, &mut unsent)) {
                // Closing takes it off the poll too.
                *place = None;
                free.push(index as usize);
            }
        }
    }
}

impl RawConnection {
    /// False when the connection is over.
    fn answer(&mut self, date: &str, unsent: &mut Vec<u8>) -> bool {
        let mut inbox = [0; 4_096];
        let read = match self.stream.read(&mut inbox) {
            Ok(read @ 1..) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            _ => return false,
        };
        let torn = !self.got.is_empty();
        if torn {
            self.got.extend_from_slice(&inbox[..read]);
        }
        let bytes = if torn { self.got.as_slice() } else { &inbox[..read] };
        let (mut used, mut stays) = (0, true);
        while stays && let Some(request) = read_head(&bytes[used..]) {
            used += request.bytes;
            stays = request.stays;
            reply(&request, date, unsent);
        }
        if stays && bytes.len() - used > HEAD_BYTES_MAX {
            return false;
        }
        if used < bytes.len() || torn {
            self.got = bytes[used..].to_vec();
        }
        // A client that leaves no room for its answers does not read them: it is let go.
        self.stream.write_all(unsent).is_ok() && stays
    }
}

/// The request at the front of `bytes`; `None` when it is not whole. `GET` has no body.
fn read_head(bytes: &[u8]) -> Option<RawRequest<'_>> {
    let (mut at, mut begins) = (0, 0);
    let mut request = RawRequest { found: false, stays: false, token: b"", bytes: 0 };
    loop {
        at += bytes[at..].iter().position(|byte| *byte == b'\n')?;
        let line = bytes[begins..at].trim_ascii();
        if begins == 0 {
            request.found = line.starts_with(b"GET / HTTP/1.");
            request.stays = line.ends_with(b" HTTP/1.1");
        } else if line.is_empty() {
            request.bytes = at + 1;
            return Some(request);
        } else if let Some(value) = field(line, b"token:") {
            request.token = value;
        } else if let Some(value) = field(line, b"connection:") {
            request.stays = value.eq_ignore_ascii_case(b"keep-alive");
        }
        at += 1;
        begins = at;
    }
}

fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (found, value) = line.split_at_checked(name.len())?;
    found.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

fn reply(request: &RawRequest<'_>, date: &str, unsent: &mut Vec<u8>) {
    unsent.extend_from_slice(match request.found {
        true => b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\nDate: ",
        false => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nDate: ",
    });
    unsent.extend_from_slice(date.as_bytes());
    unsent.extend_from_slice(b"\r\nToken: ");
    unsent.extend_from_slice(request.token);
    unsent.extend_from_slice(if request.stays {
        b"\r\n\r\n"
    } else {
        b"\r\nConnection: close\r\n\r\n"
    });
    if request.found {
        unsent.extend_from_slice(b"{\"id\": 1}");
    }
}
