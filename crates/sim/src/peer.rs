//! What a node is on one connection, without sockets: SP header, framing, PAIR1, opening, session.
//!
//! The node wires the same parts to a socket under locks; here they are one [`ConnectionStateMachine`]. The
//! reader of the events drives the application, and tells the machine with [`Peer::fail`] when the
//! other side broke a rule. A [`Session`] outlives its connection: it is taken from one end and given
//! to the next.

use core::fmt;

use wigwag_link::batch::{BatchHeader, PAIR1_HEADER, without_pair1_header};
use wigwag_link::limits::OPENING_BYTES_MAX;
use wigwag_link::opening::{Opened, Opening, Resumed, Step};
use wigwag_link::resume::{Claim, PROOF_BYTES};
use wigwag_link::{Dispatcher, Identity, Limits, LinkError, SendHalf, features};
use wigwag_wire::header::{HEADER_BYTES, HeaderError};
use wigwag_wire::run::RUN_ITEMS_MAX;
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

/// A batch that has come, and the session that it is for.
#[derive(Debug)]
pub struct Arrived<'a> {
    /// The reading side, which is to [receive](Dispatcher::receive) the message.
    pub dispatcher: &'a mut Dispatcher<usize>,
    /// The sending half, which the application of the session lends to it.
    pub sender: &'a mut SendHalf,
    /// The message, with its PAIR1 header.
    pub message: &'a [u8],
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
    offered: u64,
    /// Calls that an open session hands over at once.
    calls_max: usize,
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
            offered: identity.offered,
            calls_max: RUN_ITEMS_MAX,
            role,
            stage: Stage::Greeting,
            opening,
            opening_ends: now + HANDSHAKE_MAX,
            greeted: false,
            messages: Vec::new(),
            hello,
            message: Vec::new(),
            faults: Faults::default(),
            now,
        }
    }

    /// Sets how many calls an open session hands over at once.
    pub fn with_calls_max(mut self, calls_max: usize) -> Peer {
        self.calls_max = calls_max;
        self
    }

    /// Plants errors.
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

    /// The number of the next frame that was not accepted, once the session is open.
    pub fn recv_next(&self) -> Option<u64> {
        match &self.stage {
            Stage::Open(session) => Some(session.dispatcher.recv_next()),
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
    ///
    /// # Errors
    /// The claim names frames that cannot be sent again.
    pub fn let_in(
        &mut self,
        claim: &Claim,
        token: u128,
        mut session: Box<Session>,
    ) -> Result<(), LinkError> {
        let message = session.dispatcher.readmit(claim, token, &session.sender.outbox)?;
        self.messages.push(message);
        self.carry(session);
        Ok(())
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

    /// A planted error: more is acknowledged than has come.
    fn ack_ahead(&mut self, now: Time) {
        let (ahead, Stage::Open(session)) = (self.faults.acks_ahead, &mut self.stage) else {
            return;
        };
        let recv_next = session.dispatcher.recv_next();
        if ahead > 0 && recv_next > 0 {
            session.sender.accepted(recv_next + ahead, 1, now);
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
        let limit = OPENING_BYTES_MAX + PAIR1_HEADER.len();
        while let Some(message) = self.framing.cut(input, limit)? {
            let opened = match self.opening.receive(without_pair1_header(&message)?)? {
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
            let features = features::on(opened.peer.offered) & self.offered;
            let dispatcher = Dispatcher::new(&self.limits, features, self.calls_max);
            let sender = SendHalf::new(&self.limits, opened.peer.limits, now);
            self.stage = Stage::Open(Box::new(Session::new(dispatcher, sender)));
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
        if self.faults.takes_twice {
            forget_numbers(&mut self.message, session.dispatcher.recv_next());
        }
        let Session { dispatcher, sender, .. } = &mut **session;
        Ok(Some(Event::Batch(Arrived { dispatcher, sender, message: &self.message })))
    }

    fn put_message(framing: Framing, batch: &mut Batch, body: usize, head: &[u8]) {
        let (prefix, used) = framing.prefix(PAIR1_HEADER.len() + body);
        batch.head(|out| {
            out.put(prefix, used);
            out.extend(&PAIR1_HEADER);
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
        self.ack_ahead(now);
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
            let ack = session.dispatcher.recv_next();
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

#[cfg(test)]
mod tests;
