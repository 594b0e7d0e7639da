//! Fetches a reference to an actor of another node.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use wigwag_actor::Interface;
use wigwag_net::transport::Boxed;

use super::Node;
use crate::error::NodeError;

/// The future of [`Node::actor`]: a reference that is being fetched. Nothing happens before its
/// first poll.
///
/// It borrows nothing, so it can be stored or moved into another task; it has a clone of the node.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Fetch<I: Interface> {
    node: Node,
    address: String,
    fetching: Option<Boxed<'static, Result<I::Ref, NodeError>>>,
}

impl<I: Interface> Fetch<I> {
    pub(crate) fn new(node: Node, address: &str) -> Fetch<I> {
        Fetch { node, address: address.to_owned(), fetching: None }
    }
}

// Nothing in it is pinned in place: the exchange is boxed.
impl<I: Interface> Unpin for Fetch<I> {}

impl<I: Interface> Future for Fetch<I> {
    type Output = Result<I::Ref, NodeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Fetch { node, address, fetching } = &mut *self;
        let begin = || -> Boxed<'static, _> {
            let (node, address) = (node.clone(), address.clone());
            Box::pin(async move { node.fetch::<I>(&address).await })
        };
        fetching.get_or_insert_with(begin).as_mut().poll(context)
    }
}

impl<I: Interface> fmt::Debug for Fetch<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetch").field("address", &self.address).finish_non_exhaustive()
    }
}
