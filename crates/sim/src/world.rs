//! The event loop: picks the next action that is due, performs it, and checks the invariants.
//!
//! Up to three pairs of nodes have one session each. Their connections break as the setup says, and
//! later ones hold: every session continues until all work is done, or ends on both sides with an
//! outcome for each call.

use wigwag_link::{Code, LinkError};
use wigwag_wire::{ConnectionStateMachine, Time};

use crate::application::client::{Client, DeliveryCounts};
use crate::application::server::Server;
use crate::check::{Oracle, Totals, Violation, must};
use crate::clock::{Clock, micros};
use crate::peer::{PeerError, Role};
use crate::random::Random;
use crate::setup::{Mutant, Setup, Side};
use crate::shared::Shared;
use crate::trace::Trace;

mod connection;
mod node;
mod build;
mod resume;
mod invariants;

use connection::Connection;
use node::{HandshakeEvent, Node, ReadError};

/// The options of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The seed, from which all events follow.
    pub seed: u64,
    /// The error to plant, if any.
    pub mutant: Option<Mutant>,
    /// Whether to keep the lines of the trace, and not only its hash.
    pub record: bool,
}

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The calls of both directions.
    pub totals: Totals,
    /// The number of connections on which a session was resumed.
    pub resumes: u64,
    /// The sessions that ended early, with the outcomes of the calls as each side reports them.
    pub ended_sessions: Vec<[DeliveryCounts; 2]>,
}

/// The result of a run and its trace.
#[derive(Debug)]
pub struct Run {
    /// The report, or the promise that was broken.
    pub outcome: Result<Report, Violation>,
    /// The events of the run.
    pub trace: Trace,
}

/// Actions that can be due. The first number of each is a connection, or a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    /// A chunk that this side has written arrives at the other side.
    Deliver(usize, Side),
    Tick(usize, Side),
    ClientTurn(usize, Side),
    ServerTurn(usize, Side),
    /// This side notices the cut.
    NoticeCut(usize, Side),
    /// The dialer redials.
    Redial(usize),
    /// The time for which the session is kept is over.
    Expire(usize, Side),
    /// The nodes of this side die and restart.
    Restart(Side),
}

struct World {
    shared: Shared,
    setup: Setup,
    pairs: Vec<[Node; 2]>,
    connections: Vec<Connection>,
    resumes: u64,
    /// Ends that have lost their connection.
    cuts: u64,
}

/// More events than any seed needs; a longer run is in a loop. A megabyte that is sent byte by byte
/// takes two million.
const EVENTS_MAX: u64 = 20_000_000;

/// The simulated time after which all sessions must have ended. Some wires carry a kilobyte a
/// second.
const RUN_TIME_MAX: Time = Time::from_nanos(4_000_000_000_000);

/// The simulated time to run after all work is done: for the last acks, and longer than the longest
/// tolerated silence, 17 s, so that a connection that had gone dead before is noticed and replaced.
const LINGER_US: u64 = 20_000_000;

/// Runs the world of `options` to its end.
pub fn run(options: &Options) -> Run {
    let mut world = World::new(options);
    let outcome = world.run();
    Run { outcome, trace: world.shared.trace }
}

impl World {
    fn run(&mut self) -> Result<Report, Violation> {
        for pair in 0..self.pairs.len() {
            self.open(pair);
        }
        self.flush_all();
        let cuts = loop {
            self.run_until(|world| world.all_done())?;
            // A suspended node has not yet read the last data of its peer.
            let quiet = self.setup.fault_plan.quiet_after(self.shared.clock.now());
            let (end, cuts) = (quiet + micros(LINGER_US), self.cuts);
            self.run_until(|world| world.shared.clock.now() >= end || world.all_ended())?;
            if self.cuts == cuts {
                break cuts;
            }
        };
        let mut ended_sessions = Vec::new();
        for pair in 0..self.pairs.len() {
            if self.pairs[pair].iter().any(|node| node.has_ended) {
                ended_sessions.push(self.check_ended(pair)?);
            } else {
                self.check_completed(pair)?;
                self.close_session(pair, cuts)?;
            }
        }
        Ok(Report { totals: self.shared.oracle.totals(), resumes: self.resumes, ended_sessions })
    }

    /// Closes a session in good order, unless a connection was cut since there were `cuts` cuts.
    fn close_session(&mut self, pair: usize, cuts: u64) -> Result<(), Violation> {
        let first = self.shared.random.pick(&Side::BOTH);
        let World { pairs, connections, .. } = self;
        if let Some(sender) = pairs[pair][first as usize].location.sender(connections) {
            sender.close(Code::BYE, "");
        }
        self.flush_all();
        let other = first.other() as usize;
        self.run_until(move |world| world.pairs[pair][other].has_ended || world.cuts > cuts)?;
        let heard = self.pairs[pair][other].close_received || self.cuts > cuts;
        must(heard, "a goodbye arrives", || format!("{first:?} said it"))
    }

    /// Performs actions until `is_enough` returns true.
    fn run_until(&mut self, is_enough: impl Fn(&mut World) -> bool) -> Result<(), Violation> {
        while !is_enough(self) {
            let Some((at, action)) = self.next_action() else {
                let left = self.unfinished();
                return must(left.is_empty(), "everything ends", || left);
            };
            self.shared.clock.advance_to(at);
            must(at < RUN_TIME_MAX, "everything ends in time", || self.unfinished())?;
            self.perform(action)?;
            self.flush_all();
            self.check_invariants()?;
            let events = self.shared.trace.events();
            must(events < EVENTS_MAX, "every story ends", || format!("{events} events"))?;
        }
        Ok(())
    }

    /// Returns the next action that is due. Among actions due at the same time the order of
    /// `Action` decides.
    fn next_action(&mut self) -> Option<(Time, Action)> {
        for pair in 0..self.pairs.len() {
            Side::BOTH.into_iter().for_each(|side| self.schedule(pair, side));
        }
        let mut next: Option<(Time, Action)> = None;
        let mut due = |time: Option<Time>, side: Side, action: Action| {
            let Some(time) = time else { return };
            let candidate = (self.setup.fault_plan.awake_after(side, time), action);
            next = Some(next.map_or(candidate, |old| old.min(candidate)));
        };
        for (at, connection) in
            self.connections.iter().enumerate().filter(|(_, connection)| !connection.is_drained())
        {
            for side in Side::BOTH {
                let end = &connection.ends[side as usize];
                let arrival = connection.wires[side as usize].next_due();
                due(arrival, side.other(), Action::Deliver(at, side));
                if !end.is_closed {
                    due(end.peer.deadline(), side, Action::Tick(at, side));
                    due(end.notice_at, side, Action::NoticeCut(at, side));
                }
            }
        }
        for (at, pair) in self.pairs.iter().enumerate() {
            due(pair[0].redial_at, Side::Dialer, Action::Redial(at));
            for side in Side::BOTH {
                let node = &pair[side as usize];
                due(node.client_turn, side, Action::ClientTurn(at, side));
                due(node.server_turn, side, Action::ServerTurn(at, side));
                due(node.expires_at, side, Action::Expire(at, side));
            }
        }
        if let Some((side, time)) = self.setup.fault_plan.restart {
            due(Some(time), side, Action::Restart(side));
        }
        next
    }

    /// Plans the next turn of each node that has work.
    fn schedule(&mut self, pair: usize, side: Side) {
        let node = &mut self.pairs[pair][side as usize];
        let now = self.shared.clock.now();
        let may_call = !node.has_ended && node.client.as_ref().is_some_and(Client::has_work);
        if !may_call {
            node.client_turn = None;
        } else if node.client_turn.is_none() {
            let pause = self.shared.random.between(1, node.workload.sender_pause_us);
            node.client_turn = Some(now + micros(pause));
        }
        if !node.server.has_work() {
            node.server_turn = None;
        } else if node.server_turn.is_none() {
            let pause = self.shared.random.between(1, node.workload.actor_pause_us);
            node.server_turn = Some(now + micros(pause));
        }
    }

    fn perform(&mut self, action: Action) -> Result<(), Violation> {
        let now = self.shared.clock.now();
        match action {
            Action::Deliver(at, from) => self.deliver(at, from),
            Action::Tick(at, side) => {
                self.shared.note(side, "tick", at as u64, 0);
                let outcome = self.connections[at].ends[side as usize].peer.tick(now);
                self.handle_outcome(at, side, outcome.map_err(ReadError::Peer))
            }
            Action::ClientTurn(pair, side) => {
                let World { pairs, connections, shared, .. } = self;
                let Node { client, client_turn, location, .. } = &mut pairs[pair][side as usize];
                *client_turn = None;
                match (client, location.sender(connections)) {
                    (Some(client), Some(sender)) => client.turn(sender, shared),
                    _ => Ok(()),
                }
            }
            Action::ServerTurn(pair, side) => {
                let World { pairs, connections, shared, .. } = self;
                let Node { server, server_turn, location, has_ended, .. } =
                    &mut pairs[pair][side as usize];
                *server_turn = None;
                server.turn(location.sender(connections).filter(|_| !*has_ended), shared)
            }
            Action::NoticeCut(at, side) => {
                self.shared.note(side, "cut noticed", at as u64, 0);
                self.connection_lost(at, side);
                Ok(())
            }
            Action::Redial(pair) => {
                self.redial(pair);
                Ok(())
            }
            Action::Expire(pair, side) => {
                self.shared.note(side, "given up", pair as u64, 0);
                self.end_session(pair, side);
                Ok(())
            }
            Action::Restart(side) => {
                self.restart(side);
                Ok(())
            }
        }
    }

    fn deliver(&mut self, at: usize, from: Side) -> Result<(), Violation> {
        let now = self.shared.clock.now();
        let connection = &mut self.connections[at];
        let Some(bytes) = connection.wires[from as usize].deliver(now) else {
            return Ok(());
        };
        let side = from.other();
        self.shared.note(side, "bytes arrive", at as u64, bytes.len() as u64);
        let end = &mut connection.ends[side as usize];
        if end.is_closed {
            return self.deliver_late(at, side, &bytes);
        }
        end.input.fill(&bytes);
        self.read(at, side)
    }

    /// Reads the bytes that an end has received.
    fn read(&mut self, at: usize, side: Side) -> Result<(), Violation> {
        loop {
            let World { pairs, connections, shared, .. } = self;
            let connection = &mut connections[at];
            let node = &mut pairs[connection.pair][side as usize];
            let end = &mut connection.ends[side as usize];
            let was_open = node.client.is_some();
            let outcome = node.read(end, shared);
            if !was_open && node.client.is_some() {
                node.location.connection = Some(at);
            }
            match outcome {
                Ok(Some(heard)) => self.handle_handshake(at, heard)?,
                Ok(None) => return Ok(()),
                Err(ending) => return self.handle_outcome(at, side, Err(ending)),
            }
            if self.connections[at].ends[side as usize].is_closed {
                return Ok(());
            }
        }
    }

    fn handle_handshake(&mut self, at: usize, heard: HandshakeEvent) -> Result<(), Violation> {
        match heard {
            HandshakeEvent::PeerKnown => {
                self.claim(at);
                Ok(())
            }
            HandshakeEvent::Resumed(resumed) => self.resumed(at, resumed),
            HandshakeEvent::ResumeRequested(claim, proof) => {
                match self.verify_claim(&claim, &proof) {
                    Ok((pair, fresh)) => self.readmit(at, pair, &claim, fresh),
                    Err(error) => {
                        self.shared.note(Side::Listener, "refused", at as u64, claim.epoch);
                        self.connections[at].ends[1].peer.fail(&PeerError::Link(error));
                        self.flush_all();
                        let World { connections, shared, .. } = self;
                        connections[at].close_end(
                            Side::Listener,
                            shared.clock.now(),
                            &mut shared.random,
                        );
                        Ok(())
                    }
                }
            }
        }
    }

    /// Handles the end of a connection. Peers that accuse each other break a promise, because both
    /// are honest; a silent peer may be behind a broken wire.
    fn handle_outcome(
        &mut self,
        at: usize,
        side: Side,
        outcome: Result<(), ReadError>,
    ) -> Result<(), Violation> {
        let pair = self.connections[at].pair;
        let error = match outcome {
            Ok(()) => return Ok(()),
            Err(ReadError::Violation(violation)) => return Err(violation),
            Err(ReadError::Peer(error)) => error,
        };
        match &error {
            PeerError::OpeningTimeout | PeerError::Link(LinkError::Silent) => {
                self.shared.note(side, "silence", at as u64, 0);
                self.connection_lost(at, side);
                Ok(())
            }
            PeerError::Link(LinkError::ClosedByPeer { code: Code::BYE, .. }) => {
                self.pairs[pair][side as usize].close_received = true;
                self.end_session(pair, side);
                Ok(())
            }
            PeerError::Link(LinkError::ClosedByPeer { code, .. })
                if [Code::SESSION_UNKNOWN, Code::TOKEN_BAD].contains(code) =>
            {
                self.resume_refused(at, *code)
            }
            _ => {
                self.connections[at].ends[side as usize].peer.fail(&error);
                Err(Violation::new("honest peers have nothing to say against each other", error))
            }
        }
    }

    fn flush_all(&mut self) {
        let World { connections, shared, setup, .. } = self;
        let now = shared.clock.now();
        for (at, connection) in connections.iter_mut().enumerate() {
            for side in Side::BOTH {
                if connection.ends[side as usize].is_closed
                    || setup.fault_plan.awake_after(side, now) > now
                {
                    continue;
                }
                for length in connection.flush(side, now, &mut shared.random) {
                    shared.note(side, "bytes written", at as u64, length);
                }
            }
        }
    }
}
