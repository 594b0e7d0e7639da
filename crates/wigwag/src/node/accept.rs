//! The acceptor of a node: accepts connections and opens sessions, each in a task of its own.

use std::sync::{Arc, Mutex, OnceLock};

use wigwag_actor::Principal;
use wigwag_link::opening::admission::{Admission, PeerState};
use wigwag_link::opening::resume::{Claim, PROOF_BYTES, unknown_session};
use wigwag_link::{Code, Identity, LinkError};
use wigwag_net::acceptor::{Acceptor, ConnectionEvictor};
use wigwag_net::places::{Place, Places};
use wigwag_net::socket::AcceptedConnection;
use wigwag_net::source::Source;
use wigwag_net::transport::Boxed;
use wigwag_net::{Address, Connection, ListenOptions, Listener, NetError, NetErrorKind};
use wigwag_wire::{ProtocolNumber, ReadBuf};

use super::inner::WeakNode;
use super::options::NodeOptions;
use crate::access::IdentityPlace;
use crate::connect::handshake::{self, AcceptOutcome};
use crate::lock::lock;
use crate::session::{EndKind, resumption};
use crate::sp_clients::SpClients;

/// Accepts connections until the node is gone, or the listener has ended. At most
/// [`crate::limits::HANDSHAKES_MAX`] handshakes are pending at a time; a newcomer evicts the oldest.
pub(crate) async fn listen(listener: Box<dyn Listener>, options: ListenOptions, node: WeakNode) {
    let entrance = Arc::new(Entrance { address: listener.address().clone(), options });
    let Some(pending_handshakes) = node.upgrade().map(|node| node.pending_handshakes.clone())
    else {
        return;
    };
    let spare =
        SpareConnections { pending_handshakes: pending_handshakes.clone(), node: node.clone() };
    let mut acceptor = Acceptor::new(listener);
    while node.strong_count() > 0 {
        // An error concerns one connection, and the acceptor has logged it if that matters.
        let accepted = acceptor.accept(&spare).await;
        if accepted.is_err() && acceptor.has_ended() {
            return;
        }
        let Some(counters) = node.upgrade() else { return };
        let Ok(connection) = accepted else {
            counters.counters.acceptor(|acceptor| acceptor.accepts_failed += 1);
            continue;
        };
        counters.counters.acceptor(|acceptor| acceptor.accepted += 1);
        drop(counters);
        let pending_handshake = pending_handshakes.enter(Source::of(&connection));
        let entrance = entrance.clone();
        tokio::spawn(serve_handshake(connection, entrance, node.clone(), pending_handshake));
    }
}

/// A listener, with the facts that its connections need.
struct Entrance {
    address: Address,
    options: ListenOptions,
}

/// Connections that a node gives up when it has no descriptor left: pending handshakes first, then
/// sessions over which nothing has arrived, then SP clients, which connect again.
struct SpareConnections {
    pending_handshakes: Arc<Places>,
    node: WeakNode,
}

impl ConnectionEvictor for SpareConnections {
    fn evict_one(&self) -> bool {
        let silent = || {
            let silent = self.node.upgrade()?.sessions().evict_silent()?;
            silent.dismiss(Code::TOO_MANY, "no descriptors are left");
            Some(())
        };
        let client = || Some(self.node.upgrade()?.sp_clients.places.evict_one());
        self.pending_handshakes.evict_one() || silent().is_some() || client() == Some(true)
    }

    fn freed(&self) -> Boxed<'_, ()> {
        self.pending_handshakes.freed()
    }
}

async fn serve_handshake(
    mut connection: Connection,
    entrance: Arc<Entrance>,
    node: WeakNode,
    pending_handshake: Place,
) {
    let peer = connection.peer.clone();
    let source = Source::of(&connection);
    let outlet = connection.outlet.clone();
    let mut input = ReadBuf::new();
    let known = node.upgrade().map(|node| (node.identity(), node.access.clone()));
    let Some((ours, access)) = known else { return };
    let options = node.upgrade().map(|node| {
        let NodeOptions { name, sp_clients, .. } = &node.options;
        (node.ttl_ms(), name.clone(), *sp_clients)
    });
    let Some((ttl_ms, name, sp_clients)) = options else {
        return;
    };
    let ours_and_name = (ours, name.as_deref().unwrap_or_default());
    let partner = |theirs, client: &Principal| {
        let is_served = sp_clients && access.check(client).is_ok();
        // A SUB gets everything that is published.
        let is_served =
            is_served && (theirs != ProtocolNumber::SUB || access.permits_everything(client));
        SpClients::partner(theirs).filter(|_| is_served)
    };
    let pending =
        PendingAccept { node: &node, ours, incarnation: OnceLock::new(), place: Mutex::default() };
    let admit = |peer: &Identity, principal: &Principal| {
        let place = pending.admit(peer, &source, |old| access.enter(principal, old))?;
        *lock(&pending.place) = Some(place);
        Ok(())
    };
    let accepted = tokio::select! {
        accepted = handshake::accept(&mut connection, &mut input, ours_and_name, ttl_ms, &access, (partner, admit)) => accepted,
        () = pending_handshake.evicted() => Err(NetError::new(&peer, NetErrorKind::Evicted).into()),
    };
    drop(pending_handshake);
    let started = match accepted {
        Ok(AcceptOutcome::Opened(opened)) => {
            // Admitting it has left a place.
            match (node.upgrade(), lock(&pending.place).take()) {
                (Some(node), Some(place)) => {
                    let started = node.start(connection, input, &opened, None, place);
                    started.map(|_| node.counters.acceptor(|acceptor| acceptor.opened += 1))
                }
                _ => Err(crate::NodeError::Closed),
            }
        }
        Ok(AcceptOutcome::Claimed(claim, proof, principal)) => {
            resume_session(connection, input, &node, &claim, &proof, &principal).await
        }
        Ok(AcceptOutcome::Client(partner, client)) => {
            let Entrance { address, options } = &*entrance;
            let (through, options) = (address.clone(), options.clone());
            let accepted = AcceptedConnection { connection, input, through, options };
            // Boxed, so that a connection in its handshake takes no room for what follows.
            Box::pin(serve_client(&node, partner, client, accepted)).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = started {
        outlet.close();
        if let Some(node) = node.upgrade() {
            node.counters.refused(&error);
        }
        let (peer, reason, hint) = (&*peer, error.reason(), error.hint());
        tracing::info!(target: "wigwag::acceptor", peer, reason, hint, "a peer was refused");
    }
}

/// Serves an SP client until its connection ends.
async fn serve_client(
    node: &WeakNode,
    partner: ProtocolNumber,
    client: Principal,
    accepted: AcceptedConnection,
) -> Result<(), crate::NodeError> {
    let Some(strong_node) = node.upgrade() else { return Err(crate::NodeError::Closed) };
    let place = strong_node.access.enter(&client, None).map_err(|error| {
        let peer = accepted.connection.peer.clone();
        crate::NodeError::Session { peer, error }
    })?;
    strong_node.counters.acceptor(|acceptor| acceptor.sp_clients += 1);
    let clients = strong_node.sp_clients.clone();
    drop(strong_node);
    clients.serve(partner, accepted, place).await;
    Ok(())
}

/// Resumes the session that a dialer claims.
async fn resume_session(
    connection: Connection,
    input: ReadBuf,
    node: &WeakNode,
    claim: &Claim,
    proof: &[u8; PROOF_BYTES],
    principal: &Principal,
) -> Result<(), crate::NodeError> {
    let Some(strong_node) = node.upgrade() else {
        return Err(crate::NodeError::Closed);
    };
    let session = strong_node.sessions().claimed(claim);
    let accept_claim = session.ok_or_else(unknown_session).and_then(|session| {
        resumption::check_principal(&session, principal)?;
        let message = resumption::accept_claim(&session, claim, proof)?;
        Ok((session, message))
    });
    let peer = connection.peer.clone();
    let (session, message) = handshake::refuse_on_error(&connection, &peer, accept_claim).await?;
    // From here on the session is on this connection, whether or not the message can be sent.
    let sent = handshake::send(&connection, message.as_slice()).await;
    match session.resume_on(claim.epoch, &connection, claim.recv_next) {
        Ok(Some(session_connection)) => {
            strong_node.counters.acceptor(|acceptor| acceptor.resumed += 1);
            strong_node.drive_session(session, session_connection, connection, input)
        }
        // A newer connection carries the session.
        Ok(None) => connection.outlet.close(),
        Err(error) => {
            // The proof is valid, so this is the peer, and it breaks the protocol.
            session.end(&error.to_string(), EndKind::Lost);
            session.release();
            strong_node.forget(&session);
            return handshake::refuse_on_error(&connection, &peer, Err(error)).await;
        }
    }
    sent
}

/// An accepted session that has not started yet. Dials to the same peer see it.
struct PendingAccept<'a> {
    node: &'a WeakNode,
    ours: Identity,
    incarnation: OnceLock<u128>,
    /// The place of the session among those of its identity.
    place: Mutex<Option<IdentityPlace>>,
}

impl PendingAccept<'_> {
    /// Decides whether a peer may open a session, and reserves the place for it. `enter` takes the
    /// place among the sessions of its identity, or that of the session which gives way.
    ///
    /// Admission comes first: a peer that is at its limit and has a session with this node is led to
    /// that session, and not told that there are too many.
    fn admit(
        &self,
        peer: &Identity,
        source: &Source,
        enter: impl FnOnce(Option<&IdentityPlace>) -> Result<IdentityPlace, LinkError>,
    ) -> Result<IdentityPlace, LinkError> {
        let Some(node) = self.node.upgrade() else {
            let closing = PeerState { is_closing: true, ..PeerState::default() };
            return closing.admit(&self.ours, peer).and_then(|_| enter(None));
        };
        // Locked before the sessions are searched, and the entry stays until the session has
        // started, so no dial can miss it.
        let mut pending_sessions = lock(&node.pending_sessions);
        let old = node.session_with(peer.incarnation);
        let state = pending_sessions.peer_state(peer.incarnation, old.as_deref());
        let admission = state.admit(&self.ours, peer)?;
        let old = old.filter(|_| admission == Admission::Replacement);
        let place = enter(old.as_ref().map(|old| &old.identity_place))?;
        if admission == Admission::Loopback {
            return Ok(place);
        }
        let mut evicted = Vec::new();
        let opening = pending_sessions.accepting.len();
        let reserved = node.sessions().reserve_place(source, opening, &mut evicted);
        if reserved.is_ok() {
            pending_sessions.accepting.push(peer.incarnation);
            let _ = self.incarnation.set(peer.incarnation);
            old.inspect(|old| old.halt());
        }
        drop(pending_sessions);
        for session in evicted {
            session.dismiss(Code::TOO_MANY, "its place was needed for another session");
        }
        reserved.map(|()| place)
    }
}

impl Drop for PendingAccept<'_> {
    fn drop(&mut self) {
        if let (Some(peer), Some(node)) = (self.incarnation.get(), self.node.upgrade()) {
            let mut pending_sessions = lock(&node.pending_sessions);
            let at = pending_sessions.accepting.iter().position(|pending| pending == peer);
            at.map(|at| pending_sessions.accepting.swap_remove(at));
        }
    }
}
