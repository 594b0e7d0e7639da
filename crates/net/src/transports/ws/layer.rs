//! The layer of a WebSocket connection: the SP stream above, HTTP and frames below.
//!
//! Everything above speaks SP as on tcp: a header of eight bytes, then messages behind eight bytes
//! of length. WebSocket says in the upgrade what the header says, so the header that is sent becomes
//! a request or an answer, and the peer's header is made of what it asked for or answered.

use std::io::{self, IoSlice};
use std::mem;

use wigwag_wire::header::HEADER_BYTES;
use wigwag_wire::{Header, HeaderError, ProtocolNumber, ReadBuf};

use super::close;
use super::error::WsError;
use super::frame::Masks;
use super::options::{Pages, WsDialOptions};
use super::receiving::{Deframer, Event};
use super::sending::Framer;
use super::upgrade::{self, Asked, Refusal, Request};
use crate::options::ReceiveLimit;
use crate::transports::layered::{Layer, Received, SEND_BYTES_MAX};

/// Unwritten bytes beyond which a ping gets its answer later: a peer that pings and does not read
/// must not fill the memory.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// One end of a WebSocket connection.
pub(super) struct WebSocket {
    state: State,
    /// Bytes of the SP stream that were sent before the connection is open: its header first.
    waiting: Vec<u8>,
    /// Bytes of an incomplete head that hold no end of it.
    searched: usize,
    framer: Framer,
    deframer: Deframer,
    /// The last ping, if it is unanswered.
    pinged: Option<Vec<u8>>,
    /// The code of the peer's close frame, which ours repeats.
    closed_with: Option<Option<u16>>,
    has_closed: bool,
    /// An end that we begin is said with a close frame.
    says_close: bool,
}

enum State {
    /// A dialer whose SP header has not been sent.
    Idle {
        place: Place,
        options: WsDialOptions,
    },
    /// A dialer that has sent its request.
    Asked(Asked),
    /// A listener without a whole request.
    Listening {
        path: String,
        pages: Pages,
    },
    /// A listener whose own SP header has not been sent.
    Requested(Request),
    Open,
    /// The upgrade was refused.
    Refused,
}

/// Where a dialer goes.
pub(super) struct Place {
    /// Host and port.
    pub(super) authority: String,
    /// Path and query.
    pub(super) target: String,
}

impl WebSocket {
    /// The end of a dialer. `limit` bounds a fragmented message.
    pub(super) fn dialer(place: Place, options: WsDialOptions, limit: ReceiveLimit) -> WebSocket {
        let framer = Framer::new(Some(Masks::new()));
        WebSocket::new(State::Idle { place, options }, framer, Deframer::new(false, limit))
    }

    /// This end over a connection that changes its bytes too.
    pub(super) fn over_layer(self) -> WebSocket {
        WebSocket { framer: self.framer.over_layer(), ..self }
    }

    /// The end of a listener at `path`.
    pub(super) fn listener(path: String, pages: Pages, limit: ReceiveLimit) -> WebSocket {
        let state = State::Listening { path, pages };
        WebSocket::new(state, Framer::new(None), Deframer::new(true, limit))
    }

    fn new(state: State, framer: Framer, deframer: Deframer) -> WebSocket {
        WebSocket {
            state,
            waiting: Vec::new(),
            searched: 0,
            framer,
            deframer,
            pinged: None,
            closed_with: None,
            has_closed: false,
            says_close: true,
        }
    }

    /// Our SP header, if it was sent.
    fn header(&self) -> Option<[u8; HEADER_BYTES]> {
        self.waiting.first_chunk().copied()
    }

    /// Our protocol, if its header was sent.
    fn protocol(&self) -> Option<ProtocolNumber> {
        Some(Header::parse(self.header()?).ok()?.protocol)
    }

    /// Goes on with the upgrade once our header is there.
    fn advance(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let Some(header) = self.header() else { return Ok(()) };
        let unknown = || io::Error::new(io::ErrorKind::InvalidInput, "no known SP header is sent");
        match &self.state {
            State::Idle { place, options } => {
                let place = (&*place.authority, &*place.target);
                let asked = Asked::write(header, place, options, out).ok_or_else(unknown)?;
                self.state = State::Asked(asked);
            }
            State::Requested(request) => {
                let is_open = request.answer(self.protocol().ok_or_else(unknown)?, out);
                self.state = State::Refused;
                if is_open {
                    self.open(out);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Sends what has waited for the upgrade.
    fn open(&mut self, out: &mut Vec<u8>) {
        self.state = State::Open;
        let waiting = mem::take(&mut self.waiting);
        self.framer.send(&[IoSlice::new(&waiting[HEADER_BYTES..])], out);
    }

    /// Takes the head of a request or an answer, if it is whole. Returns how many bytes it has.
    fn take_head(
        &mut self,
        received: &[u8],
        input: &mut ReadBuf,
        out: &mut Vec<u8>,
    ) -> io::Result<usize> {
        let end = upgrade::end_of_head(received, &mut self.searched);
        let is_refusal =
            || matches!(self.state, State::Asked(_)) && upgrade::is_endless_refusal(received);
        let end = end.or_else(|| is_refusal().then_some(received.len()));
        self.check_start(received, end.unwrap_or(received.len()), out)?;
        let Some(end) = end else { return Ok(0) };
        let (head, behind) = received.split_at(end);
        match &self.state {
            State::Asked(asked) => {
                let (header, is_open) = asked.answer(head, behind)?;
                input.append(&header.to_bytes());
                if is_open {
                    self.open(out);
                    return Ok(end);
                }
                self.state = State::Refused;
                Ok(received.len())
            }
            State::Listening { path, pages } => {
                let early = behind.first().map(|_| Refusal::EARLY);
                let parsed = Request::parse(head, path, pages);
                let request = match parsed.and_then(|of| early.map_or(Ok(of), Err)) {
                    Ok(request) => request,
                    Err(refusal) => return Err(self.refuse(refusal, out)),
                };
                // A client wants at least one protocol, and each known one has a partner.
                let header = request.header(self.protocol()).ok_or(WsError::SpeaksSp)?;
                input.append(&header.to_bytes());
                self.says_close = request.is_named;
                self.state = State::Requested(request);
                self.advance(out)?;
                Ok(end)
            }
            // Only the states that wait for a head get here.
            _ => Ok(received.len()),
        }
    }

    /// Refuses what cannot become a head; so far it has `length` bytes.
    fn check_start(&mut self, received: &[u8], length: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let is_request = matches!(self.state, State::Listening { .. });
        if length > upgrade::HEAD_BYTES_MAX {
            return Err(match is_request {
                true => self.refuse(Refusal::HEAD_TOO_LONG, out),
                false => WsError::BadAnswer { rule: "its head has more than 16 KiB" }.into(),
            });
        }
        let Some(start) = received.first_chunk::<HEADER_BYTES>() else {
            // An alert of TLS has seven bytes, and nothing follows it.
            return match Header::of_part(received) {
                Some(HeaderError::SpeaksTls) => Err(self.refuse_tls(is_request, out)),
                _ => Ok(()),
            };
        };
        let other = match Header::parse(*start) {
            Ok(_) => {
                // A dialer without WebSocket sees HTTP, and says so.
                if is_request {
                    Refusal::NOT_HTTP.write(out);
                }
                WsError::SpeaksSp.into()
            }
            Err(HeaderError::SpeaksTls) => return Err(self.refuse_tls(is_request, out)),
            // A method or a version.
            Err(_) if start[0].is_ascii_alphabetic() => return Ok(()),
            Err(_) if is_request => self.refuse(Refusal::NOT_HTTP, out),
            Err(_) => WsError::BadAnswer { rule: "it is not HTTP" }.into(),
        };
        self.state = State::Refused;
        Err(other)
    }

    /// Refuses a peer that speaks TLS. A dialer with TLS sees HTTP in the answer, and says so.
    fn refuse_tls(&mut self, is_request: bool, out: &mut Vec<u8>) -> io::Error {
        if is_request {
            Refusal::NOT_HTTP.write(out);
        }
        self.state = State::Refused;
        WsError::SpeaksTls.into()
    }

    fn refuse(&mut self, refusal: Refusal, out: &mut Vec<u8>) -> io::Error {
        refusal.write(out);
        self.state = State::Refused;
        WsError::from(refusal).into()
    }

    /// Takes frames. True once the peer has ended its direction.
    fn take_frames(
        &mut self,
        received: &mut [u8],
        input: &mut ReadBuf,
        out: &mut Vec<u8>,
    ) -> io::Result<Received> {
        let mut taken = 0;
        loop {
            let (more, outcome) = self.deframer.receive(&mut received[taken..], input);
            taken += more;
            match outcome {
                Ok(None) => return Ok(Received { taken, ..Received::default() }),
                Ok(Some(Event::Body(passed))) => {
                    return Ok(Received { taken, passed, is_end: false });
                }
                Ok(Some(Event::Ping(payload))) => {
                    self.pinged = Some(payload);
                    self.answer_ping(out);
                }
                Ok(Some(Event::Close(reason))) => {
                    self.closed_with = Some(reason.code);
                    return match reason.code {
                        None | Some(close::NORMAL | close::GOING_AWAY) => {
                            Ok(Received { taken, passed: 0, is_end: true })
                        }
                        Some(code) => {
                            self.send_close(out);
                            Err(WsError::ClosedByPeer { code, reason: reason.text }.into())
                        }
                    };
                }
                Err(broken) => {
                    self.closed_with = Some(Some(broken.code));
                    self.send_close(out);
                    return Err(broken.error);
                }
            }
        }
    }

    fn answer_ping(&mut self, out: &mut Vec<u8>) {
        if out.len() < ANSWER_BYTES_MAX
            && !self.has_closed
            && let Some(payload) = self.pinged.take()
        {
            self.framer.pong(&payload, out);
        }
    }

    /// Ends our direction, perhaps in answer to the peer's end.
    fn end(&mut self, out: &mut Vec<u8>) {
        if self.says_close || self.closed_with.is_some() {
            self.send_close(out);
        } else {
            self.has_closed = matches!(self.state, State::Open);
        }
    }

    fn send_close(&mut self, out: &mut Vec<u8>) {
        if !self.has_closed && matches!(self.state, State::Open) {
            let code = self.closed_with.unwrap_or(Some(close::NORMAL));
            self.has_closed = self.framer.close(code, out);
        }
    }
}

impl Layer for WebSocket {
    fn send(&mut self, parts: &[IoSlice<'_>], out: &mut Vec<u8>) -> io::Result<usize> {
        match self.state {
            _ if self.has_closed => Err(io::ErrorKind::BrokenPipe.into()),
            State::Refused => Err(io::ErrorKind::BrokenPipe.into()),
            State::Open => {
                self.answer_ping(out);
                Ok(self.framer.send(parts, out))
            }
            _ => {
                let before = self.waiting.len();
                for part in parts {
                    let room = SEND_BYTES_MAX - self.waiting.len();
                    self.waiting.extend_from_slice(&part[..part.len().min(room)]);
                }
                let accepted = self.waiting.len() - before;
                self.advance(out)?;
                Ok(accepted)
            }
        }
    }

    fn is_open(&self) -> bool {
        match self.state {
            State::Open | State::Refused => true,
            _ => self.waiting.len() < SEND_BYTES_MAX,
        }
    }

    fn receive(
        &mut self,
        received: &mut [u8],
        input: &mut ReadBuf,
        out: &mut Vec<u8>,
    ) -> io::Result<Received> {
        let mut taken = 0;
        if !matches!(self.state, State::Open) {
            taken = match self.state {
                // The client must wait for the answer.
                State::Requested(_) => return Err(self.refuse(Refusal::EARLY, out)),
                _ => self.take_head(received, input, out)?,
            };
            if matches!(self.state, State::Refused) {
                return Ok(Received { taken, passed: 0, is_end: true });
            }
        }
        if !matches!(self.state, State::Open) {
            return Ok(Received { taken, ..Received::default() });
        }
        let rest = self.take_frames(&mut received[taken..], input, out)?;
        Ok(Received { taken: taken + rest.taken, ..rest })
    }

    fn ended(&mut self) -> io::Result<()> {
        // SP has no end of its own on tcp either: a message that was cut off shows above.
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        self.end(out);
        self.has_closed
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if matches!(self.state, State::Listening { .. }) {
            Refusal::TIMED_OUT.write(out);
            self.state = State::Refused;
        }
        self.end(out);
    }
}
