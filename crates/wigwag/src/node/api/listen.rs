//! Listeners: the addresses at which peers reach a node.

use std::sync::Arc;

use wigwag_net::{Address, ListenOptions, Listener};

use crate::access;
use crate::error::NodeError;
use crate::node::{Node, accept, listeners, runtime};

impl Node {
    /// Listens at `address` and returns the actual address: `tcp://127.0.0.1:0` gets a free port.
    /// The node listens until it is closed or dropped, or told to [stop](Node::stop_listening), with the options of
    /// [`NodeOptions::listen_options`](crate::NodeOptions::listen_options).
    ///
    /// See [`Node`] for an example.
    ///
    /// # Errors
    /// - [`Net`](NodeError::Net) if the address is malformed or cannot be bound;
    /// - [`Closed`](NodeError::Closed) if the node is closed, and
    ///   [`RuntimeEnded`](NodeError::RuntimeEnded) if its runtime has ended.
    ///
    /// # Cancellation
    /// If dropped while it waits, the node does not listen there.
    pub async fn listen(&self, address: &str) -> Result<Address, NodeError> {
        self.listen_with(address, self.inner.options.listen.clone()).await
    }

    /// Listens at `address` with options, such as the permissions of a socket file.
    ///
    /// # Errors
    /// - [`Net`](NodeError::Net) if the address is malformed or cannot be bound, or if the options
    ///   do not fit it;
    /// - [`Closed`](NodeError::Closed) if the node is closed, and
    ///   [`RuntimeEnded`](NodeError::RuntimeEnded) if its runtime has ended.
    ///
    /// # Cancellation
    /// If dropped while it waits, the node does not listen there.
    pub async fn listen_with(
        &self,
        address: &str,
        options: ListenOptions,
    ) -> Result<Address, NodeError> {
        self.inner.check_running()?;
        let address: Address = address.parse()?;
        let listening = wigwag_net::transport::listen(&address, options.clone());
        let listener = runtime::enter(&self.inner.runtime, listening).await?;
        self.listen_on(listener, options)
    }

    /// Accepts connections from a listener of the program's own, until the node is closed or dropped:
    /// those that a server hands over, for example. `options` are those of sessions; the listener was
    /// made with its own.
    ///
    /// # Errors
    /// - [`Unprotected`](NodeError::Unprotected) if the listener is not
    ///   [local](crate::transport::Listener::is_local), and nothing identifies its peers;
    /// - [`Closed`](NodeError::Closed) if the node is closed, and
    ///   [`RuntimeEnded`](NodeError::RuntimeEnded) if its runtime has ended.
    pub fn listen_on(
        &self,
        listener: Box<dyn Listener>,
        options: ListenOptions,
    ) -> Result<Address, NodeError> {
        self.inner.check_running()?;
        let bound = listener.address().clone();
        if !access::is_protected(&*listener, &options) && !self.inner.access.opens_to_all() {
            return Err(NodeError::Unprotected { address: bound.to_string() });
        }
        let task = accept::listen(listener, options, Arc::downgrade(&self.inner));
        let added = self.inner.listeners.add(&bound, || self.inner.runtime.spawn(task));
        added.map(|()| bound).ok_or(NodeError::Closed)
    }

    /// Stops listening at `address`, an address that [`listen`](Node::listen) has returned. False if the
    /// node does not listen there.
    ///
    /// When it returns, the address is free for another listener. What has come through the old one goes
    /// on: sessions, requests of SP clients, handshakes. A session whose connection is cut is resumed at
    /// the address that its peer has dialed, so it is lost unless something listens there for this node
    /// again before the session is given up.
    ///
    /// ```
    /// # use wigwag::Node;
    /// # #[wigwag::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let node = Node::new();
    /// let bound = node.listen("tcp://127.0.0.1:0").await?;
    /// assert!(node.stop_listening(&bound).await);
    /// assert_eq!(node.listen(&bound.to_string()).await?, bound);
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancellation
    /// The node stops listening when this is called. If the future is dropped, the address is free soon
    /// after.
    pub fn stop_listening(&self, address: &Address) -> impl Future<Output = bool> + Send + use<> {
        let stopped = self.inner.listeners.stop(address);
        async move {
            let has_listened = !stopped.is_empty();
            listeners::ended(stopped).await;
            has_listened
        }
    }

    /// Listens at `address`, for threads outside a runtime; the blocking form of
    /// [`listen`](Node::listen).
    ///
    /// See [`blocking_actor`](Node::blocking_actor) for an example.
    ///
    /// # Errors
    /// The errors of [`listen`](Node::listen).
    ///
    /// # Panics
    /// Inside a runtime, because it would block the runtime's thread.
    pub fn blocking_listen(&self, address: &str) -> Result<Address, NodeError> {
        self.inner.runtime.block_on(self.listen(address))
    }
}
