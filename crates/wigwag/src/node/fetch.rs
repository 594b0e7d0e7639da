//! Fetches a reference to an actor of another node.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use wigwag_actor::{CallError, CallErrorKind, Interface, Ref};
use wigwag_net::transport::Boxed;

use super::{Node, runtime};
use crate::error::NodeError;
use crate::exports::directory::{Directory, DirectoryRef, ListedActor};
use crate::limits::{LISTED_BYTES_MAX, LISTED_MAX};
use crate::lock::lock;
use crate::metrics::Metrics;
use crate::metrics::observer::{OBSERVER, Observer, ObserverRef};
use crate::reconnecting::Reconnecting;
use crate::reconnecting::task::Dialer;
use crate::send::remote::Remote;
use crate::session::attach::AttachTo;

/// The future of [`Node::actor`]: a reference that is being fetched. Nothing happens before its
/// first poll.
///
/// It borrows nothing, so it can be stored or moved into another task; it has a clone of the node.
#[must_use = "futures do nothing unless they are awaited"]
pub struct Fetch<I: Interface> {
    node: Node,
    address: String,
    reconnecting: bool,
    fetching: Option<Boxed<'static, Result<I::Ref, NodeError>>>,
}

impl<I: Interface> Fetch<I> {
    pub(crate) fn new(node: Node, address: &str) -> Fetch<I> {
        Fetch { node, address: address.to_owned(), reconnecting: false, fetching: None }
    }

    /// Fetches a reference that comes back: after the end of its session or of its actor it attaches
    /// anew to the actor at the address, as soon as a node there exports it. Without this, a
    /// reference is bound to one actor and one session, and fails as
    /// [`NotDelivered`](crate::CallErrorKind::NotDelivered) or
    /// [`ActorStopped`](crate::CallErrorKind::ActorStopped) once that has ended.
    ///
    /// - Calls that were sent before the end have the outcome of their session, as those of any
    ///   other reference: nothing is sent again by itself.
    /// - Later calls go to the next incarnation of the actor. Until there is one, they wait, each
    ///   with its own time limit, whose error [says](crate::CallError::disconnection) why the actor
    ///   cannot be reached. `try_tell`, `try_ask` and a pipeline that is opened do not wait: they
    ///   fail as `NotDelivered`, with the message. So do calls while the peer closes.
    /// - The event [`Reattached`](crate::session::SessionChange::Reattached) tells when the
    ///   reference leads to its actor again, and whether the peer was restarted.
    ///
    /// A session ends when the peer has restarted, or has not come back in time; while it is only
    /// cut, calls go on as for any other reference.
    ///
    /// ```
    /// use std::time::Duration;
    /// use wigwag::session::SessionChange;
    /// use wigwag::{Actor, Node};
    ///
    /// # struct Clock;
    /// # #[wigwag::actor]
    /// # impl Clock {
    /// #     pub fn hour(&self) -> u8 {
    /// #         12
    /// #     }
    /// # }
    /// async fn start() -> Result<Node, wigwag::NodeError> {
    ///     let service = Node::new();
    ///     service.export("clock", &Clock.spawn())?;
    ///     service.listen("inproc://clocks").await?;
    ///     Ok(service)
    /// }
    ///
    /// # #[wigwag::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (first, client) = (start().await?, Node::new());
    /// let mut events = client.session_events();
    /// let clock = client.actor::<Clock>("inproc://clocks/clock").reconnecting().await?;
    /// assert_eq!(clock.hour().ask().await?, 12);
    ///
    /// first.close(Duration::from_secs(1)).await;
    /// drop(first);
    /// while let Some(event) = events.next().await
    ///     && !matches!(event.what, SessionChange::Ended { .. })
    /// {}
    /// let _second = start().await?;
    /// assert_eq!(clock.hour().ask().await?, 12);
    /// # Ok(()) }
    /// ```
    ///
    /// # Limits
    /// One task for each address dials the peer, with pauses of up to 1 s between two attempts, as
    /// long as there is such a reference and the node is open. A reference keeps the outcomes of asks
    /// to its last 8 incarnations; an ask to an earlier one whose outcome was not taken by then is
    /// [`Unknown`](crate::CallErrorKind::Unknown).
    ///
    /// # Errors
    /// The first fetch fails as any other: the peer has to be there.
    ///
    /// # Performance
    /// A call that does not join a run takes two shared locks more than that of another reference.
    pub fn reconnecting(mut self) -> Fetch<I> {
        self.reconnecting = true;
        self
    }
}

// Nothing in it is pinned in place: the exchange is boxed.
impl<I: Interface> Unpin for Fetch<I> {}

impl<I: Interface> Future for Fetch<I> {
    type Output = Result<I::Ref, NodeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Fetch { node, address, reconnecting, fetching } = &mut *self;
        let begin = || -> Boxed<'static, _> {
            let (node, address, reconnecting) = (node.clone(), address.clone(), *reconnecting);
            Box::pin(async move {
                let attach = Box::pin(attach::<I>(&node, &address, reconnecting));
                let in_time = node.within_attach_time(&address, attach);
                runtime::enter(&node.inner.runtime, in_time).await
            })
        };
        fetching.get_or_insert_with(begin).as_mut().poll(context)
    }
}

impl Node {
    /// Lists the actors that the node at `address` exports, in the order of their names, 16,384 at
    /// most. The address is the one that the node listens at, without the name of an actor.
    ///
    /// ```
    /// use wigwag::{Actor, Node};
    ///
    /// struct Clock;
    ///
    /// /// Tells the time.
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
    /// service.export("clock", &Clock.spawn())?;
    /// let bound = service.listen("tcp://127.0.0.1:0").await?;
    ///
    /// let actors = client.list_actors(&bound.to_string()).await?;
    /// assert_eq!((&*actors[0].name, &*actors[0].comment), ("clock", "Tells the time."));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The errors of [`actor`](Node::actor): [`NoSuchActor`](crate::CallErrorKind::NoSuchActor) if the
    /// node [does not list](crate::NodeOptions::lists_actors) its actors, or is of an earlier release.
    ///
    /// # Cancellation
    /// As for [`actor`](Node::actor).
    pub async fn list_actors(&self, address: &str) -> Result<Vec<ListedActor>, NodeError> {
        let list = Box::pin(async {
            let directory = DirectoryRef::from(self.reserved::<Directory>(address, "").await?);
            let (mut listed, mut bytes): (Vec<ListedActor>, _) = (Vec::new(), 0);
            while listed.len() < LISTED_MAX && bytes < LISTED_BYTES_MAX {
                let last = listed.last().map(|last| last.name.clone());
                let more = directory.list(last).ask().await.map_err(|error| error.into_error())?;
                if more.is_empty() {
                    break;
                }
                bytes += more.iter().map(ListedActor::bytes).sum::<usize>();
                listed.extend(more);
            }
            listed.truncate(LISTED_MAX);
            Ok(listed)
        });
        runtime::enter(&self.inner.runtime, self.within_attach_time(address, list)).await
    }
}

impl Node {
    /// Takes a snapshot of the node at `address`, if its
    /// [options](crate::NodeOptions::observable) allow that. The address is the one that the node
    /// listens at, without the name of an actor.
    ///
    /// ```
    /// use wigwag::{Node, NodeOptions};
    ///
    /// # #[wigwag::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let service = Node::with(NodeOptions::default().observable(true));
    /// let bound = service.listen("tcp://127.0.0.1:0").await?;
    ///
    /// let metrics = Node::new().peer_metrics(&bound.to_string()).await?;
    /// assert_eq!(metrics.sessions.len(), 1);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The errors of [`actor`](Node::actor): [`NoSuchActor`](crate::CallErrorKind::NoSuchActor) if the
    /// node is not observable, or is of an earlier release;
    /// [`BadReply`](crate::CallErrorKind::BadReply) if its answer is no snapshot.
    ///
    /// # Cancellation
    /// As for [`actor`](Node::actor).
    pub async fn peer_metrics(&self, address: &str) -> Result<Metrics, NodeError> {
        let ask = Box::pin(async {
            let attached = self.reserved::<Observer>(address, OBSERVER).await?;
            let observer = ObserverRef::from(attached);
            let text = observer.snapshot().ask().await.map_err(|error| error.into_error())?;
            serde_json::from_str(&text).map_err(|error| {
                let kind = CallErrorKind::BadReply;
                CallError::new(kind, &address.into()).with_detail(&error.to_string()).into()
            })
        });
        runtime::enter(&self.inner.runtime, self.within_attach_time(address, ask)).await
    }

    /// A reference to an actor that the node at `address` has by itself.
    async fn reserved<I: Interface>(&self, address: &str, name: &str) -> Result<Ref<I>, NodeError> {
        self.inner.check_open()?;
        let session = self.session_to(&address.parse()?).await?;
        let watch = *lock(&self.inner.answer_spin);
        let remote =
            Remote::<I>::attach(session, AttachTo::Name(name), &address.into(), watch).await?;
        Ok(Ref::remote(remote.shared(watch)))
    }
}

async fn attach<I: Interface>(
    node: &Node,
    address: &str,
    reconnecting: bool,
) -> Result<I::Ref, NodeError> {
    let (peer, name) = node.split(address)?;
    let session = node.session_to(&peer).await?;
    let watch = *lock(&node.inner.answer_spin);
    let remote =
        Remote::<I>::attach(session, AttachTo::Name(&name), &address.into(), watch).await?;
    if !reconnecting {
        return Ok(Ref::remote(remote.shared(watch)).into());
    }
    let inner = &node.inner;
    let dialer = Arc::downgrade(inner) as Weak<dyn Dialer>;
    let route = inner
        .peers
        .with(&peer, &dialer, &inner.runtime, |peer| Reconnecting::new(remote, name, watch, peer));
    Ok(Ref::remote(route.shared()).into())
}

impl<I: Interface> fmt::Debug for Fetch<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetch").field("address", &self.address).finish_non_exhaustive()
    }
}
