//! How a node comes to a session with a peer: the one that there is, or a new one.

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

/// A dialed address: the lock is held while somebody dials, so others wait instead of dialing too.
pub(crate) type DialedSession = Arc<tokio::sync::Mutex<Option<Arc<Session>>>>;

/// Who is about to have a session with us; so that two nodes that dial each other at once end up with
/// one.
#[derive(Default)]
pub(crate) struct PendingSessions {
    /// An OPEN of ours is on its way to them.
    pub(crate) dialing: Vec<u128>,
    /// They were let in, and their link has not begun.
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

    /// The session with the peer at `address`; dials when there is none.
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

    /// A session with the peer at `address`: a new one, or that which stands in its way.
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

/// What a dial has come upon.
enum DialAttempt {
    /// The session that it was for.
    New(Arc<Session>),
    /// The peer, or somebody here, has another with that incarnation of it, or will have at once.
    Existing { incarnation: u128 },
}

/// The peer has refused because there is a session with us, or will be at once.
fn yields_to_existing(error: &NodeError) -> bool {
    let NodeError::Session { error: LinkError::ClosedByPeer { code, .. }, .. } = error else {
        return false;
    };
    [Code::DIAL_TIE, Code::EXISTS].contains(code)
}

/// An OPEN of ours on its way; known to the door.
struct PendingDial<'a> {
    inner: &'a Inner,
    incarnation: OnceLock<u128>,
}

impl PendingDial<'_> {
    /// The peer is known: there is a session with it already, or one is about to begin.
    fn is_known(&self, peer: u128) -> bool {
        // A node that dials itself has two links with one incarnation, each an end of the other.
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
        // A peer that has a doubtful one refuses ours in its favour.
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
    /// The living link with that incarnation, which may be about to begin.
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
