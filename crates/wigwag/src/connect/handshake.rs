//! The handshake of a fresh connection, from either side: opens a session or resumes one.

use std::sync::Arc;

use wigwag_actor::Principal;
use wigwag_link::batch::{PAIR1_HEADER, without_pair1_header};
use wigwag_link::limits::OPENING_BYTES_MAX;
use wigwag_link::opening::resume::{Claim, PROOF_BYTES};
use wigwag_link::opening::shared_key::Prover;
use wigwag_link::opening::{Resumed, Step};
use wigwag_link::{Identity, LinkError, Opened, Opening, features};
use wigwag_net::error::NetErrorKind;
use wigwag_net::handshake::{
    announced, greet, read_header, read_message, send_header, send_message, within,
};
use wigwag_net::transport::Boxed;
use wigwag_net::{Connection, NetError};
use wigwag_wire::{HeaderError, ProtocolNumber, ReadBuf};

use super::authenticate::Authentication;
use crate::access::{NodeAccess, principal_of};
use crate::error::NodeError;
use crate::random;
use crate::session::Session;
use crate::session::resumption;

/// The result of a dial.
pub(crate) enum DialOutcome {
    /// The dial has opened a session with the peer of this identity.
    Opened(Box<Opened>, Principal),
    /// There is a session with this peer already.
    Existing {
        /// The incarnation of the peer.
        incarnation: u128,
    },
}

/// The request of an accepted dialer.
pub(crate) enum AcceptOutcome {
    /// A new session, which is open.
    Opened(Opened),
    /// Resuming a session, with the claim and its proof.
    Claimed(Claim, [u8; PROOF_BYTES], Principal),
    /// The dialer is an SP client: the partner of its protocol, whose header was sent.
    Client(ProtocolNumber, Principal),
}

/// Runs the dialer's side. `may_open` decides whether OPEN is sent, or another session with the peer
/// is used.
pub(crate) async fn dial(
    connection: &mut Connection,
    input: &mut ReadBuf,
    (ours, name): (Identity, &str),
    access: &NodeAccess,
    may_open: impl Fn(&Identity) -> bool + Send + Sync,
) -> Result<DialOutcome, NodeError> {
    let peer = connection.peer.clone();
    let exchange = Box::pin(async {
        greet(connection, input, ProtocolNumber::PAIR1).await?;
        let (opening, hello) = Opening::dial(ours, random::id());
        let mut authentication = Authentication::new(access, Prover::Dialer);
        let opening = opening.with_name(name).with_keys(authentication.reads_proofs());
        let mut opening = opening;
        send(connection, hello.as_slice()).await?;
        loop {
            match step(connection, input, &mut opening, &mut authentication).await? {
                Step::Send(message) => {
                    if let Some(peer) = opening.peer().filter(|peer| !may_open(peer)) {
                        return Ok(DialOutcome::Existing { incarnation: peer.incarnation });
                    }
                    if let Some(proof) = authentication.first(&opening, connection) {
                        send(connection, proof.as_slice()).await?;
                    }
                    send(connection, message.as_slice()).await?;
                }
                Step::Opened(opened) => {
                    let principal = authentication.principal(connection);
                    let principal = refuse_on_error(connection, &peer, principal).await?;
                    return Ok(DialOutcome::Opened(Box::new(opened), principal));
                }
                _ => {}
            }
        }
    });
    within_handshake_time(&peer, exchange).await
}

/// Runs the side of a dialer that resumes its session. Returns the epoch of this connection and the
/// listener's answer.
pub(crate) async fn resume(
    connection: &mut Connection,
    input: &mut ReadBuf,
    ours: Identity,
    session: &Session,
) -> Result<(u64, Resumed), NodeError> {
    let peer = connection.peer.clone();
    let exchange = Box::pin(async {
        greet(connection, input, ProtocolNumber::PAIR1).await?;
        let mut authentication = Authentication::new(&session.access, Prover::Dialer);
        let (opening, hello) = Opening::redial(ours);
        let mut opening = opening.with_keys(authentication.reads_proofs());
        send(connection, hello.as_slice()).await?;
        let mut epoch = 0;
        loop {
            match step(connection, input, &mut opening, &mut authentication).await? {
                Step::PeerKnown => {
                    let peer_and_nonces = opening.peer().zip(opening.nonces());
                    let Some((identity, nonces)) = peer_and_nonces else { continue };
                    resumption::check_identity(session, identity)?;
                    if let Some(proof) = authentication.first(&opening, connection) {
                        send(connection, proof.as_slice()).await?;
                    }
                    let claimed = resumption::claim(session, nonces);
                    let (claim, proof) =
                        refuse_on_error(connection, &session.peer, claimed).await?;
                    epoch = claim.epoch;
                    let message = opening.resume(&claim, &proof);
                    send(connection, message.as_slice()).await?;
                }
                Step::Resumed(resumed) => {
                    let principal = authentication.principal(connection);
                    let checked =
                        principal.and_then(|it| resumption::check_principal(session, &it));
                    refuse_on_error(connection, &peer, checked).await?;
                    return Ok((epoch, resumed));
                }
                _ => {}
            }
        }
    });
    within_handshake_time(&peer, exchange).await
}

/// Runs the listener's side. `partner` gives the protocol that serves an SP client of an identity.
/// `admit` decides whether a peer may open a session; its error is sent to the peer. `ttl_ms` is how long the
/// session will be kept after a cut.
pub(crate) async fn accept(
    connection: &mut Connection,
    input: &mut ReadBuf,
    (ours, name): (Identity, &str),
    ttl_ms: u64,
    access: &NodeAccess,
    (partner, admit): (
        impl Fn(ProtocolNumber, &Principal) -> Option<ProtocolNumber> + Send + Sync,
        impl Fn(&Identity, &Principal) -> Result<(), LinkError> + Send + Sync,
    ),
) -> Result<AcceptOutcome, NodeError> {
    let peer = connection.peer.clone();
    let exchange = Box::pin(async {
        // A node reads first: the protocol that the dialer announces decides which partner it is.
        let theirs = match announced(&peer, read_header(connection, input).await?) {
            Err(error) if matches!(error.kind, NetErrorKind::Header(HeaderError::SpeaksTls)) => {
                // This node's header tells the dialer that it need not use TLS. If it cannot be
                // sent, the error counts.
                let _ = send_header(connection, ProtocolNumber::PAIR1).await;
                return Err(error.into());
            }
            announced => announced?,
        };
        // An SP client can prove no key.
        let client = principal_of(connection, None);
        if let Some(partner) = partner(theirs, &client) {
            send_header(connection, partner).await?;
            return Ok(AcceptOutcome::Client(partner, client));
        }
        if theirs != ProtocolNumber::PAIR1 {
            let ours = ProtocolNumber::PAIR1;
            let wrong = HeaderError::WrongProtocol { ours, theirs };
            // This node's header tells the dialer what listens here. If it cannot be sent, the
            // error below counts.
            let _ = send_header(connection, ours).await;
            return Err(NetError::new(&peer, NetErrorKind::Header(wrong)).into());
        }
        send_header(connection, ProtocolNumber::PAIR1).await?;
        let mut authentication = Authentication::new(access, Prover::Listener);
        let opening = Opening::listen(ours).with_name(name);
        let mut opening = opening.with_keys(authentication.reads_proofs());
        loop {
            match step(connection, input, &mut opening, &mut authentication).await? {
                Step::Send(message) => send(connection, message.as_slice()).await?,
                Step::OpenRequested => {
                    let principal = let_in(&authentication, connection, access);
                    let principal = refuse_on_error(connection, &peer, principal).await?;
                    let admit = |peer: &Identity| admit(peer, &principal);
                    let accepted = accept_session(&opening, ttl_ms, admit);
                    let (message, opened) = refuse_on_error(connection, &peer, accepted).await?;
                    send(connection, message.as_slice()).await?;
                    return Ok(AcceptOutcome::Opened(opened));
                }
                Step::ResumeRequested(claim, proof) => {
                    let principal = let_in(&authentication, connection, access);
                    let principal = refuse_on_error(connection, &peer, principal).await?;
                    return Ok(AcceptOutcome::Claimed(claim, proof, principal));
                }
                _ => {}
            }
        }
    });
    within_handshake_time(&peer, exchange).await
}

/// The identity of a dialer that has proven enough to be let in.
fn let_in(
    authentication: &Authentication<'_>,
    connection: &Connection,
    access: &NodeAccess,
) -> Result<Principal, LinkError> {
    let principal = authentication.principal(connection)?;
    access.check(&principal)?;
    Ok(principal)
}

fn accept_session(
    opening: &Opening,
    ttl_ms: u64,
    admit: impl Fn(&Identity) -> Result<(), LinkError>,
) -> Result<(wigwag_wire::Buffer, Opened), LinkError> {
    let peer = opening.peer().ok_or(LinkError::NotWigwag)?;
    admit(peer)?;
    let resumes = features::on(peer.offered) & features::RESUME != 0;
    opening.accept(random::id(), if resumes { ttl_ms } else { 0 })
}

/// Reads the peer's next message and advances the opening. Proofs of keys are checked, and answered.
async fn step(
    connection: &mut Connection,
    input: &mut ReadBuf,
    opening: &mut Opening,
    authentication: &mut Authentication<'_>,
) -> Result<Step, NodeError> {
    let peer = connection.peer.clone();
    let limit = OPENING_BYTES_MAX + PAIR1_HEADER.len();
    let message = read_message(connection, input, limit).await?;
    let outcome = without_pair1_header(&message).and_then(|body| opening.receive(body));
    let step = refuse_on_error(connection, &peer, outcome).await?;
    let Step::Proved(proof) = step else { return Ok(step) };
    let answer = authentication.receive(&proof, opening, connection);
    if let Some(answer) = refuse_on_error(connection, &peer, answer).await? {
        send(connection, answer.as_slice()).await?;
    }
    Ok(Step::Wait)
}

/// If the peer has caused an error, tells it why this node closes.
pub(crate) async fn refuse_on_error<T>(
    connection: &Connection,
    peer: &Arc<str>,
    outcome: Result<T, LinkError>,
) -> Result<T, NodeError> {
    let error = match outcome {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if let Some((code, rule)) = error.close_code() {
        let refusal = Opening::refuse(code, rule, "");
        // If the refusal cannot be sent, the original error counts.
        let _ = send(connection, refusal.as_slice()).await;
    }
    Err(NodeError::Session { peer: peer.clone(), error })
}

pub(crate) async fn send(connection: &Connection, message: &[u8]) -> Result<(), NodeError> {
    let framed = [&PAIR1_HEADER, message].concat();
    Ok(send_message(connection, &framed).await?)
}

/// Bounds a whole exchange by the time of a handshake; errors of the exchange pass through.
///
/// The exchange is boxed: each layer around a future may double its size, and the callers' futures
/// contain this one.
pub(crate) async fn within_handshake_time<T>(
    peer: &str,
    exchange: Boxed<'_, Result<T, NodeError>>,
) -> Result<T, NodeError> {
    within(peer, async { Ok(exchange.await) }).await?
}
