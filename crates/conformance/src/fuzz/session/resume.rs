//! Cuts and resumptions: the dialer redials, claims its session and is readmitted.

use wigwag_link::opening::Resumed;
use wigwag_link::opening::resume::{Claim, PROOF_BYTES};
use wigwag_link::{Code, LinkError};
use wigwag_sim::peer::{Peer, Role, Session};
use wigwag_sim::proof::prove;

use super::{
    Connection, DIALER, LISTENER, LISTENER_ROLE, SessionHarness, SessionLocation, identity,
};
use crate::fuzz::{Verdict, ensure};

impl SessionHarness {
    /// Lets an end notice that its connection is lost, and parks its session.
    pub(super) fn connection_lost(&mut self, connection: usize, side: usize) -> Verdict {
        let end = &mut self.connections[connection].ends[side];
        if std::mem::replace(&mut end.is_closed, true) {
            return Ok(());
        }
        if !matches!(self.locations[side], SessionLocation::Connected(on) if on == connection) {
            return Ok(());
        }
        let Some(mut session) = end.peer.take_session() else {
            return Err(format!("node {side} has no session on its connection"));
        };
        if !end.batch.is_empty() {
            session.sender.outbox.mark_torn();
        }
        // Reading may have stopped within the last batch: the frames read so far are accepted.
        session.sender.accepted(session.dispatcher.recv_next(), 0, self.now);
        self.is_over |= session.sender.is_closed();
        let outbox = &session.sender.outbox;
        let (mut unsent, untaken) = (0, outbox.untaken_frames());
        outbox.each_unsent(|kind, body| {
            unsent += wigwag_link::frame::numbers(kind, body).unwrap_or(1);
        });
        ensure(unsent == untaken, || format!("{untaken} frames are unsent, and {unsent} told"))?;
        self.locations[side] = SessionLocation::Parked(session);
        Ok(())
    }

    /// Lets the dialer redial, and give up the connection that it tried before.
    pub(super) fn connect(&mut self) -> Verdict {
        if matches!(self.locations[DIALER], SessionLocation::Connected(_)) {
            return Ok(());
        }
        if let Some(last) = self.connections.last_mut() {
            last.ends[DIALER].is_closed = true;
        }
        let at = self.connections.len();
        let peer = |side: usize, role: Role| {
            let identity = identity(&self.profile, side, at);
            Peer::new(self.profile.framing, identity, role, self.now)
                .with_calls_max(self.profile.calls_max)
        };
        let peers =
            [peer(DIALER, Role::Resuming), peer(LISTENER, LISTENER_ROLE).with_faults(self.faults)];
        self.connections.push(Connection::new(peers, self.now));
        Ok(())
    }

    /// Lets the dialer claim its session from a peer that it has identified.
    pub(super) fn claim(&mut self, connection: usize) -> Verdict {
        let peer = &mut self.connections[connection].ends[DIALER].peer;
        let (SessionLocation::Parked(session), Some(nonces)) =
            (&self.locations[DIALER], peer.nonces())
        else {
            return Err("a dialer comes back for a session that it has".to_owned());
        };
        let recv_next = session.dispatcher.recv_next();
        let claimed = self.credentials[DIALER].claim(recv_next, nonces, prove);
        let (claim, proof) = claimed.map_err(|error| error.to_string())?;
        peer.claim(&claim, &proof);
        Ok(())
    }

    /// Lets the listener check a claim, which it must refuse if and only if it has accepted a later
    /// one.
    pub(super) fn readmit(
        &mut self,
        connection: usize,
        claim: &Claim,
        proof: &[u8; PROOF_BYTES],
    ) -> Verdict {
        let overtaken = claim.epoch <= self.epoch;
        self.tokens += 1;
        let token = self.tokens;
        match self.credentials[LISTENER].check(claim, proof, prove, token) {
            Ok(()) => {}
            Err(LinkError::Misbehaved { code: Code::TOKEN_BAD, .. }) if overtaken => {
                self.connections[connection].ends[LISTENER].is_closed = true;
                return Ok(());
            }
            Err(error) => return Err(format!("claim {}: {error}", claim.epoch)),
        }
        ensure(!overtaken, || format!("claim {} was let in late", claim.epoch))?;
        self.epoch = claim.epoch;
        // The old connection is closed first: only then is the number final that the dialer gets.
        if let SessionLocation::Connected(old) = self.locations[LISTENER] {
            self.connection_lost(old, LISTENER)?;
        }
        self.resume(connection, LISTENER, claim.recv_next, |peer, session| {
            peer.readmit(claim, token, session).map_err(|error| error.to_string())
        })
    }

    /// Resumes the dialer's session after its claim was accepted.
    pub(super) fn resume_accepted(&mut self, connection: usize, resumed: Resumed) -> Verdict {
        let credentials = &mut self.credentials[DIALER];
        ensure(resumed.token != credentials.token(), || "the token is an old one".to_owned())?;
        credentials.renew(resumed.token);
        self.resume(connection, DIALER, resumed.recv_next, |peer, session| {
            peer.attach_session(session);
            Ok(())
        })
    }

    /// Resumes the session of a node over a connection.
    fn resume(
        &mut self,
        connection: usize,
        side: usize,
        recv_next: u64,
        hand_over: impl FnOnce(&mut Peer, Box<Session>) -> Verdict,
    ) -> Verdict {
        let received = self.nodes[1 - side].received.seq;
        ensure(recv_next == received, || {
            format!("{recv_next} were accepted, and {received} are told")
        })?;
        let location =
            std::mem::replace(&mut self.locations[side], SessionLocation::Connected(connection));
        let SessionLocation::Parked(mut session) = location else {
            return Err(format!("node {side} takes up a session that it has"));
        };
        let resumed = session.sender.resume(recv_next, self.now);
        resumed.map_err(|error| format!("node {side} resumes from {recv_next}: {error}"))?;
        hand_over(&mut self.connections[connection].ends[side].peer, session)
    }
}
