//! Finds the session with a peer, or dials a new one.

use std::sync::{Arc, OnceLock};

use tokio::time::timeout;
use wigwag_actor::{CallError, CallErrorKind};
use wigwag_link::Identity;
use wigwag_link::opening::admission::{self, PeerState};
use wigwag_net::transport::Boxed;
use wigwag_net::{Address, DialOptions, NetErrorKind};
use wigwag_wire::ReadBuf;

use super::Node;
use super::inner::Inner;
use crate::connect::handshake::{self, DialOutcome};
use crate::error::NodeError;
use crate::limits::ANOTHER_WAIT;
use crate::lock::lock;
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

impl PendingSessions {
    /// The state of an incarnation of a peer, with which this node has `session`.
    pub(crate) fn peer_state(&self, incarnation: u128, session: Option<&Session>) -> PeerState {
        PeerState {
            session: session.map(Session::progress),
            is_dialing: self.dialing.contains(&incarnation),
            is_accepting: self.accepting.contains(&incarnation),
            is_closing: false,
        }
    }
}

impl Node {
    /// The peer and the name in the address of an actor.
    pub(super) fn split(&self, address: &str) -> Result<(Address, String), NodeError> {
        self.inner.check_open()?;
        let parsed: Address = address.parse()?;
        match parsed.split_name() {
            Some((peer, name)) => Ok((peer, name.to_owned())),
            None => Err(NodeError::NoName { address: address.to_owned() }),
        }
    }

    /// Runs an exchange with the peer of the actor at `address` within the time of a handshake.
    pub(crate) async fn within_attach_time<T>(
        &self,
        address: &str,
        attach: Boxed<'_, Result<T, NodeError>>,
    ) -> Result<T, NodeError> {
        self.inner.check_running()?;
        match handshake::within_handshake_time(address, attach).await {
            Err(NodeError::Net(error)) if matches!(error.kind, NetErrorKind::TimedOut(_)) => {
                Err(self.disconnected(address).unwrap_or(NodeError::Net(error)))
            }
            outcome => outcome,
        }
    }

    /// The error of the session with the peer at `address`, if it has one that is cut.
    fn disconnected(&self, address: &str) -> Option<NodeError> {
        let (peer, _) = address.parse::<Address>().ok()?.split_name()?;
        let dialed = lock(&self.inner.dialed_sessions).get(&peer)?.clone();
        // While the lock is held, a new session is dialed.
        let session = dialed.try_lock().ok()?.clone();
        let session = session?;
        let disconnection = session.disconnection()?;
        Some(NodeError::Disconnected { peer: session.peer.clone(), disconnection })
    }

    /// The session with the peer at `address`; dials if there is none.
    pub(crate) async fn session_to(&self, address: &Address) -> Result<Arc<Session>, NodeError> {
        self.session_with_options(address, self.inner.options.dial.clone()).await
    }

    /// The session with the peer at `address`; dials with these options if there is none.
    async fn session_with_options(
        &self,
        address: &Address,
        options: DialOptions,
    ) -> Result<Arc<Session>, NodeError> {
        let dialed = lock(&self.inner.dialed_sessions).entry(address.clone()).or_default().clone();
        let mut dialed = dialed.lock().await;
        let is_usable =
            |session: &&Arc<Session>| session.sending().ended.is_none() && !session.is_doubtful();
        if let Some(session) = dialed.as_ref().filter(is_usable) {
            return Ok(session.clone());
        }
        let session = self.dial(address, options).await?;
        *dialed = Some(session.clone());
        Ok(session)
    }

    /// A session with this incarnation of a peer: the living one, or one that is dialed at one of
    /// `addresses`.
    pub(super) async fn reach(
        &self,
        incarnation: u128,
        addresses: &[Arc<str>],
    ) -> Result<Arc<Session>, NodeError> {
        if let Some(session) = self.inner.session_for(incarnation, addresses) {
            return Ok(session);
        }
        let target = addresses.first().cloned().unwrap_or_else(|| "?".into());
        let error = |why: &str| {
            let error = CallError::new(CallErrorKind::NotDelivered, &target).with_detail(why);
            NodeError::Call(error)
        };
        if !self.inner.options.dials_references {
            let why = "this node does not dial the nodes of references that it was sent";
            return Err(error(why));
        }
        // The semaphore is never closed.
        let _place = self.inner.reaching.acquire().await;
        let mut failed = error("a reference says no address at which its node can be reached");
        // The header lines of this node are not for whatever address a peer has named.
        let options = self.inner.options.dial.clone().without_headers();
        for address in addresses {
            let options = options.clone();
            let attempt = async {
                let session = self.session_with_options(&address.parse()?, options).await?;
                match session.identity.incarnation == incarnation {
                    true => Ok(session),
                    false => Err(error("another node listens at the address of a reference")),
                }
            };
            match handshake::within_handshake_time(address, Box::pin(attempt)).await {
                Ok(session) => return Ok(session),
                Err(error) => failed = error,
            }
            // A peer may send references to any number of addresses.
            lock(&self.inner.dialed_sessions)
                .retain(|_, dialed| dialed.try_lock().map_or(true, |dialed| dialed.is_some()));
        }
        Err(failed)
    }

    /// Dials the peer at `address`. Returns the new session, or the existing one that the dial has
    /// found.
    async fn dial(
        &self,
        address: &Address,
        options: DialOptions,
    ) -> Result<Arc<Session>, NodeError> {
        loop {
            let attempt = self.dial_once(address, options.clone()).await?;
            let (incarnation, has_certificate) = match attempt {
                DialAttempt::New(session) => return Ok(session),
                DialAttempt::Existing { incarnation, has_certificate } => {
                    (incarnation, has_certificate)
                }
            };
            let session = self.inner.wait_for_session(incarnation);
            if let Ok(session) = timeout(ANOTHER_WAIT, session).await {
                let checked = self.inner.access.check_reused(session.principal(), has_certificate);
                let peer = session.peer.clone();
                return checked
                    .map(|()| session)
                    .map_err(|error| NodeError::Session { peer, error });
            }
        }
    }

    async fn dial_once(
        &self,
        address: &Address,
        options: DialOptions,
    ) -> Result<DialAttempt, NodeError> {
        let mut connection = wigwag_net::transport::dial_with(address, options.clone()).await?;
        let (mut input, peer) = (ReadBuf::new(), connection.peer.clone());
        let (ours, access) = (self.inner.identity(), &self.inner.access);
        let pending = PendingDial { inner: &self.inner, ours, incarnation: OnceLock::new() };
        let may_open = |peer: &Identity| pending.may_open(peer);
        let name = self.inner.options.name.as_deref().unwrap_or_default();
        let incarnation = match handshake::dial(
            &mut connection,
            &mut input,
            (ours, name),
            access,
            may_open,
        )
        .await
        {
            Ok(DialOutcome::Opened(opened, principal)) => {
                let place = access.enter(&principal, None);
                let place = handshake::refuse_on_error(&connection, &peer, place).await?;
                let dialed = Some((address.clone(), options));
                let session = self.inner.start(connection, input, &opened, dialed, place)?;
                return Ok(DialAttempt::New(session));
            }
            Ok(DialOutcome::Existing { incarnation }) => incarnation,
            Err(error) => match pending.incarnation.get() {
                Some(incarnation) if yields_to_another(&error) => *incarnation,
                _ => return Err(error),
            },
        };
        connection.outlet.close();
        let has_certificate = connection.certificate.get().is_some();
        Ok(DialAttempt::Existing { incarnation, has_certificate })
    }
}

/// The result of one dial.
enum DialAttempt {
    /// The session that was dialed.
    New(Arc<Session>),
    /// There is another session with this incarnation of the peer, or there will be one at once.
    Existing {
        incarnation: u128,
        /// TLS has checked the certificate of the listener that was dialed.
        has_certificate: bool,
    },
}

/// True if the peer has refused because another session with this node exists or is about to start.
fn yields_to_another(error: &NodeError) -> bool {
    matches!(error, NodeError::Session { error, .. } if admission::yields_to_another(error))
}

/// An OPEN on its way to a peer. The acceptor sees it.
struct PendingDial<'a> {
    inner: &'a Inner,
    ours: Identity,
    incarnation: OnceLock<u128>,
}

impl PendingDial<'_> {
    /// Decides whether this dial sends OPEN, which is pending from then on.
    fn may_open(&self, peer: &Identity) -> bool {
        let incarnation = peer.incarnation;
        let mut pending_sessions = lock(&self.inner.pending_sessions);
        let session = self.inner.session_with(incarnation);
        let state = pending_sessions.peer_state(incarnation, session.as_deref());
        let may_open = state.may_open(&self.ours, peer);
        if may_open {
            pending_sessions.dialing.push(incarnation);
            let _ = self.incarnation.set(incarnation);
        }
        may_open
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
