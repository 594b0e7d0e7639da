//! Turns the wheel: picks what is due next, lets it happen, looks at what must hold.
//!
//! Up to three pairs of nodes hold a session each. Their connections break as the weather wants it,
//! and then there is quiet: every session goes on until all is done, or ends on both sides with a
//! fate for each call.

use wigwag_link::{Code, LinkError};
use wigwag_wire::{ConnectionStateMachine, Time};

use crate::check::{Oracle, Totals, Violation, must};
use crate::client::{Client, Fates};
use crate::clock::{Clock, micros};
use crate::peer::{PeerError, Role};
use crate::random::Random;
use crate::server::Server;
use crate::setup::{Mutant, Setup, Side};
use crate::trace::Trace;

mod connection;
mod node;
mod build;
mod resuming;
mod judge;

use connection::Connection;
use node::{Ending, Heard, Node};

/// Which world, and what to keep of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// The number from which all follows.
    pub seed: u64,
    /// An error to plant.
    pub mutant: Option<Mutant>,
    /// Keep the story, not only its hash.
    pub record: bool,
}

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Calls over both directions.
    pub totals: Totals,
    /// Connections that took a session up again.
    pub resumes: u64,
    /// Sessions that ended early, and what each side says of its calls.
    pub fates: Vec<[Fates; 2]>,
}

/// A run and its story.
#[derive(Debug)]
pub struct Run {
    /// What it came to, or the promise that was broken.
    pub outcome: Result<Report, Violation>,
    /// What happened.
    pub trace: Trace,
}

/// What everybody in the world uses.
#[derive(Debug)]
pub struct Shared {
    /// Chance.
    pub random: Random,
    /// The model.
    pub oracle: Oracle,
    trace: Trace,
    clock: Clock,
}

impl Shared {
    /// Adds an event to the story.
    pub fn note(&mut self, side: Side, what: &'static str, first: u64, second: u64) {
        self.trace.note(self.clock.now(), side, what, first, second);
    }
}

/// What can be due. The first number of each is a connection, or a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    /// A chunk that this side has written arrives at the other.
    Arrive(usize, Side),
    Tick(usize, Side),
    ClientTurn(usize, Side),
    ServerTurn(usize, Side),
    /// This side notices the cut.
    Notice(usize, Side),
    /// The dialer tries to come back.
    Redial(usize),
    /// The session was kept for long enough.
    Expire(usize, Side),
    /// The nodes of this side die and come back.
    Restart(Side),
}

struct World {
    shared: Shared,
    setup: Setup,
    pairs: Vec<[Node; 2]>,
    lines: Vec<Connection>,
    resumes: u64,
    /// Ends that have lost their connection.
    cuts: u64,
}

/// More events than any seed needs; a story that is longer goes in circles. A megabyte that goes byte
/// by byte has two million.
const EVENTS_MAX: u64 = 20_000_000;

/// After so long everything must have ended. Some wires carry a kilobyte a second.
const STORY_MAX: Time = Time::from_nanos(4_000_000_000_000);

/// What goes on when all is done: the last acks, and signs of life for longer than anybody's silence is
/// borne, 17 s. So a connection that had gone dead before is found out, and another one is made.
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
            self.go_on(|world| world.is_done())?;
            // Who stands still has not read yet what the other side has said last.
            let quiet = self.setup.weather.quiet(self.shared.clock.now());
            let (end, cuts) = (quiet + micros(LINGER_US), self.cuts);
            self.go_on(|world| world.shared.clock.now() >= end || world.is_over())?;
            if self.cuts == cuts {
                break cuts;
            }
        };
        let mut fates = Vec::new();
        for pair in 0..self.pairs.len() {
            if self.pairs[pair].iter().any(|node| node.over) {
                fates.push(self.judge_ended(pair)?);
            } else {
                self.judge_whole(pair)?;
                self.say_goodbye(pair, cuts)?;
            }
        }
        Ok(Report { totals: self.shared.oracle.totals(), resumes: self.resumes, fates })
    }

    /// Ends a session in good order, unless something was cut since there were `cuts`.
    fn say_goodbye(&mut self, pair: usize, cuts: u64) -> Result<(), Violation> {
        let first = self.shared.random.pick(&Side::BOTH);
        let World { pairs, lines, .. } = self;
        if let Some(sender) = pairs[pair][first as usize].place.sender(lines) {
            sender.close(Code::BYE, "");
        }
        self.flush_all();
        let other = first.other() as usize;
        self.go_on(move |world| world.pairs[pair][other].over || world.cuts > cuts)?;
        let heard = self.pairs[pair][other].said_goodbye || self.cuts > cuts;
        must(heard, "a goodbye arrives", || format!("{first:?} said it"))
    }

    /// Lets things happen until `is_enough`.
    fn go_on(&mut self, is_enough: impl Fn(&mut World) -> bool) -> Result<(), Violation> {
        while !is_enough(self) {
            let Some((at, action)) = self.next() else {
                let left = self.left();
                return must(left.is_empty(), "everything ends", || left);
            };
            self.shared.clock.advance_to(at);
            must(at < STORY_MAX, "everything ends in time", || self.left())?;
            self.act(action)?;
            self.flush_all();
            self.check()?;
            let events = self.shared.trace.events();
            must(events < EVENTS_MAX, "every story ends", || format!("{events} events"))?;
        }
        Ok(())
    }

    /// What is due next. Among those due at once the order of `Action` decides.
    fn next(&mut self) -> Option<(Time, Action)> {
        for pair in 0..self.pairs.len() {
            Side::BOTH.into_iter().for_each(|side| self.schedule(pair, side));
        }
        let mut next: Option<(Time, Action)> = None;
        let mut due = |time: Option<Time>, side: Side, action: Action| {
            let Some(time) = time else { return };
            let candidate = (self.setup.weather.awake(side, time), action);
            next = Some(next.map_or(candidate, |old| old.min(candidate)));
        };
        for (at, line) in self.lines.iter().enumerate().filter(|(_, line)| !line.is_silent()) {
            for side in Side::BOTH {
                let end = &line.ends[side as usize];
                let arrival = line.wires[side as usize].next_due();
                due(arrival, side.other(), Action::Arrive(at, side));
                if !end.over {
                    due(end.peer.deadline(), side, Action::Tick(at, side));
                    due(end.notice, side, Action::Notice(at, side));
                }
            }
        }
        for (at, pair) in self.pairs.iter().enumerate() {
            due(pair[0].redial, Side::Dialer, Action::Redial(at));
            for side in Side::BOTH {
                let node = &pair[side as usize];
                due(node.client_turn, side, Action::ClientTurn(at, side));
                due(node.server_turn, side, Action::ServerTurn(at, side));
                due(node.expires, side, Action::Expire(at, side));
            }
        }
        if let Some((side, time)) = self.setup.weather.restart {
            due(Some(time), side, Action::Restart(side));
        }
        next
    }

    /// Plans the next turn of whoever has work.
    fn schedule(&mut self, pair: usize, side: Side) {
        let node = &mut self.pairs[pair][side as usize];
        let now = self.shared.clock.now();
        let may_call = !node.over && node.client.as_ref().is_some_and(Client::has_work);
        if !may_call {
            node.client_turn = None;
        } else if node.client_turn.is_none() {
            let pause = self.shared.random.between(1, node.habits.sender_pause_us);
            node.client_turn = Some(now + micros(pause));
        }
        if !node.server.has_work() {
            node.server_turn = None;
        } else if node.server_turn.is_none() {
            let pause = self.shared.random.between(1, node.habits.actor_pause_us);
            node.server_turn = Some(now + micros(pause));
        }
    }

    fn act(&mut self, action: Action) -> Result<(), Violation> {
        let now = self.shared.clock.now();
        match action {
            Action::Arrive(at, from) => self.arrive(at, from),
            Action::Tick(at, side) => {
                self.shared.note(side, "tick", at as u64, 0);
                let outcome = self.lines[at].ends[side as usize].peer.tick(now);
                self.ended(at, side, outcome.map_err(Ending::Peer))
            }
            Action::ClientTurn(pair, side) => {
                let World { pairs, lines, shared, .. } = self;
                let Node { client, client_turn, place, .. } = &mut pairs[pair][side as usize];
                *client_turn = None;
                match (client, place.sender(lines)) {
                    (Some(client), Some(sender)) => client.turn(sender, shared),
                    _ => Ok(()),
                }
            }
            Action::ServerTurn(pair, side) => {
                let World { pairs, lines, shared, .. } = self;
                let Node { server, server_turn, place, over, .. } = &mut pairs[pair][side as usize];
                *server_turn = None;
                server.turn(place.sender(lines).filter(|_| !*over), shared)
            }
            Action::Notice(at, side) => {
                self.shared.note(side, "cut noticed", at as u64, 0);
                self.lost(at, side);
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

    fn arrive(&mut self, at: usize, from: Side) -> Result<(), Violation> {
        let now = self.shared.clock.now();
        let line = &mut self.lines[at];
        let Some(bytes) = line.wires[from as usize].deliver(now) else {
            return Ok(());
        };
        let side = from.other();
        self.shared.note(side, "bytes arrive", at as u64, bytes.len() as u64);
        let end = &mut line.ends[side as usize];
        if end.over {
            return self.arrive_late(at, side, &bytes);
        }
        end.input.fill(&bytes);
        self.read(at, side)
    }

    /// Reads what has come to an end.
    fn read(&mut self, at: usize, side: Side) -> Result<(), Violation> {
        loop {
            let World { pairs, lines, shared, .. } = self;
            let line = &mut lines[at];
            let node = &mut pairs[line.pair][side as usize];
            let end = &mut line.ends[side as usize];
            let was_open = node.client.is_some();
            let outcome = node.read(end, shared);
            if !was_open && node.client.is_some() {
                node.place.carried = Some(at);
            }
            match outcome {
                Ok(Some(heard)) => self.hear(at, heard)?,
                Ok(None) => return Ok(()),
                Err(ending) => return self.ended(at, side, Err(ending)),
            }
            if self.lines[at].ends[side as usize].over {
                return Ok(());
            }
        }
    }

    fn hear(&mut self, at: usize, heard: Heard) -> Result<(), Violation> {
        match heard {
            Heard::Known => {
                self.claim(at);
                Ok(())
            }
            Heard::Resumed(resumed) => self.resumed(at, resumed),
            Heard::Claimed(claim, proof) => match self.check_claim(&claim, &proof) {
                Ok((pair, fresh)) => self.let_in(at, pair, &claim, fresh),
                Err(error) => {
                    self.shared.note(Side::Listener, "refused", at as u64, claim.epoch);
                    self.lines[at].ends[1].peer.fail(&PeerError::Link(error));
                    self.flush_all();
                    let World { lines, shared, .. } = self;
                    lines[at].let_go(Side::Listener, shared.clock.now(), &mut shared.random);
                    Ok(())
                }
            },
        }
    }

    /// What an end came to. Peers that accuse each other are a broken promise, because both are
    /// honest; a silent one may be behind a broken wire.
    fn ended(
        &mut self,
        at: usize,
        side: Side,
        outcome: Result<(), Ending>,
    ) -> Result<(), Violation> {
        let pair = self.lines[at].pair;
        let error = match outcome {
            Ok(()) => return Ok(()),
            Err(Ending::Violation(violation)) => return Err(violation),
            Err(Ending::Peer(error)) => error,
        };
        match &error {
            PeerError::Late | PeerError::Link(LinkError::Silent) => {
                self.shared.note(side, "silence", at as u64, 0);
                self.lost(at, side);
                Ok(())
            }
            PeerError::Link(LinkError::ClosedByPeer { code: Code::BYE, .. }) => {
                self.pairs[pair][side as usize].said_goodbye = true;
                self.end_session(pair, side);
                Ok(())
            }
            PeerError::Link(LinkError::ClosedByPeer { code, .. })
                if [Code::SESSION_UNKNOWN, Code::TOKEN_BAD].contains(code) =>
            {
                self.turned_away(at, *code)
            }
            _ => {
                self.lines[at].ends[side as usize].peer.fail(&error);
                Err(Violation::new("honest peers have nothing to say against each other", error))
            }
        }
    }

    fn flush_all(&mut self) {
        let World { lines, shared, setup, .. } = self;
        let now = shared.clock.now();
        for (at, line) in lines.iter_mut().enumerate() {
            for side in Side::BOTH {
                if line.ends[side as usize].over || setup.weather.awake(side, now) > now {
                    continue;
                }
                for length in line.flush(side, now, &mut shared.random) {
                    shared.note(side, "bytes written", at as u64, length);
                }
            }
        }
    }
}
