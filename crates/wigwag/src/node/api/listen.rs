//! Listeners: the addresses at which peers reach a node.

use std::sync::Arc;

use wigwag_net::{Address, ListenOptions, Listener};

use crate::access;
use crate::error::NodeError;
use crate::lock::lock;
use crate::node::{Node, accept, runtime};

impl Node {
    /// Listens at `address` and returns the actual address: `tcp://127.0.0.1:0` gets a free port.
    /// The node listens until it is closed or dropped, with the options of
    /// [`NodeOptions::listen_options`](crate::NodeOptions::listen_options).
    ///
    /// See [`Node`] for an example.
    ///
    /// # Errors
    /// - [`Net`](NodeError::Net) if the address is malformed or cannot be bound;
    /// - [`Closed`](NodeError::Closed) if the node is closed.
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
    /// - [`Closed`](NodeError::Closed) if the node is closed.
    ///
    /// # Cancellation
    /// If dropped while it waits, the node does not listen there.
    pub async fn listen_with(
        &self,
        address: &str,
        options: ListenOptions,
    ) -> Result<Address, NodeError> {
        self.inner.check_open()?;
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
    /// - [`Closed`](NodeError::Closed) if the node is closed.
    pub fn listen_on(
        &self,
        listener: Box<dyn Listener>,
        options: ListenOptions,
    ) -> Result<Address, NodeError> {
        self.inner.check_open()?;
        let bound = listener.address().clone();
        if !access::is_protected(&*listener, &options) && !self.inner.access.opens_to_all() {
            return Err(NodeError::Unprotected { address: bound.to_string() });
        }
        self.advertise(&bound);
        let task = accept::listen(listener, options, Arc::downgrade(&self.inner));
        lock(&self.inner.listeners).push(self.inner.runtime.spawn(task));
        Ok(bound)
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
