//! What a node is on one connection, without sockets: SP header, framing, PAIR1, opening, session.
//!
//! The node wires the same parts to a socket under locks; here they are one [`ConnectionStateMachine`]. The
//! reader of the events drives the application, and tells the machine with [`Peer::fail`] when the
//! other side broke a rule. A [`Session`] outlives its connection: it is taken from one end and given
//! to the next.

use core::fmt;

use wigwag_link::batch::BatchHeader;
use wigwag_link::limits::OPENING_BYTES_MAX;
use wigwag_link::opening::{Opened, Opening, Resumed, Step};
use wigwag_link::recv_half::Incoming;
use wigwag_link::resume::{Claim, PROOF_BYTES};
use wigwag_link::{Identity, Limits, LinkError, RecvHalf, SendHalf};
use wigwag_wire::header::{HEADER_BYTES, HeaderError};
use wigwag_wire::state_machine::HANDSHAKE_MAX;
use wigwag_wire::{
    Batch, Buffer, ConnectionStateMachine, Framing, FramingError, Header, ProtocolNumber, ReadBuf,
    Time,
};

mod faults;
mod session;

pub use faults::Faults;
use faults::{forget_numbers, lose_replies};
use session::Sent;
pub use session::Session;

/// The word in front of every message of PAIR1: we are the first hop.
pub const PAIR1_WORD: [u8; 4] = [0, 0, 0, 1];

/// Which end of the connection this is, with what it has drawn at random.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// It dials and draws the session's id.
    Dialer {
        /// The session's id.
        session: u128,
    },
    /// It dials for a session that has lost its connection.
    Returning,
    /// It listens and draws the token.
    Listener {
        /// The session's token.
        token: u128,
        /// How long it keeps a session that was cut, in milliseconds.
        ttl_ms: u64,
    },
}

/// Why a connection is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerError {
    /// The first eight bytes are not those of a PAIR1 socket.
    Header(HeaderError),
    /// The bytes cannot be cut into messages.
    Framing(FramingError),
    /// The opening or the session ends.
    Link(LinkError),
    /// The opening took too long.
    Late,
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerError::Header(error) => error.fmt(f),
            PeerError::Framing(error) => error.fmt(f),
            PeerError::Link(error) => error.fmt(f),
            PeerError::Late => f.write_str("the opening took longer than 5 s"),
        }
    }
}

impl From<HeaderError> for PeerError {
    fn from(error: HeaderError) -> PeerError {
        PeerError::Header(error)
    }
}

impl From<FramingError> for PeerError {
    fn from(error: FramingError) -> PeerError {
        PeerError::Framing(error)
    }
}

impl From<LinkError> for PeerError {
    fn from(error: LinkError) -> PeerError {
        PeerError::Link(error)
    }
}

/// What the machine tells of the bytes it read.
#[derive(Debug)]
pub enum Event<'a> {
    /// The session is open.
    Opened(Opened),
    /// A returning dialer has the listener's HELLO: it is to [claim](Peer::claim) its session.
    Known,
    /// A dialer claims a session: [let it in](Peer::let_in) or [refuse](Peer::fail).
    Claimed(Claim, [u8; PROOF_BYTES]),
    /// The returning dialer was let in: the session goes on with [`Peer::carry`].
    Resumed(Resumed),
    /// A batch has come; read it to its end.
    Batch(Arrived<'a>),
}

/// A batch, and the sending half for the answers.
#[derive(Debug)]
pub struct Arrived<'a> {
    /// The frames.
    pub incoming: Incoming<'a>,
    /// The sending half; the batch's ack was taken into account already.
    pub sender: &'a mut SendHalf,
    /// The ack has opened the window for calls that was closed before.
    pub has_room: bool,
}

#[derive(Debug)]
enum Stage {
    /// The partner's SP header has not come.
    Greeting,
    Opening,
    Open(Box<Session>),
    /// The session has gone on to another connection.
    Left,
}

/// One end of one connection.
#[derive(Debug)]
pub struct Peer {
    framing: Framing,
    limits: Limits,
    role: Role,
    stage: Stage,
    opening: Opening,
    opening_ends: Time,
    /// Our SP header is on its way.
    greeted: bool,
    /// Opening messages that wait to be written, and the one that waits for the partner's header.
    messages: Vec<Buffer>,
    hello: Option<Buffer>,
    /// The message that the last event borrows.
    message: Vec<u8>,
    /// Its length, until it has been accepted.
    arrived: Option<usize>,
    faults: Faults,
    /// The time of the last call that brought it.
    now: Time,
}

impl Peer {
    /// An end of a connection that began at `now`.
    pub fn new(framing: Framing, identity: Identity, role: Role, now: Time) -> Peer {
        let (opening, hello) = match role {
            Role::Dialer { session } => {
                let (opening, hello) = Opening::dial(identity, session);
                (opening, Some(hello))
            }
            Role::Returning => {
                let (opening, hello) = Opening::redial(identity);
                (opening, Some(hello))
            }
            Role::Listener { .. } => (Opening::listen(identity), None),
        };
        Peer {
            framing,
            limits: identity.limits,
            role,
            stage: Stage::Greeting,
            opening,
            opening_ends: now + HANDSHAKE_MAX,
            greeted: false,
            messages: Vec::new(),
            hello,
            message: Vec::new(),
            arrived: None,
            faults: Faults::default(),
            now,
        }
    }

    /// The same with planted errors.
    pub fn with_faults(mut self, faults: Faults) -> Peer {
        self.faults = faults;
        self
    }

    /// The sending half, once the session is open.
    pub fn sender(&mut self) -> Option<&mut SendHalf> {
        match &mut self.stage {
            Stage::Open(session) => Some(&mut session.sender),
            Stage::Greeting | Stage::Opening | Stage::Left => None,
        }
    }

    /// The reading half, once the session is open.
    pub fn receiver(&self) -> Option<&RecvHalf> {
        match &self.stage {
            Stage::Open(session) => Some(&session.receiver),
            Stage::Greeting | Stage::Opening | Stage::Left => None,
        }
    }

    /// The session, to go on over another connection; this end can deliver nothing more.
    pub fn leave(&mut self) -> Option<Box<Session>> {
        match std::mem::replace(&mut self.stage, Stage::Left) {
            Stage::Open(session) => Some(session),
            other => {
                self.stage = other;
                None
            }
        }
    }

    /// True when it carried a session that has gone on.
    pub fn is_left(&self) -> bool {
        matches!(self.stage, Stage::Left)
    }

    /// How messages stand on the connection.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// The nonces of dialer and listener.
    pub fn nonces(&self) -> Option<[u128; 2]> {
        self.opening.nonces()
    }

    /// Claims a session.
    pub fn claim(&mut self, claim: &Claim, proof: &[u8; PROOF_BYTES]) {
        let message = self.opening.resume(claim, proof);
        self.messages.push(message);
    }

    /// Lets the dialer that has claimed `session` in: it goes on over this connection.
    pub fn let_in(&mut self, claim: &Claim, token: u128, session: Box<Session>) {
        self.messages.push(Opening::resumed(claim, session.receiver.recv_next(), token));
        self.carry(session);
    }

    /// A planted error: replies before number `end` do not go out again.
    pub fn lose_replies_before(&mut self, end: u64) {
        self.faults.replies_lost_before = end;
    }

    /// The session goes on over this connection.
    pub fn carry(&mut self, session: Box<Session>) {
        self.stage = Stage::Open(session);
    }

    /// The other side broke a rule: what it is to be told goes out with the next output.
    pub fn fail(&mut self, error: &PeerError) {
        let told = match error {
            PeerError::Link(error) => error.close_code(),
            PeerError::Header(_) | PeerError::Framing(_) | PeerError::Late => None,
        };
        let Some((code, rule)) = told else { return };
        match &mut self.stage {
            Stage::Open(session) => session.sender.close(code, rule),
            Stage::Left => {}
            Stage::Greeting | Stage::Opening => {
                self.messages.push(Opening::refuse(code, rule, ""));
            }
        }
    }

    /// It is `now`: what goes out next is said then.
    pub fn look_at_clock(&mut self, now: Time) {
        self.now = now;
    }

    fn note_accepted(&mut self, now: Time) {
        if let (Some(bytes), Stage::Open(session)) = (self.arrived.take(), &mut self.stage) {
            let recv_next = session.receiver.recv_next();
            let told = recv_next + if recv_next > 0 { self.faults.acks_ahead } else { 0 };
            session.sender.accepted(told, bytes, now);
        }
    }

    fn receive_header(&mut self, input: &mut ReadBuf) -> Result<bool, PeerError> {
        let Some((header, _)) = input.as_slice().split_first_chunk::<HEADER_BYTES>() else {
            input.want(HEADER_BYTES);
            return Ok(false);
        };
        let header = *header;
        input.take(HEADER_BYTES);
        Header::expect_partner(ProtocolNumber::PAIR1, header)?;
        self.messages.extend(self.hello.take());
        self.stage = Stage::Opening;
        Ok(true)
    }

    fn receive_opening(
        &mut self,
        input: &mut ReadBuf,
        now: Time,
    ) -> Result<Option<Event<'static>>, PeerError> {
        let limit = OPENING_BYTES_MAX + PAIR1_WORD.len();
        while let Some(message) = self.framing.cut(input, limit)? {
            let opened = match self.opening.receive(without_word(&message)?)? {
                Step::Send(answer) => {
                    self.messages.push(answer);
                    continue;
                }
                Step::Wait => continue,
                Step::OpenRequested => {
                    let Role::Listener { token, ttl_ms } = self.role else {
                        continue;
                    };
                    let (answer, opened) = self.opening.accept(token, ttl_ms)?;
                    self.messages.push(answer);
                    opened
                }
                Step::Opened(opened) => opened,
                Step::PeerKnown => return Ok(Some(Event::Known)),
                Step::ResumeRequested(claim, proof) => {
                    return Ok(Some(Event::Claimed(claim, proof)));
                }
                Step::Resumed(resumed) => return Ok(Some(Event::Resumed(resumed))),
            };
            let receiver = RecvHalf::new(&self.limits);
            let sender = SendHalf::new(&self.limits, opened.peer.limits, now);
            self.stage = Stage::Open(Box::new(Session::new(receiver, sender)));
            return Ok(Some(Event::Opened(opened)));
        }
        Ok(None)
    }

    fn receive_batch(&mut self, input: &mut ReadBuf) -> Result<Option<Event<'_>>, PeerError> {
        let Stage::Open(session) = &mut self.stage else {
            return Ok(None);
        };
        let limit = usize::try_from(self.limits.batch_max).unwrap_or(usize::MAX);
        let Some(message) = self.framing.cut(input, limit)? else {
            return Ok(None);
        };
        self.message.clear();
        self.message.extend_from_slice(&message);
        self.arrived = Some(self.message.len());
        if self.faults.takes_twice {
            forget_numbers(&mut self.message, session.receiver.recv_next());
        }
        let incoming = session.receiver.open(without_word(&self.message)?)?;
        let has_room = session.sender.outbox.acknowledge(incoming.ack)?;
        let sender = &mut session.sender;
        Ok(Some(Event::Batch(Arrived { incoming, sender, has_room })))
    }

    fn put_message(framing: Framing, batch: &mut Batch, body: usize, head: &[u8]) {
        let (prefix, used) = framing.prefix(PAIR1_WORD.len() + body);
        batch.head(|out| {
            out.put(prefix, used);
            out.extend(&PAIR1_WORD);
            out.extend(head);
        });
    }
}

impl ConnectionStateMachine for Peer {
    type Event<'a> = Event<'a>;
    type Error = PeerError;

    fn receive<'a>(
        &'a mut self,
        input: &mut ReadBuf,
        now: Time,
    ) -> Result<Option<Event<'a>>, PeerError> {
        self.look_at_clock(now);
        self.note_accepted(now);
        if let Stage::Open(session) = &mut self.stage {
            session.sender.bytes_received(now);
        }
        if matches!(self.stage, Stage::Greeting) && !self.receive_header(input)? {
            return Ok(None);
        }
        if matches!(self.stage, Stage::Opening) {
            return self.receive_opening(input, now);
        }
        self.receive_batch(input)
    }

    fn tick(&mut self, now: Time) -> Result<(), PeerError> {
        self.look_at_clock(now);
        match &mut self.stage {
            Stage::Open(session) => session.sender.tick(now, || true)?,
            Stage::Left => {}
            Stage::Greeting | Stage::Opening if now >= self.opening_ends => {
                return Err(PeerError::Late);
            }
            Stage::Greeting | Stage::Opening => {}
        }
        Ok(())
    }

    fn take_output(&mut self, batch: &mut Batch) {
        if !std::mem::replace(&mut self.greeted, true) {
            let header = Header { protocol: ProtocolNumber::PAIR1 };
            batch.head(|out| out.extend(&header.to_bytes()));
        }
        for message in self.messages.drain(..) {
            Peer::put_message(self.framing, batch, message.len(), message.as_slice());
        }
        let Stage::Open(session) = &mut self.stage else {
            return;
        };
        if let Some(Sent { first_seq, count, bytes }) = session.again.take() {
            let mut whole = Buffer::new();
            let ack = session.receiver.recv_next();
            BatchHeader { ack, first_seq, count }.encode(&mut whole);
            whole.extend(&bytes);
            Peer::put_message(self.framing, batch, whole.len(), whole.as_slice());
        }
        session.sender.take_output(&mut session.outgoing, self.now);
        session.keep();
        let outgoing = &mut session.outgoing;
        if outgoing.sequenced.first_seq < self.faults.replies_lost_before {
            outgoing.sequenced.segments.iter_mut().for_each(lose_replies);
        }
        if !outgoing.is_empty() {
            Peer::put_message(self.framing, batch, outgoing.len(), outgoing.head.as_slice());
            outgoing.sequenced.segments.drain(..).for_each(|segment| batch.segment(segment));
        }
    }

    fn deadline(&self) -> Option<Time> {
        match &self.stage {
            Stage::Open(session) => session.sender.deadline(),
            Stage::Left => None,
            Stage::Greeting | Stage::Opening => Some(self.opening_ends),
        }
    }
}

/// A message behind its PAIR1 word. NNG counts the first hop as 1, mangos as 0; more means a device
/// on the way, which would mix sessions.
fn without_word(message: &[u8]) -> Result<&[u8], LinkError> {
    match message.split_first_chunk::<4>() {
        Some(([0, 0, 0, 0 | 1], body)) => Ok(body),
        _ => Err(LinkError::protocol("a session has no device on its way")),
    }
}

#[cfg(test)]
mod tests;
