//! One node of a pair: its session, wherever that is, and the application on top.

use wigwag_link::batch::BatchHeader;
use wigwag_link::frame::Frame;
use wigwag_link::opening::Resumed;
use wigwag_link::resume::{Claim, PROOF_BYTES, Ticket, TicketVerifier};
use wigwag_link::{LinkError, RecvHalf, SendHalf};
use wigwag_wire::{ConnectionStateMachine, Reader, Time};

use super::Shared;
use super::connection::{Connection, End};
use crate::check::Violation;
use crate::client::Client;
use crate::peer::{Event, PAIR1_WORD, PeerError, Session};
use crate::random::mix;
use crate::server::Server;
use crate::setup::{Habits, Mutant, Side};

/// Where a node's session is.
#[derive(Debug)]
pub(super) struct Place {
    side: Side,
    /// The connection that carries it.
    pub(super) carried: Option<usize>,
    /// The session, while no connection carries it.
    pub(super) session: Option<Box<Session>>,
}

/// One node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) side: Side,
    pub(super) habits: Habits,
    pub(super) first_id: u64,
    pub(super) client: Option<Client>,
    pub(super) server: Server,
    pub(super) client_turn: Option<Time>,
    pub(super) server_turn: Option<Time>,
    pub(super) place: Place,
    pub(super) session_id: u128,
    /// What lets the dialer come back, and the listener know it.
    pub(super) ticket: Option<Ticket>,
    pub(super) tickets: Option<TicketVerifier>,
    /// The connection over which the dialer tries to come back, and when it tries again.
    pub(super) trying: Option<usize>,
    pub(super) redial: Option<Time>,
    pub(super) tries: u64,
    /// When a session that was cut is given up.
    pub(super) expires: Option<Time>,
    /// The session is over for this node.
    pub(super) over: bool,
    /// It has died and come back, and knows of no session.
    pub(super) is_new: bool,
    /// CLOSE has come.
    pub(super) said_goodbye: bool,
    pub(super) mutant: Option<Mutant>,
    /// Up to here a planted error has acknowledged what it never had.
    pub(super) acked_ahead: u64,
}

/// Why a node stopped reading.
pub(super) enum Ending {
    Peer(PeerError),
    Violation(Violation),
}

impl From<Violation> for Ending {
    fn from(violation: Violation) -> Ending {
        Ending::Violation(violation)
    }
}

impl From<PeerError> for Ending {
    fn from(error: PeerError) -> Ending {
        Ending::Peer(error)
    }
}

/// What a node has read that concerns more than itself.
pub(super) enum Heard {
    Known,
    Claimed(Claim, [u8; PROOF_BYTES]),
    Resumed(Resumed),
}

/// A keyed hash that serves here: nobody in this world breaks it.
pub(super) fn prove(token: u128, bytes: &[u8]) -> [u8; PROOF_BYTES] {
    let mut proof = [0; PROOF_BYTES];
    let mut state = mix(token as u64) ^ mix((token >> 64) as u64).rotate_left(1);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        state = mix(state ^ u64::from_le_bytes(word)).wrapping_add(state);
    }
    for word in proof.chunks_exact_mut(8) {
        state = mix(state);
        word.copy_from_slice(&state.to_le_bytes());
    }
    proof
}

impl Place {
    pub(super) fn new(side: Side) -> Place {
        Place { side, carried: None, session: None }
    }

    /// The sending half, wherever the session is.
    pub(super) fn sender<'a>(
        &'a mut self,
        lines: &'a mut [Connection],
    ) -> Option<&'a mut SendHalf> {
        match self.carried {
            Some(at) => lines[at].ends[self.side as usize].peer.sender(),
            None => self.session.as_mut().map(|session| &mut session.sender),
        }
    }

    /// The reading half.
    pub(super) fn receiver<'a>(&'a self, lines: &'a [Connection]) -> Option<&'a RecvHalf> {
        match self.carried {
            Some(at) => lines[at].ends[self.side as usize].peer.receiver(),
            None => self.session.as_ref().map(|session| &session.receiver),
        }
    }
}

impl Node {
    /// Reads all that can be read from one of its ends. What stops it is given back and has to be
    /// dealt with before it reads on.
    pub(super) fn read(
        &mut self,
        end: &mut End,
        shared: &mut Shared,
    ) -> Result<Option<Heard>, Ending> {
        let now = shared.clock.now();
        let half_ack = self.mutant == Some(Mutant::HalfAck);
        let Node { side, habits, client, server, .. } = self;
        let End { peer, input, .. } = end;
        while let Some(event) = peer.receive(input, now)? {
            let mut arrived = match event {
                Event::Opened(opened) => {
                    shared.note(*side, "opened", 0, 0);
                    self.session_id = opened.session;
                    match side {
                        Side::Dialer => {
                            self.ticket = Some(Ticket::new(opened.session, opened.token))
                        }
                        Side::Listener => self.tickets = Some(TicketVerifier::new(opened.token)),
                    }
                    *client = Some(Client::new(*side, self.first_id, *habits, opened.peer.limits));
                    continue;
                }
                Event::Known => return Ok(Some(Heard::Known)),
                Event::Claimed(claim, proof) => return Ok(Some(Heard::Claimed(claim, proof))),
                Event::Resumed(resumed) => return Ok(Some(Heard::Resumed(resumed))),
                Event::Batch(arrived) => arrived,
            };
            if let Some(tickets) = &mut self.tickets {
                tickets.confirm();
            }
            let Some(client) = client else { continue };
            if arrived.has_room {
                client.has_room();
            }
            let forgets = half_ack && server.strikes(Mutant::HalfAck);
            let mut frames = 0;
            while let Some((frame, body)) =
                arrived.incoming.next_frame().map_err(PeerError::Link)?
            {
                frames += 1;
                if forgets && frames > 1 && matches!(frame, Frame::Tell { .. } | Frame::Ask { .. })
                {
                    continue;
                }
                let sender = &mut *arrived.sender;
                match frame {
                    Frame::Close { code, rule, detail } => {
                        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                        let (rule, detail) = (text(rule), text(detail));
                        return Err(PeerError::Link(LinkError::ClosedByPeer {
                            code,
                            rule,
                            detail,
                        })
                        .into());
                    }
                    Frame::Ping { id, next_ms } => sender.ping_received(id, next_ms),
                    Frame::Pong { id } => {
                        if sender.pong_received(id, now) {
                            client.has_room();
                        }
                    }
                    Frame::Skipped { .. } => {}
                    Frame::Attached { .. }
                    | Frame::Credit { .. }
                    | Frame::Detached { .. }
                    | Frame::Reply { .. }
                    | Frame::Error { .. } => client.receive(frame, sender, shared)?,
                    _ => server.receive(frame, body, sender, shared)?,
                }
            }
        }
        self.ack_on_read(end, now);
        Ok(None)
    }

    /// A planted error: the head of a batch has come, and it is acknowledged as if all of it had.
    fn ack_on_read(&mut self, end: &mut End, now: Time) {
        let at = end.peer.framing().prefix_bytes() + PAIR1_WORD.len();
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
