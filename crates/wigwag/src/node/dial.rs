//! Finds the session with a peer, or dials a new one.

use std::sync::{Arc, OnceLock};

use tokio::time::timeout;
use wigwag_link::{Code, LinkError};
use wigwag_net::Address;
use wigwag_wire::ReadBuf;

use super::Node;
use super::inner::Inner;
use crate::connect::handshake::{self, DialOutcome};
use crate::error::NodeError;
use crate::limits::ANOTHER_WAIT;
use crate::lock::lock;
use crate::send::channel::Channel;
use crate::session::Session;

/// The session with a dialed address. The lock is held during a dial, so that others wait instead
/// of dialing too.
pub(crate) type DialedSession = Arc<tokio::sync::Mutex<Option<Arc<Session>>>>;

/// Peers that are about to have a session with this node. It makes two nodes that dial each other
/// at once end up with one session.
#[derive(Default)]
pub(crate) struct PendingSessions {
    /// Peers that an OPEN is on its way to.
    pub(crate) dialing: Vec<u128>,
    /// Peers that were accepted and whose session has not started.
    pub(crate) accepting: Vec<u128>,
}

impl Node {
    pub(crate) async fn attach(
        &self,
        address: &str,
        schema: u64,
    ) -> Result<(Channel, u64), NodeError> {
        self.inner.check_open()?;
        let parsed: Address = address.parse()?;
        let Some((peer, name)) = parsed.split_name() else {
            return Err(NodeError::NoName { address: address.to_owned() });
        };
        let session = self.session_to(&peer).await?;
        let (channel, attached) = Channel::attach(session, name, schema, &address.into()).await?;
        Ok((channel, attached.schema_hash))
    }

    /// The session with the peer at `address`; dials if there is none.
    async fn session_to(&self, address: &Address) -> Result<Arc<Session>, NodeError> {
        let dialed = lock(&self.inner.dialed_sessions).entry(address.clone()).or_default().clone();
        let mut dialed = dialed.lock().await;
        let is_usable =
            |session: &&Arc<Session>| session.sending().ended.is_none() && !session.is_doubtful();
        if let Some(session) = dialed.as_ref().filter(is_usable) {
            return Ok(session.clone());
        }
        let session = self.dial(address).await?;
        *dialed = Some(session.clone());
        Ok(session)
    }

    /// Dials the peer at `address`. Returns the new session, or the existing one that the dial has
    /// found.
    async fn dial(&self, address: &Address) -> Result<Arc<Session>, NodeError> {
        loop {
            let incarnation = match self.dial_once(address).await? {
                DialAttempt::New(session) => return Ok(session),
                DialAttempt::Existing { incarnation } => incarnation,
            };
            let session = self.inner.wait_for_session(incarnation);
            if let Ok(session) = timeout(ANOTHER_WAIT, session).await {
                return Ok(session);
            }
        }
    }

    async fn dial_once(&self, address: &Address) -> Result<DialAttempt, NodeError> {
        let mut connection = wigwag_net::transport::dial(address).await?;
        let mut input = ReadBuf::new();
        let ours = self.inner.identity();
        let pending = PendingDial { inner: &self.inner, incarnation: OnceLock::new() };
        let is_known = |peer: u128| pending.is_known(peer);
        let incarnation = match handshake::dial(&mut connection, &mut input, ours, is_known).await {
            Ok(DialOutcome::Opened(opened)) => {
                let session =
                    self.inner.start(connection, input, &opened, Some(address.clone()))?;
                return Ok(DialAttempt::New(session));
            }
            Ok(DialOutcome::Existing { incarnation }) => incarnation,
            Err(error) => match pending.incarnation.get() {
                Some(incarnation) if yields_to_existing(&error) => *incarnation,
                _ => return Err(error),
            },
        };
        connection.outlet.close();
        Ok(DialAttempt::Existing { incarnation })
    }
}

/// The result of one dial.
enum DialAttempt {
    /// The session that was dialed.
    New(Arc<Session>),
    /// There is another session with this incarnation of the peer, or there will be one at once.
    Existing { incarnation: u128 },
}

/// True if the peer has refused because another session with this node exists or is about to start.
fn yields_to_existing(error: &NodeError) -> bool {
    let NodeError::Session { error: LinkError::ClosedByPeer { code, .. }, .. } = error else {
        return false;
    };
    [Code::DIAL_TIE, Code::EXISTS].contains(code)
}

/// An OPEN on its way to a peer. The acceptor sees it.
struct PendingDial<'a> {
    inner: &'a Inner,
    incarnation: OnceLock<u128>,
}

impl PendingDial<'_> {
    /// True if there is a session with this peer, or if one is about to start.
    fn is_known(&self, peer: u128) -> bool {
        // A node that dials itself has two sessions with one incarnation, one for each end.
        if peer == self.inner.incarnation {
            return false;
        }
        let mut pending_sessions = lock(&self.inner.pending_sessions);
        if pending_sessions.dialing.contains(&peer) || pending_sessions.accepting.contains(&peer) {
            return true;
        }
        pending_sessions.dialing.push(peer);
        drop(pending_sessions);
        let _ = self.incarnation.set(peer);
        // A peer whose session is doubtful refuses this dial in its favour.
        self.inner.session_with(peer).is_some_and(|session| !session.is_doubtful())
    }
}

impl Drop for PendingDial<'_> {
    fn drop(&mut self) {
        if let Some(peer) = self.incarnation.get() {
            lock(&self.inner.pending_sessions).dialing.retain(|dialing| dialing != peer);
        }
    }
}

impl Inner {
    /// Waits for a session with this incarnation of a peer.
    async fn wait_for_session(&self, incarnation: u128) -> Arc<Session> {
        loop {
            let added = self.session_added.notified();
            if let Some(session) = self.session_with(incarnation) {
                return session;
            }
            added.await;
        }
    }
}
