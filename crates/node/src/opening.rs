//! Opening a session over a fresh connection, from either side.

use std::sync::Arc;

use wigwag_link::limits::OPENING_BYTES_MAX;
use wigwag_link::opening::Step;
use wigwag_link::{Code, Identity, LinkError, Opened, Opening};
use wigwag_net::error::NetErrorKind;
use wigwag_net::handshake::{
    announced, greet, read_header, read_message, send_header, send_message, within,
};
use wigwag_net::transport::Boxed;
use wigwag_net::{Connection, NetError};
use wigwag_wire::{HeaderError, ProtocolNumber, ReadBuf};

use crate::error::NodeError;
use crate::limits::SESSION_TTL_MS;
use crate::link::PAIR1_HEADER;
use crate::random;

/// What came of a dial.
pub(crate) enum Dialed {
    /// A session of its own.
    Opened(Identity),
    /// The peer turned out to be one that we have a session with.
    Known {
        /// Its life.
        incarnation: u128,
    },
}

/// The dialer's side. `known` says whether there is a session with that incarnation already.
pub(crate) async fn dial(
    connection: &mut Connection,
    input: &mut ReadBuf,
    ours: Identity,
    known: impl Fn(u128) -> bool + Send + Sync,
) -> Result<Dialed, NodeError> {
    let peer = connection.peer.clone();
    let exchange = Box::pin(async {
        greet(connection, input, ProtocolNumber::PAIR1).await?;
        let (mut opening, hello) = Opening::dial(ours, random::id());
        send(connection, hello.as_slice()).await?;
        loop {
            match step(connection, input, &mut opening).await? {
                Step::Send(message) => {
                    let incarnation = opening.peer().map(|peer| peer.incarnation);
                    if let Some(incarnation) = incarnation.filter(|peer| known(*peer)) {
                        return Ok(Dialed::Known { incarnation });
                    }
                    send(connection, message.as_slice()).await?;
                }
                Step::Opened(opened) => return Ok(Dialed::Opened(opened.peer)),
                _ => {}
            }
        }
    });
    bounded(&peer, exchange).await
}

/// The listener's side. `admit` decides on who asks, and refuses with an error to be told.
pub(crate) async fn accept(
    connection: &mut Connection,
    input: &mut ReadBuf,
    ours: Identity,
    admit: impl Fn(&Identity) -> Result<(), LinkError> + Send + Sync,
) -> Result<Identity, NodeError> {
    let peer = connection.peer.clone();
    let exchange = Box::pin(async {
        // A node reads first: from the protocol that the dialer announces it would know which
        // partner to be. Only PAIR1 is served in this release.
        let theirs = announced(&peer, read_header(connection, input).await?)?;
        if theirs != ProtocolNumber::PAIR1 {
            let ours = ProtocolNumber::PAIR1;
            let wrong = HeaderError::WrongProtocol { ours, theirs };
            return Err(NetError::new(&peer, NetErrorKind::Header(wrong)).into());
        }
        send_header(connection, ProtocolNumber::PAIR1).await?;
        let mut opening = Opening::listen(ours);
        loop {
            match step(connection, input, &mut opening).await? {
                Step::Send(message) => send(connection, message.as_slice()).await?,
                Step::Asked => {
                    let opened = grant(&opening, &admit);
                    let (message, Opened { peer: identity, .. }) =
                        told(connection, &peer, opened).await?;
                    send(connection, message.as_slice()).await?;
                    return Ok(identity);
                }
                Step::Claimed(..) => {
                    let rule = "no session of that id is kept here";
                    let unknown = LinkError::Misbehaved { code: Code::SESSION_UNKNOWN, rule };
                    return told(connection, &peer, Err(unknown)).await;
                }
                _ => {}
            }
        }
    });
    bounded(&peer, exchange).await
}

fn grant(
    opening: &Opening,
    admit: impl Fn(&Identity) -> Result<(), LinkError>,
) -> Result<(wigwag_wire::Buffer, Opened), LinkError> {
    admit(opening.peer().ok_or(LinkError::NotWigwag)?)?;
    opening.accept(random::id(), SESSION_TTL_MS)
}

/// Reads the peer's next message and turns the opening's crank.
async fn step(
    connection: &mut Connection,
    input: &mut ReadBuf,
    opening: &mut Opening,
) -> Result<Step, NodeError> {
    let peer = connection.peer.clone();
    let limit = OPENING_BYTES_MAX + PAIR1_HEADER.len();
    let message = read_message(connection, input, limit).await?;
    let outcome = match message.split_first_chunk::<4>() {
        Some((&PAIR1_HEADER | [0, 0, 0, 0], body)) => opening.receive(body),
        _ => Err(LinkError::protocol("a session has no device on its way")),
    };
    told(connection, &peer, outcome).await
}

/// Tells the peer why we close, when the reason is its doing.
async fn told<T>(
    connection: &Connection,
    peer: &Arc<str>,
    outcome: Result<T, LinkError>,
) -> Result<T, NodeError> {
    let error = match outcome {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if let Some((code, rule)) = error.code_to_tell() {
        let refusal = Opening::refuse(code, rule, "");
        // If it cannot hear us any more, our own error is the one that counts.
        let _ = send(connection, refusal.as_slice()).await;
    }
    Err(NodeError::Link { peer: peer.clone(), error })
}

async fn send(connection: &Connection, message: &[u8]) -> Result<(), NodeError> {
    let whole = [&PAIR1_HEADER, message].concat();
    Ok(send_message(connection, &whole).await?)
}

/// Bounds the whole exchange; the error of the exchange itself passes through.
///
/// The exchange comes in a box: each layer around a future may double what it measures, and the
/// callers' own futures contain this one.
pub(crate) async fn bounded<T>(
    peer: &str,
    exchange: Boxed<'_, Result<T, NodeError>>,
) -> Result<T, NodeError> {
    within(peer, async { Ok(exchange.await) }).await?
}
