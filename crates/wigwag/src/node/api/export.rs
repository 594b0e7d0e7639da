//! Exports: the names under which other nodes and other protocols reach the actors of a node.

use std::sync::Arc;

use wigwag_actor::{Exportable, Groups, Interface, Principal, Ref};

use crate::error::NodeError;
use crate::exported_groups::ExportedGroup;
use crate::node::Node;
use crate::proxy::{ExportedRoute, Proxy};

impl Node {
    /// Exports `actor` under `name`, so that other nodes can call it. The node holds a reference:
    /// the actor lives as long as it is exported.
    ///
    /// See [`Node`] for an example.
    ///
    /// # Errors
    /// - [`BadName`](NodeError::BadName) if the name is taken by a running actor, is empty, longer
    ///   than 255 bytes, or contains a slash or control characters; also if the actor lives on
    ///   another node;
    /// - [`Closed`](NodeError::Closed) if the node is closed.
    pub fn export<I: Interface>(
        &self,
        name: &str,
        actor: &impl AsRef<Ref<I>>,
    ) -> Result<(), NodeError>
    where
        I::Codec: Exportable,
    {
        self.inner.check_open()?;
        let Some(exported) = actor.as_ref().exported() else {
            let rule = "the actor lives on another node, which must export it";
            return Err(NodeError::BadName { name: name.to_owned(), rule });
        };
        let publisher = self.inner.options.sp_clients;
        let publisher = publisher.then(|| self.inner.sp_clients.publisher_for(name));
        self.inner.exports.add(name, exported, publisher)
    }

    /// Calls the exported actors for a program that has no session: what a server for another protocol
    /// does, as an HTTP gateway. The calls are those of `principal`, whom the server has identified and
    /// who is at `peer`, an address in words: permissions and limits of [`Access`](crate::access::Access)
    /// apply, and an actor sees both in [`This::caller`](crate::This::caller).
    ///
    /// See [`Proxy`] for an example.
    ///
    /// # Errors
    /// - [`Session`](NodeError::Session) if the identity has as many sessions, proxies among them, as it
    ///   may;
    /// - [`Closed`](NodeError::Closed) if the node is closed.
    pub fn proxy(&self, principal: Principal, peer: &str) -> Result<Proxy, NodeError> {
        self.inner.check_open()?;
        let peer: Arc<str> = peer.into();
        let full = |error| NodeError::Session { peer: peer.clone(), error };
        let place = self.inner.access.enter(&principal, None).map_err(full)?;
        Ok(Proxy::new(&self.inner.exports, place, peer, &self.inner.proxy_rooms))
    }

    /// The routes of the exported actors (`#[wigwag(get = "/path")]`), in the order of the actors' names.
    pub fn http_routes(&self) -> Vec<ExportedRoute> {
        ExportedRoute::all(&self.inner.exports)
    }

    /// The version of the exports: it changes whenever an actor is exported or withdrawn.
    pub fn exports_version(&self) -> u64 {
        self.inner.exports.version()
    }

    /// Exports the members of a group that live in this process under `name`: for other nodes that
    /// [follow](Node::follow_group) it, and for surveys of [SP clients](crate::sp_clients), which they
    /// answer. Such a name is beside those of actors, and a survey for a name that both have asks the
    /// group.
    ///
    /// # Errors
    /// - [`BadName`](NodeError::BadName) if the name is that of another exported group, is empty,
    ///   longer than 255 bytes, or contains a slash or control characters;
    /// - [`Closed`](NodeError::Closed) if the node is closed.
    pub fn export_group<I: Interface>(
        &self,
        name: &str,
        scope: &Groups<I>,
        group: &str,
    ) -> Result<(), NodeError>
    where
        I::Codec: Exportable,
    {
        self.inner.check_open()?;
        let group = ExportedGroup { scope: scope.clone(), group: group.to_owned() };
        self.inner.groups.add(name, Arc::new(group))
    }

    /// Withdraws a group; false if it was not exported.
    pub fn withdraw_group(&self, name: &str) -> bool {
        self.inner.groups.remove(name)
    }

    /// Withdraws a name; false if it was not exported. References that were fetched before keep
    /// working.
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
    /// # async fn main() -> Result<(), wigwag::NodeError> {
    /// let node = Node::new();
    /// node.export("clock", &Clock.spawn())?;
    /// assert!(node.withdraw("clock"));
    /// assert!(!node.withdraw("clock"));
    /// # Ok(()) }
    /// ```
    pub fn withdraw(&self, name: &str) -> bool {
        self.inner.exports.remove(name)
    }
}
