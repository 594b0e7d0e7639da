//! A whole session with two ends: it opens, calls, is cut anywhere, resumes, and closes.
//!
//! The input is a `script`: the next action of either side, and how many bytes of the connection
//! are written, delivered or lost. Both ends are the state machines of `wigwag_sim`; `node` is the
//! application above them, and keeps simple totals of its own. The `invariants` are checked after
//! each step. At the end nothing more is lost, so everything must have arrived.

mod invariants;
mod connection;
mod frame_log;
mod node;
mod application;
mod resume;
mod script;
mod seeds;

use std::time::Duration;

use wigwag_link::opening::resume::{Credentials, Ticket, TicketVerifier};
use wigwag_link::{Identity, LinkError, SendHalf, features};
use wigwag_sim::peer::{Event, Faults, Peer, PeerError, ReceivedBatch, Role, Session};
use wigwag_wire::{ConnectionStateMachine, Time};

pub(crate) use application::{NodeApplication, ReadError};
pub(crate) use connection::{Connection, DIALER, End, LISTENER};
pub(crate) use node::Node;
pub(crate) use script::{Script, SessionProfile};
pub use seeds::seeds;

use crate::fuzz::{Verdict, ensure};

/// The session's id, and the first token. Later tokens are consecutive.
const SESSION: u128 = 77;
const TOKEN: u128 = 1000;

/// The most steps of a script: further steps would only take time.
const STEPS_MAX: usize = 400;

/// The possible steps of the clock.
const MILLISECONDS: [u64; 8] = [1, 5, 10, 100, 1000, 2500, 3000, 20_000];

/// The location of a session.
#[derive(Debug)]
enum SessionLocation {
    /// On a connection.
    Connected(usize),
    /// The session has lost its connection.
    Parked(Box<Session>),
}

/// Two nodes, and the connections between them.
#[derive(Debug)]
struct SessionHarness {
    now: Time,
    profile: SessionProfile,
    /// Planted errors of the listener.
    faults: Faults,
    nodes: [Node; 2],
    locations: [SessionLocation; 2],
    /// All connections so far; the last one is the newest.
    connections: Vec<Connection>,
    credentials: [Credentials; 2],
    tokens: u128,
    /// The epoch of the last claim that the listener has accepted.
    epoch: u64,
    /// The session has ended: a CLOSE was sent or received.
    is_over: bool,
}

/// The action that an event asks for, taken once the event's borrow has ended.
enum FollowUp {
    Nothing,
    Claim,
    Readmit(wigwag_link::opening::resume::Claim, [u8; wigwag_link::opening::resume::PROOF_BYTES]),
    Resume(wigwag_link::opening::Resumed),
    Disconnect,
}

/// Checks a session. The first byte chooses limits, framing and features, the second how the
/// opening is split; each step is a byte, whose upper bit selects the side, followed by its
/// arguments.
pub fn check(input: &[u8]) -> Verdict {
    check_with(Faults::default(), input)
}

/// Checks a session whose listener has planted errors.
pub fn check_with(faults: Faults, input: &[u8]) -> Verdict {
    let mut script = Script::new(input);
    let profile = SessionProfile::read(&mut script);
    let mut world = SessionHarness::open(profile, faults, script.length())?;
    for _ in 0..STEPS_MAX {
        if script.is_over() || world.is_over {
            break;
        }
        let step = script.byte();
        world.step(step, &mut script)?;
        world.check_invariants()?;
    }
    world.finish()
}

/// The identity that an end announces on a connection.
pub(crate) fn identity(profile: &SessionProfile, side: usize, connection: usize) -> Identity {
    let runs = if profile.runs { features::RUNS | features::MIXED_RUNS } else { 0 };
    let offered = features::RESUME | runs | profile.parts_feature();
    let (node, nonce) = (side as u128 + 1, (2 * connection + side) as u128);
    let limits = profile.limits;
    Identity { node, incarnation: 5, nonce, offered, required: 0, limits }
}

/// The listener's role: it keeps sessions whose connection was lost.
pub(crate) const LISTENER_ROLE: Role = Role::Listener { token: TOKEN, ttl_ms: 60_000 };

/// A connection over which a session has opened; its bytes were written in pieces of `piece`.
pub(crate) fn open_connection(
    profile: &SessionProfile,
    faults: Faults,
    piece: usize,
) -> Result<Connection, String> {
    let now = Time::START;
    let roles = [Role::Dialer { session: SESSION }, LISTENER_ROLE];
    let peer = |side: usize| {
        let peer = Peer::new(profile.framing, identity(profile, side, 0), roles[side], now);
        peer.with_calls_max(profile.calls_max)
    };
    let mut connection = Connection::new([peer(DIALER), peer(LISTENER).with_faults(faults)], now);
    let mut opened = [false; 2];
    for _ in 0..1000 {
        for from in [DIALER, LISTENER] {
            connection.write(from, piece, now);
            connection.deliver(from, piece, now);
            let end = &mut connection.ends[1 - from];
            match end.peer.receive(&mut end.input, now).map_err(|error| error.to_string())? {
                Some(Event::Opened(other)) => {
                    opened[1 - from] = other.session == SESSION && other.token == TOKEN;
                }
                Some(other) => return Err(format!("{other:?} at an opening")),
                None => {}
            }
        }
        if opened == [true; 2] {
            return Ok(connection);
        }
    }
    Err(format!("the session does not open: {opened:?}"))
}

impl SessionHarness {
    fn open(
        profile: SessionProfile,
        faults: Faults,
        piece: usize,
    ) -> Result<SessionHarness, String> {
        let connection = open_connection(&profile, faults, piece)?;
        let node = || Node::new(profile.limits);
        Ok(SessionHarness {
            now: Time::START,
            profile,
            faults,
            nodes: [node(), node()],
            locations: [SessionLocation::Connected(0), SessionLocation::Connected(0)],
            connections: vec![connection],
            credentials: [
                Credentials::Dialer(Ticket::new(SESSION, TOKEN)),
                Credentials::Listener(TicketVerifier::new(TOKEN)),
            ],
            tokens: TOKEN,
            epoch: 0,
            is_over: false,
        })
    }

    /// Takes one step of the script.
    fn step(&mut self, step: u8, script: &mut Script<'_>) -> Verdict {
        let side = usize::from(step >> 7);
        // The newest connection or the one before it.
        let connection = self.connections.len().saturating_sub(1 + usize::from(step >> 6 & 1));
        match step & 0x3F {
            0..=25 => self.perform(side, step & 0x3F, script)?,
            26..=33 => self.connections[connection].write(side, script.length(), self.now),
            34..=43 => {
                let most = script.length();
                self.deliver(connection, side, most, usize::MAX)?;
            }
            44..=45 => {
                let (most, steps) = (script.length(), script.below(8));
                self.deliver(connection, side, most, steps)?;
            }
            46..=49 => {
                for connection in 0..self.connections.len() {
                    self.exchange(connection)?;
                }
            }
            50..=51 => self.advance_clock(MILLISECONDS[script.below(MILLISECONDS.len())])?,
            52..=53 => {
                let kept = script.length();
                self.connections[connection].drop_in_flight(side, kept);
                self.connection_lost(connection, side)?;
            }
            54..=56 => {
                for side in [side, 1 - side] {
                    let kept = script.length();
                    self.connections[connection].drop_in_flight(side, kept);
                    self.connection_lost(connection, side)?;
                }
            }
            57..=61 => self.connect()?,
            _ => self.handle_all_calls()?,
        }
        Ok(())
    }

    /// Performs an action of one of the nodes.
    fn perform(&mut self, side: usize, what: u8, script: &mut Script<'_>) -> Verdict {
        let profile = self.profile;
        let (node, sender) = self.node_and_sender(side)?;
        let size = |script: &mut Script<'_>| usize::from(script.byte()) * profile.scale;
        match what {
            0..=3 => node.attach(sender)?,
            4..=8 => node.call(sender, (script.below(4), size(script)), false)?,
            9..=13 => node.call(sender, (script.below(4), size(script)), true)?,
            14..=16 => {
                node.turn(sender, (script.below(4), script.below(256)), profile.runs)?;
            }
            17..=20 => {
                let (which, most) = (script.below(4), script.below(16));
                node.handle(sender, which, most, size(script));
            }
            21 => node.cancel(sender, script.below(8)),
            22 => node.detach(sender, script.below(4)),
            23 => node.stop(sender, script.below(4)),
            24 => node.drain(sender),
            _ if script.byte() == 0xC5 => node.close(sender),
            _ => {}
        }
        Ok(())
    }

    /// A node and the sending half of its session, connected or not.
    fn node_and_sender(&mut self, side: usize) -> Result<(&mut Node, &mut SendHalf), String> {
        let sender = match &mut self.locations[side] {
            SessionLocation::Connected(connection) => {
                self.connections[*connection].ends[side].peer.sender()
            }
            SessionLocation::Parked(session) => Some(&mut session.sender),
        };
        let sender = sender.ok_or_else(|| format!("node {side} has lost its session"))?;
        Ok((&mut self.nodes[side], sender))
    }

    /// Advances the clock; a side whose peer was silent for too long gives up the connection.
    fn advance_clock(&mut self, milliseconds: u64) -> Verdict {
        self.now = self.now + Duration::from_millis(milliseconds);
        for connection in 0..self.connections.len() {
            for side in [DIALER, LISTENER] {
                let end = &mut self.connections[connection].ends[side];
                let Err(error) = end.tick(self.now) else { continue };
                let silent = self.now.since(end.received);
                let interval = Duration::from_millis(self.profile.limits.heartbeat_ms);
                let may_end = error == PeerError::OpeningTimeout || silent >= 3 * interval;
                ensure(may_end, || format!("{error} after {silent:?}"))?;
                self.connection_lost(connection, side)?;
            }
        }
        Ok(())
    }

    /// Delivers bytes of `from` to the other end, which reads them.
    fn deliver(&mut self, connection: usize, from: usize, most: usize, steps: usize) -> Verdict {
        if !self.connections[connection].deliver(from, most, self.now) {
            return Ok(());
        }
        let side = 1 - from;
        while !self.connections[connection].ends[side].is_closed && !self.is_over {
            let Some(next) = self.receive(connection, side, steps)? else {
                return Ok(());
            };
            match next {
                FollowUp::Nothing => {}
                FollowUp::Claim => self.claim(connection)?,
                FollowUp::Readmit(claim, proof) => self.readmit(connection, &claim, &proof)?,
                FollowUp::Resume(resumed) => self.resume_accepted(connection, resumed)?,
                FollowUp::Disconnect => self.connection_lost(connection, side)?,
            }
        }
        Ok(())
    }

    /// Handles the bytes that an end has received, up to the next event.
    fn receive(
        &mut self,
        connection: usize,
        side: usize,
        steps: usize,
    ) -> Result<Option<FollowUp>, String> {
        let SessionHarness { now, nodes, connections, credentials, is_over, .. } = self;
        let [dialer, listener] = nodes;
        let (node, other) = match side {
            DIALER => (dialer, listener),
            _ => (listener, dialer),
        };
        let end = &mut connections[connection].ends[side];
        let event = end.peer.receive(&mut end.input, *now).map_err(|error| error.to_string())?;
        Ok(Some(match event {
            None => return Ok(None),
            Some(Event::Batch(ReceivedBatch { dispatcher, sender, message })) => {
                let mut reading = NodeApplication::new(node, sender, Some(&other.published), steps);
                let read = dispatcher.receive(message, *now, &mut reading);
                if reading.is_confirmed {
                    credentials[side].confirm();
                }
                match read {
                    Ok(()) => FollowUp::Nothing,
                    Err(ReadError::Stopped) => FollowUp::Disconnect,
                    Err(ReadError::Protocol(LinkError::ClosedByPeer { .. })) => {
                        node.close_received = true;
                        let (published, received) = (other.published.next_seq(), node.received.seq);
                        ensure(published == received || other.is_closing, || "CLOSE".to_owned())?;
                        *is_over = true;
                        FollowUp::Nothing
                    }
                    Err(broken) => return Err(format!("node {side}: {broken:?}")),
                }
            }
            Some(Event::PeerKnown) => FollowUp::Claim,
            Some(Event::ResumeRequested(claim, proof)) => FollowUp::Readmit(claim, proof),
            Some(Event::Resumed(resumed)) => FollowUp::Resume(resumed),
            Some(Event::Opened(_)) => return Err("a session opens a second time".to_owned()),
        }))
    }

    /// Writes and delivers all output of both sides.
    fn exchange(&mut self, connection: usize) -> Verdict {
        for side in [DIALER, LISTENER] {
            self.connections[connection].write(side, usize::MAX, self.now);
            self.deliver(connection, side, usize::MAX, usize::MAX)?;
        }
        Ok(())
    }

    /// Lets the actors of both nodes handle all calls.
    fn handle_all_calls(&mut self) -> Verdict {
        for side in [DIALER, LISTENER] {
            let (node, sender) = self.node_and_sender(side)?;
            node.handle_all_calls(sender);
        }
        Ok(())
    }
}
