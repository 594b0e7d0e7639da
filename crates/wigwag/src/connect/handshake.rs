//! The handshake of a fresh connection, from either side: opens a session or resumes one.

use std::sync::Arc;

use wigwag_link::batch::{PAIR1_HEADER, without_pair1_header};
use wigwag_link::limits::OPENING_BYTES_MAX;
use wigwag_link::opening::{Resumed, Step};
use wigwag_link::resume::{Claim, PROOF_BYTES};
use wigwag_link::{Identity, LinkError, Opened, Opening, features};
use wigwag_net::error::NetErrorKind;
use wigwag_net::handshake::{
    announced, greet, read_header, read_message, send_header, send_message, within,
};
use wigwag_net::transport::Boxed;
use wigwag_net::{Connection, NetError};
use wigwag_wire::{HeaderError, ProtocolNumber, ReadBuf};

use crate::error::NodeError;
use crate::random;
use crate::session::Session;
use crate::session::resumption;

/// The result of a dial.
pub(crate) enum DialOutcome {
    /// The dial has opened a session.
    Opened(Opened),
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
    Claimed(Claim, [u8; PROOF_BYTES]),
    /// The dialer is an SP client: the partner of its protocol, whose header was sent.
    Client(ProtocolNumber),
}

/// Runs the dialer's side. `may_open` decides whether OPEN is sent, or another session with the peer
/// is used.
pub(crate) async fn dial(
    connection: &mut Connection,
    input: &mut ReadBuf,
    (ours, name): (Identity, &str),
    may_open: impl Fn(&Identity) -> bool + Send + Sync,
) -> Result<DialOutcome, NodeError> {
    let peer = connection.peer.clone();
    let exchange = Box::pin(async {
        greet(connection, input, ProtocolNumber::PAIR1).await?;
        let (opening, hello) = Opening::dial(ours, random::id());
        let mut opening = opening.with_name(name);
        send(connection, hello.as_slice()).await?;
        loop {
            match step(connection, input, &mut opening).await? {
                Step::Send(message) => {
                    if let Some(peer) = opening.peer().filter(|peer| !may_open(peer)) {
                        return Ok(DialOutcome::Existing { incarnation: peer.incarnation });
                    }
                    send(connection, message.as_slice()).await?;
                }
                Step::Opened(opened) => return Ok(DialOutcome::Opened(opened)),
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
        let (mut opening, hello) = Opening::redial(ours);
        send(connection, hello.as_slice()).await?;
        let mut epoch = 0;
        loop {
            match step(connection, input, &mut opening).await? {
                Step::PeerKnown => {
                    let peer_and_nonces = opening.peer().zip(opening.nonces());
                    let Some((identity, nonces)) = peer_and_nonces else { continue };
                    resumption::check_identity(session, identity)?;
                    let claimed = resumption::claim(session, nonces);
                    let (claim, proof) =
                        refuse_on_error(connection, &session.peer, claimed).await?;
                    epoch = claim.epoch;
                    let message = opening.resume(&claim, &proof);
                    send(connection, message.as_slice()).await?;
                }
                Step::Resumed(resumed) => return Ok((epoch, resumed)),
                _ => {}
            }
        }
    });
    within_handshake_time(&peer, exchange).await
}

/// Runs the listener's side. `partner` gives the protocol that serves an SP client. `admit` decides
/// whether a peer may open a session; its error is sent to the peer. `ttl_ms` is how long the
/// session will be kept after a cut.
pub(crate) async fn accept(
    connection: &mut Connection,
    input: &mut ReadBuf,
    (ours, name): (Identity, &str),
    ttl_ms: u64,
    (partner, admit): (
        impl Fn(ProtocolNumber) -> Option<ProtocolNumber> + Send + Sync,
        impl Fn(&Identity) -> Result<(), LinkError> + Send + Sync,
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
        if let Some(partner) = partner(theirs) {
            send_header(connection, partner).await?;
            return Ok(AcceptOutcome::Client(partner));
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
        let mut opening = Opening::listen(ours).with_name(name);
        loop {
            match step(connection, input, &mut opening).await? {
                Step::Send(message) => send(connection, message.as_slice()).await?,
                Step::OpenRequested => {
                    let accepted = accept_session(&opening, ttl_ms, &admit);
                    let (message, opened) = refuse_on_error(connection, &peer, accepted).await?;
                    send(connection, message.as_slice()).await?;
                    return Ok(AcceptOutcome::Opened(opened));
                }
                Step::ResumeRequested(claim, proof) => {
                    return Ok(AcceptOutcome::Claimed(claim, proof));
                }
                _ => {}
            }
        }
    });
    within_handshake_time(&peer, exchange).await
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

/// Reads the peer's next message and advances the opening.
async fn step(
    connection: &mut Connection,
    input: &mut ReadBuf,
    opening: &mut Opening,
) -> Result<Step, NodeError> {
    let peer = connection.peer.clone();
    let limit = OPENING_BYTES_MAX + PAIR1_HEADER.len();
    let message = read_message(connection, input, limit).await?;
    let outcome = without_pair1_header(&message).and_then(|body| opening.receive(body));
    refuse_on_error(connection, &peer, outcome).await
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
