//! How a session comes to its next connection after a cut.
//!
//! The side that dialed it dials again, at once and then after ever longer pauses; the side that was
//! dialed waits, and decides for how long.

use std::sync::Arc;

use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use wigwag_link::opening::Resumed;
use wigwag_link::{Code, Identity, LinkError};
use wigwag_net::redial::Pauses;
use wigwag_net::{Address, Connection, NetErrorKind, Redial};
use wigwag_wire::ReadBuf;

use super::handshake;
use crate::error::NodeError;
use crate::events::SessionChange;
use crate::limits::{REDIAL_LEAST, REDIAL_MOST, REDIAL_PATIENCE};
use crate::random;
use crate::session::Link;
use crate::session::connection::Carrier;

/// Where a session goes after a cut.
pub(crate) enum Next {
    /// On, over this connection.
    On(Box<(Connection, ReadBuf, Arc<Carrier>)>),
    /// On, with somebody else who cares for it.
    Elsewhere,
    /// Nowhere.
    End(String),
}

/// A try that came to nothing.
enum Failed {
    /// The next one may do better.
    ForNow(String),
    /// The peer that we knew is no more, or not for us.
    ForGood(String),
}

/// Finds the next connection of a session that was cut, or the end.
pub(crate) async fn next(link: &Arc<Link>, epoch: u64, why: &str) -> Next {
    let Some(address) = link.resuming.dialed() else {
        return wait(link, epoch, why).await;
    };
    let end = Instant::now() + link.resuming.ttl() + REDIAL_PATIENCE;
    tokio::select! {
        next = redial(link, &address, end, why) => next,
        () = link.halted() => Next::End("the session was closed here".to_owned()),
    }
}

/// The side that was dialed waits for the dialer; not beyond the short life of a session over which
/// nothing has come.
async fn wait(link: &Link, epoch: u64, why: &str) -> Next {
    let ttl = link.resuming.ttl();
    let ttl = if link.is_silent() { ttl.min(link.silent_left()) } else { ttl };
    tokio::select! {
        () = link.resuming.has_left(epoch) => Next::Elsewhere,
        () = link.halted() => Next::End("the session was closed here".to_owned()),
        () = sleep(ttl) => {
            Next::End(format!("{why}, and the peer did not come back within {ttl:?}"))
        }
    }
}

async fn redial(link: &Arc<Link>, address: &Address, end: Instant, why: &str) -> Next {
    let bounds = Redial::new(REDIAL_LEAST, REDIAL_MOST).unwrap_or_default();
    let mut pauses = Pauses::at_once(bounds);
    let mut last = "it did not answer".to_owned();
    while Instant::now() < end {
        let pause = pauses.next(random::id() as u64);
        sleep_until((Instant::now() + pause).min(end)).await;
        match timeout_at(end, dial(link, address)).await {
            Ok(Ok(found)) => return Next::On(Box::new(found)),
            Ok(Err(Failed::ForGood(found))) => return Next::End(format!("{why}; {found}")),
            Ok(Err(Failed::ForNow(found))) => {
                tracing::debug!(peer = %link.peer, %found, "a session waits for its peer");
                last = found;
            }
            Err(_) => {}
        }
    }
    Next::End(format!("{why}, and the peer was not found again: {last}"))
}

/// One try.
async fn dial(
    link: &Arc<Link>,
    address: &Address,
) -> Result<(Connection, ReadBuf, Arc<Carrier>), Failed> {
    let for_now = |error: NodeError| Failed::ForNow(first_line(&error.to_string()));
    let dialing = wigwag_net::transport::dial(address).await;
    let mut connection = dialing.map_err(|error| for_now(error.into()))?;
    let mut input = ReadBuf::new();
    let ours = Identity { nonce: random::id(), ..link.ours };
    let taken = handshake::resume(&mut connection, &mut input, ours, link).await;
    let outlet = connection.outlet.clone();
    let outcome = match taken {
        Ok((epoch, resumed)) => carry_on(link, epoch, &connection, resumed),
        Err(error) => Err(judge(link, error)),
    };
    match outcome {
        Ok(carrier) => Ok((connection, input, carrier)),
        Err(failed) => {
            outlet.close();
            Err(failed)
        }
    }
}

fn carry_on(
    link: &Arc<Link>,
    epoch: u64,
    connection: &Connection,
    resumed: Resumed,
) -> Result<Arc<Carrier>, Failed> {
    link.resuming.renew(resumed.token);
    match link.carry_on(epoch, connection, resumed.recv_next) {
        Ok(Some(carrier)) => Ok(carrier),
        Ok(None) => Err(Failed::ForGood("the session is over".to_owned())),
        Err(error) => Err(Failed::ForGood(error.to_string())),
    }
}

/// What a failed try says of the peer.
fn judge(link: &Link, error: NodeError) -> Failed {
    let text = first_line(&error.to_string());
    match &error {
        NodeError::Link { error: LinkError::ToldByPeer { code, .. }, .. }
            if [Code::SESSION_UNKNOWN, Code::TOKEN_BAD].contains(code) =>
        {
            Failed::ForGood("the peer knows the session no more".to_owned())
        }
        NodeError::Restarted => Failed::ForGood("the peer was started anew".to_owned()),
        NodeError::Link { error: LinkError::NotWigwag, .. } => {
            link.announce(SessionChange::PeerChanged { found: text.as_str().into() });
            Failed::ForNow(text)
        }
        NodeError::Net(net) if matches!(net.kind, NetErrorKind::Header(_)) => {
            link.announce(SessionChange::PeerChanged { found: text.as_str().into() });
            Failed::ForNow(text)
        }
        _ => Failed::ForNow(text),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
