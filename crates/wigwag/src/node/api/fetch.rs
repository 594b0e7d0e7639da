//! References to actors of other nodes, and how their asks wait.

use std::time::Duration;

use wigwag_actor::Interface;

use crate::error::NodeError;
use crate::lock::lock;
use crate::node::fetch::Fetch;
use crate::node::{Node, runtime};
use crate::send::channel::Channel;
use crate::send::dynamic::Dynamic;
use crate::session::attach::AttachTo;

impl Node {
    /// Fetches a reference to the actor at `address`, whose last segment is the actor's name:
    /// `tcp://127.0.0.1:7001/counter`. Dials if there is no session with that peer yet.
    ///
    /// See [`Node`] for an example.
    ///
    /// A second reference to the same actor, of the same type and fetched while the first is in use,
    /// is like a clone of the first: it uses the same channel, so their calls are handled in the
    /// order in which they were sent, and its errors name the address of the first. This holds also
    /// for two [references that come back](Fetch::reconnecting) with one name, and not for one of
    /// each kind. For a peer of an earlier release, and after [`watch_answers`](Node::watch_answers), it has a channel of its
    /// own.
    ///
    /// # Errors
    /// Each within the time of a handshake, 5 s:
    /// - [`NoName`](NodeError::NoName) if the address names no actor;
    /// - [`Net`](NodeError::Net) if nothing listens there, or no SP program;
    /// - [`Session`](NodeError::Session) if the peer is no wigwag node or refuses the session;
    /// - [`Disconnected`](NodeError::Disconnected) if the session with the peer was cut and is not
    ///   resumed in this time: the error has the reason of the last attempt to reconnect;
    /// - [`Call`](NodeError::Call) if the peer exports no such actor or accepts no more channels;
    /// - [`Closed`](NodeError::Closed) if this node is closed, and
    ///   [`RuntimeEnded`](NodeError::RuntimeEnded) if its runtime has ended.
    ///
    /// # Cancellation
    /// If dropped while it waits, no reference is made. A session that was opened by then stays
    /// with the node.
    pub fn actor<I: Interface>(&self, address: &str) -> Fetch<I> {
        Fetch::new(self.clone(), address)
    }

    /// Fetches an untyped reference to the actor at `address`, for programs that do not know its
    /// interface.
    ///
    /// See [`Dynamic`] for an example.
    ///
    /// # Errors
    /// The errors of [`actor`](Node::actor).
    ///
    /// # Cancellation
    /// As for [`actor`](Node::actor).
    pub async fn dynamic(&self, address: &str) -> Result<Dynamic, NodeError> {
        let attach = Box::pin(async {
            let (peer, name) = self.split(address)?;
            let session = self.session_to(&peer).await?;
            let (channel, _) =
                Channel::attach(session, AttachTo::Name(&name), 0, &address.into()).await?;
            Ok(Dynamic::new(channel).await?)
        });
        runtime::enter(&self.inner.runtime, self.within_attach_time(address, attach)).await
    }

    /// Sets how long an ask spins for its answer before its thread parks, for references that are
    /// fetched from now on, and how long a session that has received a single call spins for the
    /// next one, for sessions that begin from now on. The default is 100 µs; zero turns spinning off.
    ///
    /// A caller that awaits one ask at a time parks between ask and answer, and waking a processor
    /// costs more than the rest of a round trip. A spinning ask lets all other tasks of its runtime
    /// run and then looks again, until the time is over.
    ///
    /// Asks spin where that costs no more processor time, that of the peer included. Each reference
    /// and session finds this out by trials: from time to time some hundred asks spin and some
    /// hundred sleep, and the cheaper of both goes on. Where answers take longer than `limit`, an ask
    /// spins ever more rarely; while other threads want all processors, and with a single processor,
    /// none does.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let node = wigwag::Node::new();
    /// node.watch_answers(Duration::from_micros(20));
    /// ```
    pub fn watch_answers(&self, limit: Duration) {
        *lock(&self.inner.answer_spin) = limit;
    }

    /// Fetches a reference to the actor at `address`, for threads outside a runtime; the blocking
    /// form of [`actor`](Node::actor).
    ///
    /// ```
    /// use wigwag::{Actor, Node, block_on};
    ///
    /// struct Sum;
    ///
    /// #[wigwag::actor]
    /// impl Sum {
    ///     pub fn add(&mut self, a: i64, b: i64) -> i64 {
    ///         a + b
    ///     }
    /// }
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let runtime = tokio::runtime::Runtime::new()?;
    /// let service = Node::new();
    /// // The actor runs on the runtime of the thread that spawns it.
    /// service.export("sum", &runtime.block_on(async { Sum.spawn() }))?;
    /// let bound = service.blocking_listen("tcp://127.0.0.1:0")?;
    /// let client = Node::new();
    /// let sum = client.blocking_actor::<Sum>(&format!("{bound}/sum"))?;
    /// assert_eq!(block_on(async { sum.add(1, 2).ask().await })?, 3);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The errors of [`actor`](Node::actor).
    ///
    /// # Panics
    /// Inside a runtime, because it would block the runtime's thread.
    pub fn blocking_actor<I: Interface>(&self, address: &str) -> Result<I::Ref, NodeError> {
        self.inner.runtime.block_on(self.actor::<I>(address))
    }
}
