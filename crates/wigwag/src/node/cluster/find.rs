//! Finds an actor by the name under which some connected node exports it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use wigwag_actor::{CallError, CallErrorKind, Caller, Interface, Ref};

use crate::error::NodeError;
use crate::exports;
use crate::limits::{FIND_TIME_MAX, FINDS_MAX};
use crate::lock::lock;
use crate::node::{Node, runtime};
use crate::send::remote::Remote;
use crate::session::Session;
use crate::session::attach::AttachTo;

/// An actor that [`Node::find_all`] has found.
#[non_exhaustive]
pub struct FoundActor<I: Interface> {
    /// A reference to the actor.
    pub actor: I::Ref,
    /// The node that exports it; `None` for the node that has looked for it.
    pub peer: Option<Caller>,
}

impl<I: Interface> fmt::Debug for FoundActor<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FoundActor").field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl Node {
    /// Finds an actor that is exported as `name`, by this node or by one that it has a session with,
    /// be it dialed or accepted. If several are, this node's own is the first, and otherwise that of
    /// the peer that answers first: names are not unique among nodes.
    ///
    /// The reference is like one that was fetched with the address of that node.
    ///
    /// ```
    /// use wigwag::{Actor, Node};
    ///
    /// struct Clock;
    ///
    /// #[wigwag::actor]
    /// impl Clock {
    ///     pub fn hour(&self) -> u8 {
    ///         12
    ///     }
    /// }
    ///
    /// # #[wigwag::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (service, client) = (Node::new(), Node::new());
    /// let bound = service.listen("tcp://127.0.0.1:0").await?;
    /// client.connect(&bound.to_string()).await?;
    ///
    /// service.export("clock", &Clock.spawn())?;
    /// let clock = client.find::<Clock>("clock").await?;
    /// assert_eq!(clock.hour().ask().await?, 12);
    /// # Ok(()) }
    /// ```
    ///
    /// # Performance
    /// Unless this node exports the name itself, it opens a channel by it over each session that has
    /// a connection, at most [`FINDS_MAX`](crate::limits::FINDS_MAX) at a time, and gives back those
    /// that it does not need: a message to each peer, and one back.
    ///
    /// # Errors
    /// - [`Call`](NodeError::Call) with [`NoSuchActor`](CallErrorKind::NoSuchActor) if no peer has
    ///   answered within 5 s that it exports such an actor, and lets this node call it;
    /// - [`BadName`](NodeError::BadName) if no actor can have this name;
    /// - [`Closed`](NodeError::Closed) if this node is closed.
    ///
    /// # Cancellation
    /// If dropped while it waits, no reference is made.
    pub async fn find<I: Interface>(&self, name: &str) -> Result<I::Ref, NodeError> {
        let found = self.find_some::<I>(name, 1).await?;
        let first = found.into_iter().next().map(|found| found.actor);
        first.ok_or_else(|| {
            let why = "neither this node nor a connected one exports it to this node";
            CallError::new(CallErrorKind::NoSuchActor, &name.into()).with_detail(why).into()
        })
    }

    /// Finds all actors that are exported as `name`, by this node and those that it has a session
    /// with. Peers that are not connected at the moment, or have not answered within 5 s, are left
    /// out.
    ///
    /// Each reference that is kept holds a channel.
    ///
    /// # Errors
    /// [`BadName`](NodeError::BadName) and [`Closed`](NodeError::Closed), as for
    /// [`find`](Node::find).
    ///
    /// # Cancellation
    /// As for [`find`](Node::find).
    pub async fn find_all<I: Interface>(
        &self,
        name: &str,
    ) -> Result<Vec<FoundActor<I>>, NodeError> {
        self.find_some(name, usize::MAX).await
    }

    /// Opens a session with the node at `address`, if there is none yet, and returns what that node
    /// is. The address is the one that the node listens at, without the name of an actor.
    ///
    /// # Errors
    /// Those of [`actor`](Node::actor), except those of the actor.
    ///
    /// # Cancellation
    /// As for [`actor`](Node::actor).
    pub async fn connect(&self, address: &str) -> Result<Caller, NodeError> {
        self.inner.check_open()?;
        let connect = Box::pin(async {
            let session = self.session_to(&address.parse()?).await?;
            Ok(session.caller())
        });
        runtime::enter(&self.inner.runtime, self.within_attach_time(address, connect)).await
    }

    async fn find_some<I: Interface>(
        &self,
        name: &str,
        most: usize,
    ) -> Result<Vec<FoundActor<I>>, NodeError> {
        self.inner.check_open()?;
        exports::check(name)?;
        let own = self.inner.exports.find(name.as_bytes());
        let own = own.and_then(|own| own.reference().downcast::<Ref<I>>().ok());
        let mut found: Vec<_> = own
            .map(|own| FoundActor { actor: I::Ref::from(*own), peer: None })
            .into_iter()
            .collect();
        if found.len() < most {
            let asked = self.ask_peers(name, most - found.len());
            found.extend(runtime::enter(&self.inner.runtime, asked).await);
        }
        Ok(found)
    }

    /// Attaches to the actors that peers export under this name, until there are `most`.
    async fn ask_peers<I: Interface>(&self, name: &str, most: usize) -> Vec<FoundActor<I>> {
        let until = Instant::now() + FIND_TIME_MAX;
        let mut waiting: VecDeque<Arc<Session>> = self.connected().into();
        let (mut asked, mut found) = (JoinSet::new(), Vec::new());
        let watch = *lock(&self.inner.answer_spin);
        while found.len() < most {
            while asked.len() < FINDS_MAX
                && let Some(session) = waiting.pop_front()
            {
                let name = name.to_owned();
                asked.spawn(async move {
                    let target = format!("{}/{name}", session.peer).into();
                    let peer = session.caller();
                    let to = AttachTo::Name(&name);
                    let remote = Remote::<I>::attach(session, to, &target, watch).await.ok()?;
                    let actor = Ref::remote(remote.shared(watch)).into();
                    Some(FoundActor { actor, peer: Some(peer) })
                });
            }
            match timeout_at(until, asked.join_next()).await {
                Ok(Some(Ok(answer))) => found.extend(answer),
                // A task that was cancelled with its runtime has found nothing.
                Ok(Some(Err(_))) => {}
                Ok(None) | Err(_) => break,
            }
        }
        // The others give their channels back.
        found
    }

    /// The sessions with other nodes that have a connection.
    pub(super) fn connected(&self) -> Vec<Arc<Session>> {
        let own = self.inner.incarnation;
        let sessions: Vec<_> = self.inner.sessions().iter().cloned().collect();
        let is_connected = |session: &Arc<Session>| {
            session.identity.incarnation != own && session.disconnection().is_none()
        };
        let living = sessions.into_iter().filter(|session| !session.has_ended());
        living.filter(is_connected).collect()
    }
}
