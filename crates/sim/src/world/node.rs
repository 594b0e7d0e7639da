//! One node of a pair: its session, connected or not, and its application.

use wigwag_link::batch::{BatchHeader, PAIR1_HEADER};
use wigwag_link::credit::Grant;
use wigwag_link::dispatch::application::{
    ActorReference, Application, Attach, Attached, Found, Target,
};
use wigwag_link::frame::Frame;
use wigwag_link::opening::Resumed;
use wigwag_link::opening::resume::{Claim, Credentials, PROOF_BYTES, Ticket, TicketVerifier};
use wigwag_link::recv_half::ChannelCalls;
use wigwag_link::{Code, LinkError, SendHalf};
use wigwag_wire::{ConnectionStateMachine, Reader, Time};

use super::connection::{Connection, End};
use crate::application::client::Client;
use crate::application::server::Server;
use crate::check::Violation;
use crate::peer::{Event, PeerError, ReceivedBatch, Session};
use crate::setup::{Mutant, Side, Workload};
use crate::shared::Shared;

/// The location of a node's session.
#[derive(Debug)]
pub(super) struct SessionLocation {
    side: Side,
    /// The connection that carries it.
    pub(super) connection: Option<usize>,
    /// The session, while no connection carries it.
    pub(super) parked: Option<Box<Session>>,
}

/// One node of a pair.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) side: Side,
    pub(super) workload: Workload,
    pub(super) first_id: u64,
    pub(super) client: Option<Client>,
    pub(super) server: Server,
    pub(super) client_turn: Option<Time>,
    pub(super) server_turn: Option<Time>,
    pub(super) location: SessionLocation,
    pub(super) session_id: u128,
    /// The credentials with which the dialer resumes and the listener recognizes it.
    pub(super) credentials: Option<Credentials>,
    /// The connection over which the dialer tries to resume, and the time of the next attempt.
    pub(super) redial_attempt: Option<usize>,
    pub(super) redial_at: Option<Time>,
    pub(super) failed_attempts: u64,
    /// The time at which a session that was cut is given up.
    pub(super) expires_at: Option<Time>,
    /// The session is over for this node.
    pub(super) has_ended: bool,
    /// The node has died and restarted, and knows of no session.
    pub(super) has_restarted: bool,
    /// CLOSE was received.
    pub(super) close_received: bool,
    pub(super) mutant: Option<Mutant>,
    /// The number up to which a planted error has acknowledged frames that were not received.
    pub(super) acked_ahead: u64,
}

/// The reason why a node stopped reading.
pub(super) enum ReadError {
    Peer(PeerError),
    Violation(Violation),
}

impl From<Violation> for ReadError {
    fn from(violation: Violation) -> ReadError {
        ReadError::Violation(violation)
    }
}

impl From<LinkError> for ReadError {
    fn from(error: LinkError) -> ReadError {
        ReadError::Peer(PeerError::Link(error))
    }
}

impl From<PeerError> for ReadError {
    fn from(error: PeerError) -> ReadError {
        ReadError::Peer(error)
    }
}

/// An event of the handshake that concerns more than the node that read it.
pub(super) enum HandshakeEvent {
    PeerKnown,
    ResumeRequested(Claim, [u8; PROOF_BYTES]),
    Resumed(Resumed),
}

impl SessionLocation {
    pub(super) fn new(side: Side) -> SessionLocation {
        SessionLocation { side, connection: None, parked: None }
    }

    /// The sending half of the session, connected or not.
    pub(super) fn sender<'a>(
        &'a mut self,
        connections: &'a mut [Connection],
    ) -> Option<&'a mut SendHalf> {
        match self.connection {
            Some(at) => connections[at].ends[self.side as usize].peer.sender(),
            None => self.parked.as_mut().map(|session| &mut session.sender),
        }
    }

    /// The number of the next frame that was not accepted.
    pub(super) fn recv_next(&self, connections: &[Connection]) -> Option<u64> {
        match self.connection {
            Some(at) => connections[at].ends[self.side as usize].peer.recv_next(),
            None => self.parked.as_ref().map(|session| session.dispatcher.recv_next()),
        }
    }
}

impl Node {
    /// Reads everything that can be read from one of the node's ends. An event that stops the
    /// reading is returned, and must be handled before reading continues.
    pub(super) fn read(
        &mut self,
        end: &mut End,
        shared: &mut Shared,
    ) -> Result<Option<HandshakeEvent>, ReadError> {
        let now = shared.clock.now();
        let half_ack = self.mutant == Some(Mutant::HalfAck);
        let Node { side, workload, client, server, .. } = self;
        let End { peer, input, .. } = end;
        while let Some(event) = peer.receive(input, now)? {
            let arrived = match event {
                Event::Opened(opened) => {
                    shared.note(*side, "opened", 0, 0);
                    self.session_id = opened.session;
                    self.credentials = Some(match side {
                        Side::Dialer => {
                            Credentials::Dialer(Ticket::new(opened.session, opened.token))
                        }
                        Side::Listener => Credentials::Listener(TicketVerifier::new(opened.token)),
                    });
                    let client_of =
                        Client::new(*side, self.first_id, *workload, opened.peer.limits);
                    *client = Some(client_of.with_mutant(self.mutant));
                    continue;
                }
                Event::PeerKnown => return Ok(Some(HandshakeEvent::PeerKnown)),
                Event::ResumeRequested(claim, proof) => {
                    return Ok(Some(HandshakeEvent::ResumeRequested(claim, proof)));
                }
                Event::Resumed(resumed) => return Ok(Some(HandshakeEvent::Resumed(resumed))),
                Event::Batch(arrived) => arrived,
            };
            let (Some(client), Some(credentials)) = (client.as_mut(), &mut self.credentials) else {
                continue;
            };
            let drops_rest = half_ack && server.triggers(Mutant::HalfAck);
            let ReceivedBatch { dispatcher, sender, message } = arrived;
            let mut halves = NodeApplication {
                client,
                server,
                credentials,
                sender,
                shared,
                drops_rest,
                frames: 0,
            };
            dispatcher.receive(message, now, &mut halves)?;
        }
        self.ack_on_read(end, now);
        Ok(None)
    }

    /// Plants an error: acknowledges a whole batch of which only the head was received.
    fn ack_on_read(&mut self, end: &mut End, now: Time) {
        let at = end.peer.framing().prefix_bytes() + PAIR1_HEADER.len();
        let head =
            end.input.as_slice().get(at..).map(|rest| BatchHeader::decode(&mut Reader::new(rest)));
        let (Some(Ok(header)), Some(sender)) = (head, end.peer.sender()) else { return };
        if self.mutant == Some(Mutant::AckOnRead) && header.count > 0 {
            let ahead = header.first_seq + header.count;
            self.acked_ahead = self.acked_ahead.max(ahead);
            sender.accepted(ahead, 1, now);
        }
    }
}

/// Both halves of the application, which the session calls while a batch is read.
struct NodeApplication<'a> {
    client: &'a mut Client,
    server: &'a mut Server,
    credentials: &'a mut Credentials,
    sender: &'a mut SendHalf,
    shared: &'a mut Shared,
    /// A planted error: calls behind the first frame are forgotten.
    drops_rest: bool,
    frames: usize,
}

impl Application for NodeApplication<'_> {
    type Actor = ();
    /// The number of its inbound queue.
    type Channel = usize;
    type SendHalf<'a>
        = &'a mut SendHalf
    where
        Self: 'a;
    type Error = ReadError;

    fn send_half(&mut self) -> &mut SendHalf {
        self.sender
    }

    fn acknowledged(&mut self, has_room: bool, _is_settled: bool) {
        if !self.sender.take_ended_long_calls().is_empty() {
            self.client.long_call_ended();
        }
        if has_room {
            self.client.has_room();
        }
    }

    fn frame(&mut self, _frame: &Frame<'_>) -> Result<(), ReadError> {
        self.frames += 1;
        Ok(())
    }

    fn token_confirmed(&mut self) {
        self.credentials.confirm();
    }

    fn find(&mut self, attach: &Attach<'_>) -> Result<Found<()>, Code> {
        if attach.target == Target::Name(b"nobody") {
            return Err(Code::NO_SUCH_ACTOR);
        }
        let is_bounded =
            matches!(attach.target, Target::Name(name) if name.starts_with(b"bounded"));
        let bound = is_bounded.then(|| self.server.bound());
        Ok(Found {
            actor: (),
            schema_hash: 1,
            codec: 0,
            bound,
            reference: Some(ActorReference { number: 1, reference: 1, may_link: true }),
        })
    }

    fn open(&mut self, _actor: (), channel: u64, _use_of: u64) -> usize {
        self.server.open(channel)
    }

    fn close(&mut self, queue: usize, grant: Option<Grant>) {
        self.server.close(queue, grant, self.sender);
    }

    fn calls(&mut self, queue: &mut usize, run: &ChannelCalls<'_>) -> Result<(), ReadError> {
        self.frames += run.calls;
        if self.drops_rest && self.frames > 1 {
            return Ok(());
        }
        Ok(self.server.calls(*queue, run, self.sender, self.shared)?)
    }

    fn describe(&mut self, _: &mut usize, _asker: (u32, u32), _arguments: &[u8], _units: u64) {}

    fn discarded(&mut self, _queue: &mut usize, _units: u64) {}

    fn cancelled(&mut self, asker: (u64, u64)) {
        self.server.cancelled(asker);
    }

    fn reply(&mut self, asker: (u32, u32), value: &[u8]) -> Result<bool, ReadError> {
        self.frames += 1;
        self.client.replied(asker, value, self.shared)?;
        Ok(true)
    }

    fn failed(&mut self, asker: (u32, u32), code: Code, _text: &[u8]) -> Result<bool, ReadError> {
        self.client.failed(asker, code, self.shared)?;
        Ok(true)
    }

    fn attached(&mut self, channel: u64, _attached: &Attached<'_>) {
        self.client.attached(channel);
    }

    fn credited(
        &mut self,
        channel: u64,
        _limit: u64,
        handled: u64,
        has_risen: bool,
    ) -> Result<(), ReadError> {
        Ok(self.client.credited(channel, handled, has_risen, self.shared)?)
    }

    fn detached(
        &mut self,
        channel: u64,
        code: Code,
        accepted: u64,
        _reason: &[u8],
    ) -> Result<(), ReadError> {
        Ok(self.client.detached(channel, code, accepted, self.sender, self.shared)?)
    }

    fn has_room(&mut self) {
        self.client.has_room();
    }
}
