//! Turns the wheel: whatever is due next happens, and afterwards everything is checked.
//!
//! The world goes on until nothing is due. If nothing was broken, all that was sent must have
//! arrived then, one side says goodbye, and the other must hear it. If a wire was broken, both sides
//! say what became of their calls, and the model compares.

use wigwag_link::{Code, LinkError};
use wigwag_wire::{Batch, Machine, ReadBuf, Time};

use crate::check::{Oracle, Totals, Violation, must};
use crate::client::{Client, Fates};
use crate::clock::{Clock, micros};
use crate::network::Wire;
use crate::peer::{Peer, PeerError, Role};
use crate::random::Random;
use crate::server::Server;
use crate::setup::{Mutant, Setup, Side};
use crate::trace::Trace;

mod node;
mod judge;

use node::{Ending, Node};

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Calls over both directions.
    pub totals: Totals,
    /// The session was open at some time.
    pub opened: bool,
    /// A wire broke, and this is what each side says of its calls.
    pub fates: Option<[Fates; 2]>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    /// A chunk that this side has written arrives at the other.
    Arrive(Side),
    Tick(Side),
    ClientTurn(Side),
    ServerTurn(Side),
    /// This side notices the cut.
    Notice(Side),
}

struct World {
    shared: Shared,
    nodes: [Node; 2],
    /// Each named after the side that writes.
    wires: [Wire; 2],
    is_broken: bool,
    notices: [Option<Time>; 2],
    was_cut: bool,
}

/// More events than any seed needs; a story that is longer goes in circles.
const EVENTS_MAX: u64 = 2_000_000;

/// Runs the world of `options` to its end.
pub fn run(options: &Options) -> Run {
    let mut world = World::new(options);
    let outcome = world.run();
    Run { outcome, trace: world.shared.trace }
}

impl World {
    fn new(options: &Options) -> World {
        let mut random = Random::new(options.seed);
        let setup = Setup::draw(&mut random, options.mutant);
        let roles = [
            Role::Dialer { session: random.draw_u128() },
            Role::Listener { token: random.draw_u128() },
        ];
        // A planted error of a node's is one side's doing; the network's lies in its wires.
        let guilty = random.pick(&Side::BOTH);
        let nodes = Side::BOTH.map(|side| {
            let at = side as usize;
            let (identity, habits) = (setup.identities[at], setup.habits[at]);
            let mutant = options.mutant.filter(|_| side == guilty);
            let peer = Peer::new(setup.framing, identity, roles[at], Time::START);
            let lies = u64::from(mutant == Some(Mutant::AckUnaccepted));
            Node {
                side,
                habits,
                peer: peer.with_acks_ahead(lies),
                input: ReadBuf::new(),
                batch: Batch::new(),
                client: None,
                server: Server::new(side, habits, identity.limits, mutant, random.below(10)),
                client_turn: None,
                server_turn: None,
                over: false,
                said_goodbye: false,
            }
        });
        let shared = Shared {
            random,
            oracle: Oracle::default(),
            trace: Trace::new(options.record),
            clock: Clock::default(),
        };
        let is_broken = setup.is_broken;
        World { shared, nodes, wires: setup.wires, is_broken, notices: [None; 2], was_cut: false }
    }

    fn run(&mut self) -> Result<Report, Violation> {
        Side::BOTH.into_iter().for_each(|side| self.flush(side));
        self.until_quiet()?;
        if self.is_broken {
            return self.judge_broken();
        }
        self.judge_whole()?;
        let first = self.shared.random.pick(&Side::BOTH);
        if let Some(sender) = self.nodes[first as usize].peer.sender() {
            sender.close(Code::BYE, "");
        }
        self.flush(first);
        self.until_quiet()?;
        let heard = self.nodes[first.other() as usize].said_goodbye;
        must(heard, "a goodbye arrives", || format!("{first:?} said it"))?;
        self.report(None)
    }

    fn until_quiet(&mut self) -> Result<(), Violation> {
        while let Some((at, action)) = self.next() {
            self.shared.clock.advance_to(at);
            self.act(action)?;
            Side::BOTH.into_iter().for_each(|side| self.flush(side));
            self.check()?;
            let events = self.shared.trace.events();
            must(events < EVENTS_MAX, "every story ends", || format!("{events} events"))?;
        }
        Ok(())
    }

    /// What is due next. Among those due at once the order of `Action` decides.
    fn next(&mut self) -> Option<(Time, Action)> {
        Side::BOTH.into_iter().for_each(|side| self.schedule(side));
        let mut next: Option<(Time, Action)> = None;
        for side in Side::BOTH {
            let node = &self.nodes[side as usize];
            let deadline = if node.over { None } else { node.peer.deadline() };
            let due = [
                (self.wires[side as usize].next_due(), Action::Arrive(side)),
                (deadline, Action::Tick(side)),
                (node.client_turn, Action::ClientTurn(side)),
                (node.server_turn, Action::ServerTurn(side)),
                (self.notices[side as usize], Action::Notice(side)),
            ];
            for (time, action) in due {
                let candidate = time.map(|time| (time, action));
                next = match (next, candidate) {
                    (Some(old), Some(new)) => Some(old.min(new)),
                    (old, new) => old.or(new),
                };
            }
        }
        next
    }

    /// Plans the next turn of whoever has work.
    fn schedule(&mut self, side: Side) {
        let node = &mut self.nodes[side as usize];
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
            Action::Arrive(from) => {
                let Some(bytes) = self.wires[from as usize].deliver(now) else {
                    return Ok(());
                };
                let node = &mut self.nodes[from.other() as usize];
                self.shared.note(node.side, "bytes arrive", bytes.len() as u64, 0);
                if node.over {
                    return Ok(());
                }
                node.input.fill(&bytes);
                let outcome = node.read(&mut self.shared);
                self.ended(from.other(), outcome)
            }
            Action::Tick(side) => {
                self.shared.note(side, "tick", 0, 0);
                let outcome = self.nodes[side as usize].peer.tick(now).map_err(Ending::Peer);
                self.ended(side, outcome)
            }
            Action::ClientTurn(side) => {
                let Node { client, peer, client_turn, .. } = &mut self.nodes[side as usize];
                *client_turn = None;
                match (client, peer.sender()) {
                    (Some(client), Some(sender)) => client.turn(sender, &mut self.shared),
                    _ => Ok(()),
                }
            }
            Action::ServerTurn(side) => {
                let Node { server, peer, server_turn, over, .. } = &mut self.nodes[side as usize];
                *server_turn = None;
                server.turn(peer.sender().filter(|_| !*over), &mut self.shared)
            }
            Action::Notice(side) => {
                self.shared.note(side, "cut noticed", 0, 0);
                self.notices[side as usize] = None;
                self.nodes[side as usize].over = true;
                Ok(())
            }
        }
    }

    /// What the reading of a node came to. Peers that accuse each other are a broken promise,
    /// because both are honest; a late opening is right when nothing can arrive any more.
    fn ended(&mut self, side: Side, outcome: Result<(), Ending>) -> Result<(), Violation> {
        let node = &mut self.nodes[side as usize];
        match outcome {
            Ok(()) => Ok(()),
            Err(Ending::Violation(violation)) => Err(violation),
            Err(Ending::Peer(PeerError::Late)) if self.is_broken => {
                node.over = true;
                Ok(())
            }
            Err(Ending::Peer(PeerError::Link(LinkError::ToldByPeer {
                code: Code::BYE, ..
            }))) => {
                node.said_goodbye = true;
                node.over = true;
                Ok(())
            }
            Err(Ending::Peer(error)) => {
                node.peer.fail(&error);
                Err(Violation::new("honest peers have nothing to say against each other", error))
            }
        }
    }

    /// Writes as much as the wire takes.
    fn flush(&mut self, side: Side) {
        let now = self.shared.clock.now();
        let (node, wire) = (&mut self.nodes[side as usize], &mut self.wires[side as usize]);
        while !node.over && wire.room() > 0 {
            if node.batch.is_empty() {
                node.peer.take_output(&mut node.batch);
            }
            let Some(slice) = node.batch.slices().next() else {
                break;
            };
            let written = wire.write(slice, now, &mut self.shared.random);
            node.batch.advance(written);
            self.shared.note(side, "bytes written", written as u64, 0);
        }
        if wire.is_cut() && !std::mem::replace(&mut self.was_cut, true) {
            self.cut(now);
        }
    }

    /// The connection is cut: both wires are severed, and each side notices in its own time.
    fn cut(&mut self, now: Time) {
        for side in Side::BOTH {
            let wire = &mut self.wires[side as usize];
            wire.sever();
            if self.shared.random.chance(30) {
                wire.lose_all();
            }
            let pause = self.shared.random.between(0, 200_000);
            self.notices[side as usize] = Some(now + micros(pause));
        }
    }
}
