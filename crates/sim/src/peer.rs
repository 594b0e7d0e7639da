//! One end of a connection without sockets: SP header, framing, PAIR1, opening, session.
//!
//! The node connects the same parts to a socket under locks; here they are one
//! [`ConnectionStateMachine`]. The reader of the events drives the application, and calls
//! [`Peer::fail`] when the other side has broken a rule. A [`Session`] outlives its connection: it
//! is taken from one end and passed to the next.

use core::fmt;

use wigwag_link::batch::{BatchHeader, PAIR1_HEADER, without_pair1_header};
use wigwag_link::limits::OPENING_BYTES_MAX;
use wigwag_link::opening::resume::{Claim, PROOF_BYTES};
use wigwag_link::opening::{Opened, Opening, Resumed, Step};
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
use faults::{drop_replies, renumber};
use session::SentBatch;
pub use session::Session;

/// The role of an end of a connection, with its random numbers.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// The end dials and has chosen the session's id.
    Dialer {
        /// The session's id.
        session: u128,
    },
    /// The end dials to resume a session that has lost its connection.
    Resuming,
    /// The end listens and has chosen the token.
    Listener {
        /// The session's token.
        token: u128,
        /// The time for which it keeps a session that has lost its connection, in milliseconds.
        ttl_ms: u64,
    },
}

/// The error that ends a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerError {
    /// The first eight bytes are not those of a PAIR1 socket.
    Header(HeaderError),
    /// The bytes cannot be cut into messages.
    Framing(FramingError),
    /// The opening or the session has failed.
    Link(LinkError),
    /// The opening took too long.
    OpeningTimeout,
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerError::Header(error) => error.fmt(f),
            PeerError::Framing(error) => error.fmt(f),
            PeerError::Link(error) => error.fmt(f),
            PeerError::OpeningTimeout => f.write_str("the opening took longer than 5 s"),
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

/// An event in the bytes that were read.
#[derive(Debug)]
pub enum Event<'a> {
    /// The session is open.
    Opened(Opened),
    /// A resuming dialer has the listener's HELLO and must [claim](Peer::claim) its session.
    PeerKnown,
    /// A dialer claims a session, to be [accepted](Peer::readmit) or [refused](Peer::fail).
    ResumeRequested(Claim, [u8; PROOF_BYTES]),
    /// The claim of a resuming dialer was accepted: the session continues with
    /// [`Peer::attach_session`].
    Resumed(Resumed),
    /// A batch was received and must be read to its end.
    Batch(ReceivedBatch<'a>),
}

/// A received batch, and the session that it is for.
#[derive(Debug)]
pub struct ReceivedBatch<'a> {
    /// The reading half, which must [receive](Dispatcher::receive) the message.
    pub dispatcher: &'a mut Dispatcher<usize>,
    /// The sending half, which the application of the session lends to the reading half.
    pub sender: &'a mut SendHalf,
    /// The message, with its PAIR1 header.
    pub message: &'a [u8],
}

#[derive(Debug)]
enum ConnectionState {
    /// The partner's SP header was not received yet.
    AwaitingHeader,
    Opening,
    Open(Box<Session>),
    /// The session has moved to another connection.
    Detached,
}

/// One end of one connection.
#[derive(Debug)]
pub struct Peer {
    framing: Framing,
    limits: Limits,
    offered: u64,
    /// The most calls that an open session passes on at once.
    calls_max: usize,
    role: Role,
    state: ConnectionState,
    opening: Opening,
    opening_deadline: Time,
    /// This end's SP header was written.
    header_sent: bool,
    /// Messages of the opening that wait to be written.
    opening_messages: Vec<Buffer>,
    /// The HELLO that waits for the partner's header.
    hello: Option<Buffer>,
    /// The message that the last event borrows.
    message: Vec<u8>,
    faults: Faults,
    /// The time as of the last call that passed it.
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
            Role::Resuming => {
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
            state: ConnectionState::AwaitingHeader,
            opening,
            opening_deadline: now + HANDSHAKE_MAX,
            header_sent: false,
            opening_messages: Vec::new(),
            hello,
            message: Vec::new(),
            faults: Faults::default(),
            now,
        }
    }

    /// Sets how many calls an open session passes on at once.
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
        match &mut self.state {
            ConnectionState::Open(session) => Some(&mut session.sender),
            ConnectionState::AwaitingHeader
            | ConnectionState::Opening
            | ConnectionState::Detached => None,
        }
    }

    /// The number of the next frame that was not accepted, once the session is open.
    pub fn recv_next(&self) -> Option<u64> {
        match &self.state {
            ConnectionState::Open(session) => Some(session.dispatcher.recv_next()),
            ConnectionState::AwaitingHeader
            | ConnectionState::Opening
            | ConnectionState::Detached => None,
        }
    }

    /// Takes the session, to continue over another connection; this end can deliver nothing more.
    pub fn take_session(&mut self) -> Option<Box<Session>> {
        match std::mem::replace(&mut self.state, ConnectionState::Detached) {
            ConnectionState::Open(session) => Some(session),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// True when it has carried a session that has moved on.
    pub fn is_detached(&self) -> bool {
        matches!(self.state, ConnectionState::Detached)
    }

    /// The framing of messages on the connection.
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
        self.opening_messages.push(message);
    }

    /// Accepts a dialer's claim of `session`, which continues over this connection.
    ///
    /// # Errors
    /// The claim needs frames that cannot be sent again.
    pub fn readmit(
        &mut self,
        claim: &Claim,
        token: u128,
        mut session: Box<Session>,
    ) -> Result<(), LinkError> {
        let message = session.dispatcher.readmit(claim, token, &session.sender.outbox)?;
        self.opening_messages.push(message);
        self.attach_session(session);
        Ok(())
    }

    /// Plants an error: replies before number `end` are not sent again.
    pub fn drop_replies_before(&mut self, end: u64) {
        self.faults.drops_replies_before = end;
    }

    /// Continues the session over this connection.
    pub fn attach_session(&mut self, session: Box<Session>) {
        self.state = ConnectionState::Open(session);
    }

    /// Fails the session because the other side broke a rule, which the next output tells it.
    pub fn fail(&mut self, error: &PeerError) {
        let close_code = match error {
            PeerError::Link(error) => error.close_code(),
            PeerError::Header(_) | PeerError::Framing(_) | PeerError::OpeningTimeout => None,
        };
        let Some((code, rule)) = close_code else { return };
        match &mut self.state {
            ConnectionState::Open(session) => session.sender.close(code, rule),
            ConnectionState::Detached => {}
            ConnectionState::AwaitingHeader | ConnectionState::Opening => {
                self.opening_messages.push(Opening::refuse(code, rule, ""));
            }
        }
    }

    /// Sets the time for the next output.
    pub fn set_now(&mut self, now: Time) {
        self.now = now;
    }

    /// Plants an error: more is acknowledged than was received.
    fn ack_ahead(&mut self, now: Time) {
        let (ahead, ConnectionState::Open(session)) = (self.faults.acks_ahead, &mut self.state)
        else {
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
        self.opening_messages.extend(self.hello.take());
        self.state = ConnectionState::Opening;
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
                    self.opening_messages.push(answer);
                    continue;
                }
                // A peer of this kind reads no proofs, which the opening refuses then.
                Step::Wait | Step::Proved(_) => continue,
                Step::OpenRequested => {
                    let Role::Listener { token, ttl_ms } = self.role else {
                        continue;
                    };
                    let (answer, opened) = self.opening.accept(token, ttl_ms)?;
                    self.opening_messages.push(answer);
                    opened
                }
                Step::Opened(opened) => opened,
                Step::PeerKnown => return Ok(Some(Event::PeerKnown)),
                Step::ResumeRequested(claim, proof) => {
                    return Ok(Some(Event::ResumeRequested(claim, proof)));
                }
                Step::Resumed(resumed) => return Ok(Some(Event::Resumed(resumed))),
            };
            let features = features::on(opened.peer.offered) & self.offered;
            let dispatcher = Dispatcher::new(&self.limits, features, self.calls_max);
            let sender = SendHalf::new(&self.limits, opened.peer.limits, now);
            let sender = sender.with_features(features);
            self.state = ConnectionState::Open(Box::new(Session::new(dispatcher, sender)));
            return Ok(Some(Event::Opened(opened)));
        }
        Ok(None)
    }

    fn receive_batch(&mut self, input: &mut ReadBuf) -> Result<Option<Event<'_>>, PeerError> {
        let ConnectionState::Open(session) = &mut self.state else {
            return Ok(None);
        };
        let limit = usize::try_from(self.limits.batch_max).unwrap_or(usize::MAX);
        let Some(message) = self.framing.cut(input, limit)? else {
            return Ok(None);
        };
        self.message.clear();
        self.message.extend_from_slice(&message);
        if self.faults.skips_deduplication {
            renumber(&mut self.message, session.dispatcher.recv_next());
        }
        let Session { dispatcher, sender, .. } = &mut **session;
        Ok(Some(Event::Batch(ReceivedBatch { dispatcher, sender, message: &self.message })))
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
        self.set_now(now);
        self.ack_ahead(now);
        if let ConnectionState::Open(session) = &mut self.state {
            session.sender.bytes_received(now);
        }
        if matches!(self.state, ConnectionState::AwaitingHeader) && !self.receive_header(input)? {
            return Ok(None);
        }
        if matches!(self.state, ConnectionState::Opening) {
            return self.receive_opening(input, now);
        }
        self.receive_batch(input)
    }

    fn tick(&mut self, now: Time) -> Result<(), PeerError> {
        self.set_now(now);
        match &mut self.state {
            ConnectionState::Open(session) => session.sender.tick(now, || true)?,
            ConnectionState::Detached => {}
            ConnectionState::AwaitingHeader | ConnectionState::Opening
                if now >= self.opening_deadline =>
            {
                return Err(PeerError::OpeningTimeout);
            }
            ConnectionState::AwaitingHeader | ConnectionState::Opening => {}
        }
        Ok(())
    }

    fn take_output(&mut self, batch: &mut Batch) {
        if !std::mem::replace(&mut self.header_sent, true) {
            let header = Header { protocol: ProtocolNumber::PAIR1 };
            batch.head(|out| out.extend(&header.to_bytes()));
        }
        for message in self.opening_messages.drain(..) {
            Peer::put_message(self.framing, batch, message.len(), message.as_slice());
        }
        let ConnectionState::Open(session) = &mut self.state else {
            return;
        };
        if let Some(SentBatch { first_seq, count, bytes }) = session.resend.take() {
            let mut whole = Buffer::new();
            let ack = session.dispatcher.recv_next();
            BatchHeader { ack, first_seq, count }.encode(&mut whole);
            whole.extend(&bytes);
            Peer::put_message(self.framing, batch, whole.len(), whole.as_slice());
        }
        session.sender.take_output(&mut session.outgoing, self.now);
        session.remember_batch();
        let outgoing = &mut session.outgoing;
        if outgoing.sequenced.first_seq < self.faults.drops_replies_before {
            outgoing.sequenced.segments.iter_mut().for_each(drop_replies);
        }
        if !outgoing.is_empty() {
            Peer::put_message(self.framing, batch, outgoing.len(), outgoing.head.as_slice());
            outgoing.sequenced.segments.drain(..).for_each(|segment| batch.segment(segment));
        }
    }

    fn deadline(&self) -> Option<Time> {
        match &self.state {
            ConnectionState::Open(session) => session.sender.deadline(),
            ConnectionState::Detached => None,
            ConnectionState::AwaitingHeader | ConnectionState::Opening => {
                Some(self.opening_deadline)
            }
        }
    }
}

#[cfg(test)]
mod tests;
