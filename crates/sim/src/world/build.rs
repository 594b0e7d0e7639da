//! The beginning: who takes part, and the first connection of each session.

use core::ops::Range;

use wigwag_link::Identity;

use super::node::Place;
use super::*;
use crate::peer::{Faults, Peer};

/// Attachments of one session have ids of their own.
const IDS_OF_A_PAIR: u64 = 1000;

pub(super) fn ids_of(pair: usize) -> Range<u64> {
    let first = pair as u64 * IDS_OF_A_PAIR;
    first..first + IDS_OF_A_PAIR
}

impl World {
    pub(super) fn new(options: &Options) -> World {
        let mut random = Random::new(options.seed);
        let mutant = options.mutant;
        let setup = Setup::draw(&mut random, mutant);
        let pairs = (0..setup.pairs.len()).map(|at| {
            // A planted error of a node's is one side's doing; the network's lies in its wires.
            let guilty = random.pick(&Side::BOTH);
            Side::BOTH.map(|side| {
                let pair = &setup.pairs[at];
                let habits = pair.habits[side as usize];
                let mutant = mutant.filter(|_| side == guilty);
                Node {
                    side,
                    habits,
                    first_id: ids_of(at).start,
                    client: None,
                    server: Server::new(side, habits, mutant, random.below(10)),
                    client_turn: None,
                    server_turn: None,
                    place: Place::new(side),
                    session_id: 0,
                    credentials: None,
                    trying: None,
                    redial: None,
                    tries: 0,
                    expires: None,
                    over: false,
                    is_new: false,
                    said_goodbye: false,
                    mutant,
                    acked_ahead: 0,
                }
            })
        });
        let pairs = pairs.collect();
        let shared = Shared {
            random,
            oracle: Oracle::default(),
            trace: Trace::new(options.record),
            clock: Clock::default(),
        };
        World { shared, setup, pairs, lines: Vec::new(), resumes: 0, cuts: 0 }
    }

    /// Connects the nodes of a pair.
    pub(super) fn connect(&mut self, pair: usize, dialer: Role) -> usize {
        let now = self.shared.clock.now();
        let random = &mut self.shared.random;
        let ttl_ms = self.setup.weather.ttl_ms;
        let listener = Role::Listener { token: random.draw_u128(), ttl_ms };
        let wires = self.setup.wires(random);
        let peers = Side::BOTH.map(|side| {
            let identity = self.setup.pairs[pair].identities[side as usize];
            let identity = Identity { nonce: random.draw_u128(), ..identity };
            let role = if side == Side::Dialer { dialer } else { listener };
            let mutant = self.pairs[pair][side as usize].mutant;
            let faults = Faults {
                acks_ahead: u64::from(mutant == Some(Mutant::AckUnaccepted)),
                takes_twice: mutant == Some(Mutant::NoDedup),
                replies_lost_before: 0,
            };
            // The application gets calls one by one, or as many at once as came.
            let calls_max = if random.chance(30) { 1 } else { 64 };
            let peer = Peer::new(self.setup.framing, identity, role, now);
            peer.with_faults(faults).with_calls_max(calls_max)
        });
        self.lines.push(Connection::new(pair, wires, peers));
        self.lines.len() - 1
    }

    /// The first connection of a session.
    pub(super) fn open(&mut self, pair: usize) {
        let session = self.shared.random.draw_u128();
        self.connect(pair, Role::Dialer { session });
    }
}
