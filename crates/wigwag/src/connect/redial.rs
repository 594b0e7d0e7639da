//! Finds the next connection of a session after a cut.
//!
//! The dialer reconnects with backoff, at once at first. The listener waits for the dialer, as long
//! as it keeps the session.

use std::sync::Arc;

use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use wigwag_link::opening::Resumed;
use wigwag_link::{Code, Identity, LinkError};
use wigwag_net::backoff::Backoff;
use wigwag_net::{Address, Connection, NetErrorKind, Redial, clock};
use wigwag_wire::ReadBuf;

use super::handshake;
use crate::error::NodeError;
use crate::events::SessionChange;
use crate::limits::{REDIAL_LEAST, REDIAL_MOST, REDIAL_PATIENCE, SILENT_SESSION_TTL};
use crate::random;
use crate::session::Session;
use crate::session::connection::SessionConnection;

/// The continuation of a session after a cut.
pub(crate) enum NextConnection {
    /// It resumes over this connection.
    Resumed(Box<(Connection, ReadBuf, Arc<SessionConnection>)>),
    /// It goes on in another task.
    Superseded,
    /// It ends.
    End(String),
}

/// Why a redial has failed.
enum RedialError {
    /// The next attempt may succeed.
    Transient(String),
    /// The peer is gone, or another peer has its place.
    Permanent(String),
}

/// Finds the next connection of a session that was cut, or ends it.
pub(crate) async fn next(session: &Arc<Session>, epoch: u64, why: &str) -> NextConnection {
    let Some(address) = session.resumption.dialed().cloned() else {
        return wait_for_dialer(session, epoch, why).await;
    };
    let end = Instant::now() + session.resumption.ttl() + REDIAL_PATIENCE;
    tokio::select! {
        next = redial(session, &address, end, why) => next,
        () = session.halted() => NextConnection::End("the session was closed here".to_owned()),
    }
}

/// Waits for the dialer: for the TTL, or for the rest of the short life of a silent session.
async fn wait_for_dialer(session: &Session, epoch: u64, why: &str) -> NextConnection {
    let ttl = session.resumption.ttl();
    let silence = session.is_silent().then(|| session.silence_left()).filter(|left| *left < ttl);
    tokio::select! {
        () = session.resumption.superseded(epoch) => NextConnection::Superseded,
        () = session.halted() => NextConnection::End("the session was closed here".to_owned()),
        () = sleep(silence.unwrap_or(ttl)) => NextConnection::End(match silence {
            None => format!(
                "{why}, and the peer did not come back within {ttl:?} (NodeOptions::keep_sessions)"
            ),
            Some(_) => format!(
                "{why}, and a session over which nothing has arrived is kept for \
                 {SILENT_SESSION_TTL:?} at most"
            ),
        })
    }
}

async fn redial(
    session: &Arc<Session>,
    address: &Address,
    end: Instant,
    why: &str,
) -> NextConnection {
    let bounds = Redial::new(REDIAL_LEAST, REDIAL_MOST).unwrap_or_default();
    let mut pauses = Backoff::immediate(bounds);
    let mut last = "it did not answer".to_owned();
    while Instant::now() < end {
        let pause = pauses.next(random::id() as u64);
        session.plan_attempt(Some(clock::now() + pause));
        sleep_until((Instant::now() + pause).min(end)).await;
        session.plan_attempt(None);
        match timeout_at(end, dial(session, address)).await {
            Ok(Ok(resumed)) => return NextConnection::Resumed(Box::new(resumed)),
            Ok(Err(RedialError::Permanent(error))) => {
                return NextConnection::End(format!("{why}; {error}"));
            }
            Ok(Err(RedialError::Transient(error))) => {
                let (peer, reason) = (&*session.peer, &*error);
                tracing::debug!(target: "wigwag::session", peer, reason, "a session waits for its peer");
                session.attempt_failed(&error);
                last = error;
            }
            Err(_) => {}
        }
    }
    let patience = session.resumption.ttl() + REDIAL_PATIENCE;
    NextConnection::End(format!(
        "{why}, and the peer was not found again within {patience:?} \
         (NodeOptions::keep_sessions of the listener, and {REDIAL_PATIENCE:?}): {last}"
    ))
}

/// Dials once.
async fn dial(
    session: &Arc<Session>,
    address: &Address,
) -> Result<(Connection, ReadBuf, Arc<SessionConnection>), RedialError> {
    let transient = |error: NodeError| RedialError::Transient(error.reason());
    let options = session.resumption.dial_options().clone();
    let dialing = wigwag_net::transport::dial_with(address, options).await;
    let mut connection = dialing.map_err(|error| transient(error.into()))?;
    let mut input = ReadBuf::new();
    let ours = Identity { nonce: random::id(), ..session.ours };
    let resumed = handshake::resume(&mut connection, &mut input, ours, session).await;
    let outlet = connection.outlet.clone();
    let outcome = match resumed {
        Ok((epoch, resumed)) => resume_on(session, epoch, &connection, resumed),
        Err(error) => Err(classify(session, error)),
    };
    match outcome {
        Ok(session_connection) => Ok((connection, input, session_connection)),
        Err(failed) => {
            outlet.close();
            Err(failed)
        }
    }
}

fn resume_on(
    session: &Arc<Session>,
    epoch: u64,
    connection: &Connection,
    resumed: Resumed,
) -> Result<Arc<SessionConnection>, RedialError> {
    session.resumption.credentials().renew(resumed.token);
    match session.resume_on(epoch, connection, resumed.recv_next) {
        Ok(Some(session_connection)) => Ok(session_connection),
        Ok(None) => Err(RedialError::Permanent("the session is over".to_owned())),
        Err(error) => Err(RedialError::Permanent(error.to_string())),
    }
}

/// Decides whether a failed attempt is final.
fn classify(session: &Session, error: NodeError) -> RedialError {
    let text = error.reason();
    match &error {
        NodeError::Session { error: LinkError::ClosedByPeer { code, .. }, .. }
            if [Code::SESSION_UNKNOWN, Code::TOKEN_BAD].contains(code) =>
        {
            RedialError::Permanent("the peer knows the session no more".to_owned())
        }
        NodeError::Restarted => RedialError::Permanent("the peer was started anew".to_owned()),
        NodeError::Session { error: LinkError::NotWigwag, .. } => {
            session.announce(SessionChange::PeerChanged { found: text.as_str().into() });
            RedialError::Transient(text)
        }
        NodeError::Net(net) if matches!(net.kind, NetErrorKind::Header(_)) => {
            session.announce(SessionChange::PeerChanged { found: text.as_str().into() });
            RedialError::Transient(text)
        }
        _ => RedialError::Transient(text),
    }
}
