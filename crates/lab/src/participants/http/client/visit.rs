//! A request by HTTP/1.0 on a connection of its own: it must be answered, and the server must end
//! the connection behind its answer, since nobody asked it to stay.

use std::io::Read;
use std::net::TcpStream;
use std::time::Instant;

use super::check::Expected;
use super::connection::{ClientState, is_nothing, send};
use super::faults::{RequestKind, shown};
use super::requests::{old, written};
use super::response::{self, BODY_BYTES_MAX, Framing, HEAD_BYTES_MAX};

/// Progress of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VisitProgress {
    /// There may be more to read.
    Reads,
    /// Nothing is there at the moment.
    Waits,
    /// The visit has ended.
    Done,
}

pub(super) struct Visit {
    pub(super) stream: TcpStream,
    due: Expected,
    got: Vec<u8>,
    began: Instant,
}

impl Visit {
    /// Connects and asks.
    pub(super) fn begin(port: u16, desk: &mut ClientState) -> std::io::Result<Visit> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        let token = written(desk.random.draw() as u32);
        send(&stream, &old(token, &mut desk.random));
        let due = Expected::Document { token };
        Ok(Visit { stream, due, got: Vec::new(), began: Instant::now() })
    }

    /// Reads once.
    pub(super) fn take(&mut self, inbox: &mut [u8], desk: &mut ClientState) -> VisitProgress {
        let ended = match self.stream.read(inbox) {
            Ok(read) => {
                self.got.extend_from_slice(&inbox[..read]);
                read == 0
            }
            Err(error) if is_nothing(&error) => return VisitProgress::Waits,
            Err(_) => {
                desk.faults
                    .note(RequestKind::Old, "a reset of the connection", || shown(&self.got));
                return VisitProgress::Done;
            }
        };
        match response::read(&self.got, Framing::Closed { already: ended }) {
            Err(wrong) => {
                desk.faults.take(RequestKind::Old, wrong);
                return VisitProgress::Done;
            }
            Ok(Some(answer)) if ended => {
                desk.check.hold(&answer, self.due, RequestKind::Old, &mut desk.faults);
                let more = &self.got[answer.bytes..];
                if !more.is_empty() {
                    let what = "bytes that nobody had asked for";
                    desk.faults.note(RequestKind::Old, what, || shown(more));
                }
            }
            Ok(None) if ended => {
                desk.faults
                    .note(RequestKind::Old, "an early end of the connection", || shown(&self.got));
            }
            Ok(_) if self.got.len() > HEAD_BYTES_MAX + BODY_BYTES_MAX => {
                desk.faults.note(RequestKind::Old, "an answer without an end", || shown(&self.got));
                return VisitProgress::Done;
            }
            Ok(_) => return VisitProgress::Reads,
        }
        VisitProgress::Done
    }

    /// The visit has waited too long.
    pub(super) fn is_late(&self, desk: &ClientState) -> bool {
        self.began.elapsed() > desk.answer_max
    }

    /// Describes what the visit waits for in vain.
    pub(super) fn give_up(&self, desk: &mut ClientState) {
        let what = match response::read(&self.got, Framing::Closed { already: false }) {
            Ok(Some(_)) => "a connection that stays open behind its answer",
            _ => "no whole answer in time",
        };
        desk.faults.note(RequestKind::Old, what, || shown(&self.got));
    }
}
