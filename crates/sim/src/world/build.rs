//! The construction of a world: its nodes, and the first connection of each session.

use core::ops::Range;

use wigwag_link::Identity;

use super::node::SessionLocation;
use super::*;
use crate::peer::{Faults, Peer};

/// The distance between the first attachment ids of two sessions: each has ids of its own.
const IDS_PER_PAIR: u64 = 1000;

pub(super) fn attachment_ids(pair: usize) -> Range<u64> {
    let first = pair as u64 * IDS_PER_PAIR;
    first..first + IDS_PER_PAIR
}

impl World {
    pub(super) fn new(options: &Options) -> World {
        let mut random = Random::new(options.seed);
        let mutant = options.mutant;
        let setup = Setup::draw(&mut random, mutant);
        let pairs = (0..setup.pairs.len()).map(|at| {
            // One side has a planted error of a node; a planted error of the network is in its
            // wires.
            let guilty = random.pick(&Side::BOTH);
            Side::BOTH.map(|side| {
                let pair = &setup.pairs[at];
                let workload = pair.workload[side as usize];
                let mutant = mutant.filter(|_| side == guilty);
                Node {
                    side,
                    workload,
                    first_id: attachment_ids(at).start,
                    client: None,
                    server: Server::new(side, workload, mutant, random.below(10)),
                    client_turn: None,
                    server_turn: None,
                    location: SessionLocation::new(side),
                    session_id: 0,
                    credentials: None,
                    redial_attempt: None,
                    redial_at: None,
                    failed_attempts: 0,
                    expires_at: None,
                    has_ended: false,
                    has_restarted: false,
                    close_received: false,
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
        World { shared, setup, pairs, connections: Vec::new(), resumes: 0, cuts: 0 }
    }

    /// Connects the nodes of a pair.
    pub(super) fn connect(&mut self, pair: usize, dialer: Role) -> usize {
        let now = self.shared.clock.now();
        let random = &mut self.shared.random;
        let ttl_ms = self.setup.fault_plan.ttl_ms;
        let listener = Role::Listener { token: random.draw_u128(), ttl_ms };
        let wires = self.setup.wires(random);
        let peers = Side::BOTH.map(|side| {
            let identity = self.setup.pairs[pair].identities[side as usize];
            let identity = Identity { nonce: random.draw_u128(), ..identity };
            let role = if side == Side::Dialer { dialer } else { listener };
            let mutant = self.pairs[pair][side as usize].mutant;
            let faults = Faults {
                acks_ahead: u64::from(mutant == Some(Mutant::AckUnaccepted)),
                skips_deduplication: mutant == Some(Mutant::NoDedup),
                drops_replies_before: 0,
            };
            // The application gets calls one by one, or all received ones at once.
            let calls_max = if random.chance(30) { 1 } else { 64 };
            let peer = Peer::new(self.setup.framing, identity, role, now);
            peer.with_faults(faults).with_calls_max(calls_max)
        });
        self.connections.push(Connection::new(pair, wires, peers));
        self.connections.len() - 1
    }

    /// Makes the first connection of a session.
    pub(super) fn open(&mut self, pair: usize) {
        let session = self.shared.random.draw_u128();
        self.connect(pair, Role::Dialer { session });
    }
}
