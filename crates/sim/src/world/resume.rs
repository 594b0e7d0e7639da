//! Cuts and resumptions: the dialer redials, the listener checks its claim, and the session is
//! resumed or given up.

use core::time::Duration;

use wigwag_link::opening::Resumed;
use wigwag_link::opening::resume::{Claim, PROOF_BYTES, unknown_session};

use super::*;
use crate::peer::{Peer, Session};
use crate::proof::prove;

/// The time by which the dialer waits longer than the listener keeps the session, because the
/// listener decides.
const DIALER_GRACE: Duration = Duration::from_secs(5);

impl World {
    /// Handles the loss of a connection at a node.
    pub(super) fn connection_lost(&mut self, at: usize, side: Side) {
        let World { pairs, connections, shared, setup, .. } = self;
        let now = shared.clock.now();
        connections[at].close_end(side, now, &mut shared.random);
        let pair = connections[at].pair;
        let node = &mut pairs[pair][side as usize];
        self.cuts += 1;
        if node.location.connection == Some(at) {
            node.location.connection = None;
            let end = &mut connections[at].ends[side as usize];
            node.location.parked = end.peer.take_session();
            if let Some(session) = &mut node.location.parked {
                session.dispatcher.connection_lost();
                if !end.batch.is_empty() {
                    session.sender.outbox.mark_torn();
                }
            }
            let ttl = Duration::from_millis(setup.fault_plan.ttl_ms);
            if ttl.is_zero() {
                self.end_session(pair, side);
                return;
            }
            let grace = if side == Side::Dialer { DIALER_GRACE } else { Duration::ZERO };
            node.expires_at = Some(now + ttl + grace);
            if side == Side::Dialer {
                node.redial_at = Some(now + micros(shared.random.between(0, 20_000)));
                node.failed_attempts = 0;
            }
        } else if side == Side::Dialer && node.redial_attempt == Some(at) {
            self.schedule_redial(pair);
        } else if node.client.is_none() && at == pair {
            // The session was never opened on the first connection.
            self.end_session(pair, side);
        }
    }

    fn schedule_redial(&mut self, pair: usize) {
        let node = &mut self.pairs[pair][Side::Dialer as usize];
        node.redial_attempt = None;
        if node.has_ended {
            return;
        }
        node.failed_attempts += 1;
        let longest = 10_000 << node.failed_attempts.min(9);
        let pause = self.shared.random.between(longest / 2, longest);
        node.redial_at = Some(self.shared.clock.now() + micros(pause));
    }

    pub(super) fn redial(&mut self, pair: usize) {
        self.pairs[pair][Side::Dialer as usize].redial_at = None;
        let at = self.connect(pair, Role::Resuming);
        self.shared.note(Side::Dialer, "redial", pair as u64, at as u64);
        self.pairs[pair][Side::Dialer as usize].redial_attempt = Some(at);
    }

    /// Ends a session at a node, together with its connections.
    pub(super) fn end_session(&mut self, pair: usize, side: Side) {
        let World { pairs, connections, shared, .. } = self;
        let node = &mut pairs[pair][side as usize];
        node.has_ended = true;
        node.redial_at = None;
        node.expires_at = None;
        node.redial_attempt = None;
        if let Some(at) = node.location.connection.take() {
            node.location.parked = connections[at].ends[side as usize].peer.take_session();
        }
        let now = shared.clock.now();
        for connection in connections.iter_mut().filter(|connection| connection.pair == pair) {
            // A listener continues to listen, and refuses a dialer that claims the session too
            // late.
            let is_first =
                connection.ends[side as usize].peer.recv_next().is_some() || side == Side::Dialer;
            if is_first && !connection.ends[side as usize].is_closed {
                connection.close_end(side, now, &mut shared.random);
            }
        }
    }

    /// Lets the dialer claim its session over a new connection.
    pub(super) fn claim(&mut self, at: usize) {
        let World { pairs, connections, .. } = self;
        let pair = connections[at].pair;
        let node = &mut pairs[pair][Side::Dialer as usize];
        if node.redial_attempt != Some(at) {
            return;
        }
        let peer = &mut connections[at].ends[Side::Dialer as usize].peer;
        let (Some(credentials), Some(session), Some(nonces)) =
            (&mut node.credentials, &node.location.parked, peer.nonces())
        else {
            return;
        };
        let recv_next = session.dispatcher.recv_next().max(node.acked_ahead);
        let Ok((claim, proof)) = credentials.claim(recv_next, nonces, prove) else { return };
        peer.claim(&claim, &proof);
        if self.shared.random.chance(self.setup.fault_plan.double_dial_percent) {
            // The dialer does not wait and redials while the claim is in flight.
            self.redial(pair);
        }
    }

    /// Checks the claim of a dialer; returns the pair whose session it is, and the dialer's new
    /// token.
    pub(super) fn verify_claim(
        &mut self,
        claim: &Claim,
        proof: &[u8; PROOF_BYTES],
    ) -> Result<(usize, u128), LinkError> {
        let kept = |pair: &[Node; 2]| {
            let node = &pair[Side::Listener as usize];
            node.session_id == claim.session && !node.has_ended && !node.has_restarted
        };
        let pair = self.pairs.iter().position(kept).ok_or_else(unknown_session)?;
        let node = &mut self.pairs[pair][Side::Listener as usize];
        let credentials = node.credentials.as_mut().ok_or_else(unknown_session)?;
        let fresh = match node.mutant {
            Some(Mutant::TokenKept) => credentials.token(),
            _ => self.shared.random.draw_u128(),
        };
        credentials.check(claim, proof, prove, fresh)?;
        Ok((pair, fresh))
    }

    /// Lets the listener accept a claim: the old connection is closed first, and the number that
    /// the dialer gets is read afterwards.
    pub(super) fn readmit(
        &mut self,
        at: usize,
        pair: usize,
        claim: &Claim,
        fresh: u128,
    ) -> Result<(), Violation> {
        let World { pairs, connections, shared, .. } = self;
        let now = shared.clock.now();
        let node = &mut pairs[pair][Side::Listener as usize];
        if let Some(old) = node.location.connection.take() {
            node.location.parked = connections[old].ends[1].peer.take_session();
            connections[old].close_end(Side::Listener, now, &mut shared.random);
        }
        let Some(mut session) = node.location.parked.take() else { return Ok(()) };
        node.expires_at = None;
        node.resume_from(&mut session, claim.recv_next, shared)?;
        let accepted = session.dispatcher.recv_next();
        shared.note(Side::Listener, "let in", claim.epoch, accepted);
        let peer = &mut connections[at].ends[1].peer;
        node.plant_faults(peer, &session);
        let readmitted = peer.readmit(claim, fresh, session);
        readmitted.map_err(|error| Violation::new("an honest claim can be met", error))?;
        node.location.connection = Some(at);
        Ok(())
    }

    /// Resumes the dialer's session after its claim was accepted.
    pub(super) fn resumed(&mut self, at: usize, resumed: Resumed) -> Result<(), Violation> {
        let World { pairs, connections, shared, .. } = self;
        let now = shared.clock.now();
        let pair = connections[at].pair;
        let node = &mut pairs[pair][Side::Dialer as usize];
        let tried = node.redial_attempt == Some(at);
        let session = if tried { node.location.parked.take() } else { None };
        let (Some(mut session), Some(credentials)) = (session, &mut node.credentials) else {
            // An attempt that was given up: its token may be outdated already.
            connections[at].close_end(Side::Dialer, now, &mut shared.random);
            return Ok(());
        };
        must(credentials.token() != resumed.token, "each resume brings a new token", || {
            format!("connection {at}")
        })?;
        credentials.renew(resumed.token);
        node.resume_from(&mut session, resumed.recv_next, shared)?;
        shared.note(Side::Dialer, "resumed", pair as u64, resumed.recv_next);
        let peer = &mut connections[at].ends[0].peer;
        node.plant_faults(peer, &session);
        peer.attach_session(session);
        (node.location.connection, node.redial_attempt, node.redial_at, node.expires_at) =
            (Some(at), None, None, None);
        self.resumes += 1;
        Ok(())
    }

    /// Handles a refusal: the listener does not know the session, or the token is wrong.
    pub(super) fn resume_refused(&mut self, at: usize, code: Code) -> Result<(), Violation> {
        let pair = self.connections[at].pair;
        self.shared.note(Side::Dialer, "turned away", pair as u64, u64::from(code.0));
        let node = &self.pairs[pair][Side::Dialer as usize];
        if node.redial_attempt != Some(at) {
            // A later attempt has overtaken it.
            let World { connections, shared, .. } = self;
            connections[at].close_end(Side::Dialer, shared.clock.now(), &mut shared.random);
            return Ok(());
        }
        let listener = &self.pairs[pair][Side::Listener as usize];
        must(
            listener.has_ended || listener.has_restarted,
            "nobody is turned away from a living session",
            || format!("pair {pair}: {code}"),
        )?;
        self.end_session(pair, Side::Dialer);
        Ok(())
    }

    /// Discards bytes that arrive at an end that is not used any more.
    pub(super) fn deliver_late(
        &mut self,
        at: usize,
        side: Side,
        bytes: &[u8],
    ) -> Result<(), Violation> {
        let node = &mut self.pairs[self.connections[at].pair][side as usize];
        if node.mutant != Some(Mutant::NoFence) {
            return Ok(());
        }
        let end = &mut self.connections[at].ends[side as usize];
        if !end.peer.is_detached() {
            return Ok(());
        }
        end.input.fill(bytes);
        let Some(new) = node.location.connection.filter(|current| *current != at) else {
            return Ok(());
        };
        // A planted error: the session is read from this end too.
        let session = self.connections[new].ends[side as usize].peer.take_session();
        let Some(session) = session else { return Ok(()) };
        let end = &mut self.connections[at].ends[side as usize];
        end.peer.attach_session(session);
        node.location.connection = Some(at);
        self.read(at, side)?;
        let node = &mut self.pairs[self.connections[at].pair][side as usize];
        if let Some(session) = self.connections[at].ends[side as usize].peer.take_session() {
            self.connections[new].ends[side as usize].peer.attach_session(session);
            node.location.connection = Some(new);
        }
        Ok(())
    }

    /// Kills all nodes of a side, which restart at once and know of no session.
    pub(super) fn restart(&mut self, side: Side) {
        self.shared.note(side, "restart", 0, 0);
        self.setup.fault_plan.restart = None;
        self.cuts += 1;
        for pair in 0..self.pairs.len() {
            let node = &mut self.pairs[pair][side as usize];
            node.has_restarted = true;
            node.server = Server::new(side, node.workload, None, 0);
            self.end_session(pair, side);
            let World { connections, shared, .. } = self;
            for connection in connections.iter_mut().filter(|connection| connection.pair == pair) {
                connection.close_end(side, shared.clock.now(), &mut shared.random);
            }
        }
    }
}

impl Node {
    /// Continues the session over a new connection, whose other end has accepted the frames before
    /// `recv_next`.
    fn resume_from(
        &mut self,
        session: &mut Session,
        recv_next: u64,
        shared: &mut Shared,
    ) -> Result<(), Violation> {
        let now = shared.clock.now();
        let late = self.mutant == Some(Mutant::ReplayTooLate);
        let outbox = &session.sender.outbox;
        let skipped = u64::from(late && recv_next + outbox.untaken_frames() < outbox.next_seq());
        let room = session
            .sender
            .resume(recv_next + skipped, now)
            .map_err(|error| Violation::new("what a peer says it has accepted was sent", error))?;
        if let (true, Some(client)) = (room, &mut self.client) {
            client.has_room();
        }
        self.server.resumed(&mut session.sender);
        if shared.random.chance(30) {
            session.resend_before(recv_next);
        }
        Ok(())
    }

    /// Applies the planted errors of the frames that this node sends again.
    fn plant_faults(&self, peer: &mut Peer, session: &Session) {
        if self.mutant == Some(Mutant::ReplyNotResent) {
            peer.drop_replies_before(session.sender.outbox.next_seq());
        }
    }
}
