//! How a node comes to a session with a peer: the one that there is, or a new one.

use std::sync::{Arc, OnceLock};

use tokio::time::timeout;
use wigwag_link::{Code, LinkError};
use wigwag_net::Address;
use wigwag_wire::ReadBuf;

use crate::channel::Channel;
use crate::error::NodeError;
use crate::limits::ANOTHER_WAIT;
use crate::link::Link;
use crate::node::{Inner, Node, lock};
use crate::opening::{self, Dialed};

/// A dialed address: the lock is held while somebody dials, so others wait instead of dialing too.
pub(crate) type DialedLink = Arc<tokio::sync::Mutex<Option<Arc<Link>>>>;

/// Who is about to have a session with us; so that two nodes that dial each other at once end up with
/// one.
#[derive(Default)]
pub(crate) struct Beginning {
    /// An OPEN of ours is on its way to them.
    pub(crate) asked: Vec<u128>,
    /// They were let in, and their link has not begun.
    pub(crate) admitted: Vec<u128>,
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
        let link = self.link_to(&peer).await?;
        let (channel, attached) = link.attach(name, schema, &address.into()).await?;
        Ok((channel, attached.schema_hash))
    }

    /// The session with the peer at `address`; dials when there is none.
    async fn link_to(&self, address: &Address) -> Result<Arc<Link>, NodeError> {
        let dialed = lock(&self.inner.dialed).entry(address.clone()).or_default().clone();
        let mut dialed = dialed.lock().await;
        let lives = |link: &&Arc<Link>| link.sending().ended.is_none() && !link.is_doubtful();
        if let Some(link) = dialed.as_ref().filter(lives) {
            return Ok(link.clone());
        }
        let link = self.dial(address).await?;
        *dialed = Some(link.clone());
        Ok(link)
    }

    /// A session with the peer at `address`: a new one, or that which stands in its way.
    async fn dial(&self, address: &Address) -> Result<Arc<Link>, NodeError> {
        loop {
            let incarnation = match self.dial_once(address).await? {
                Found::New(link) => return Ok(link),
                Found::Another { incarnation } => incarnation,
            };
            let arriving = self.inner.link_arriving(incarnation);
            if let Ok(link) = timeout(ANOTHER_WAIT, arriving).await {
                return Ok(link);
            }
        }
    }

    async fn dial_once(&self, address: &Address) -> Result<Found, NodeError> {
        let mut connection = wigwag_net::transport::dial(address).await?;
        let mut input = ReadBuf::new();
        let ours = self.inner.identity();
        let asking = Asking { inner: &self.inner, incarnation: OnceLock::new() };
        let known = |peer: u128| asking.know(peer);
        let incarnation = match opening::dial(&mut connection, &mut input, ours, known).await {
            Ok(Dialed::Opened(opened)) => {
                let link = self.inner.start(connection, input, &opened, Some(address.clone()))?;
                return Ok(Found::New(link));
            }
            Ok(Dialed::Known { incarnation }) => incarnation,
            Err(error) => match asking.incarnation.get() {
                Some(incarnation) if yields_to_another(&error) => *incarnation,
                _ => return Err(error),
            },
        };
        connection.outlet.close();
        Ok(Found::Another { incarnation })
    }
}

/// What a dial has come upon.
enum Found {
    /// The session that it was for.
    New(Arc<Link>),
    /// The peer, or somebody here, has another with that incarnation of it, or will have at once.
    Another { incarnation: u128 },
}

/// The peer has refused because there is a session with us, or will be at once.
fn yields_to_another(error: &NodeError) -> bool {
    let NodeError::Link { error: LinkError::ClosedByPeer { code, .. }, .. } = error else {
        return false;
    };
    [Code::DIAL_TIE, Code::EXISTS].contains(code)
}

/// An OPEN of ours on its way; known to the door.
struct Asking<'a> {
    inner: &'a Inner,
    incarnation: OnceLock<u128>,
}

impl Asking<'_> {
    /// The peer is known: there is a session with it already, or one is about to begin.
    fn know(&self, peer: u128) -> bool {
        // A node that dials itself has two links with one incarnation, each an end of the other.
        if peer == self.inner.incarnation {
            return false;
        }
        let mut beginning = lock(&self.inner.beginning);
        if beginning.asked.contains(&peer) || beginning.admitted.contains(&peer) {
            return true;
        }
        beginning.asked.push(peer);
        drop(beginning);
        let _ = self.incarnation.set(peer);
        // A peer that has a doubtful one refuses ours in its favour.
        self.inner.link_with(peer).is_some_and(|link| !link.is_doubtful())
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        if let Some(peer) = self.incarnation.get() {
            lock(&self.inner.beginning).asked.retain(|asked| asked != peer);
        }
    }
}

impl Inner {
    /// The living link with that incarnation, which may be about to begin.
    async fn link_arriving(&self, incarnation: u128) -> Arc<Link> {
        loop {
            let arrived = self.arrived.notified();
            if let Some(link) = self.link_with(incarnation) {
                return link;
            }
            arrived.await;
        }
    }
}
