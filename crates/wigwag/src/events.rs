//! Events of a node's sessions.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::broadcast::{self, error::RecvError};
use wigwag_actor::{CallErrorKind, Caller, Principal};

use crate::limits::EVENTS_MAX;

/// An event of one session.
///
/// [`Node::session_events`](crate::Node::session_events) subscribes to them:
///
/// ```
/// use wigwag::{Actor, Node};
///
/// struct Echo;
///
/// #[wigwag::actor]
/// impl Echo {
///     pub fn say(&self, word: String) -> String {
///         word
///     }
/// }
///
/// # #[wigwag::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (service, client) = (Node::new(), Node::new());
/// let mut events = client.session_events();
/// service.export("echo", &Echo.spawn())?;
/// let bound = service.listen("tcp://127.0.0.1:0").await?;
/// let echo = client.actor::<Echo>(&format!("{bound}/echo")).await?;
/// assert_eq!(echo.say("hello".to_owned()).ask().await?, "hello");
///
/// let event = events.next().await.ok_or("the node is gone")?;
/// println!("{}: {:?}", event.peer, event.what);
/// assert_eq!(events.missed(), 0);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionEvent {
    /// The address of the peer. Of a peer that has dialed, it is the address that it has dialed
    /// from, which may be another one each time.
    pub peer: Arc<str>,
    /// The name of the peer ([`NodeOptions::name`](crate::NodeOptions::name)), if it has one of at
    /// most 255 bytes without control characters, and runs a release that tells it.
    pub name: Option<Arc<str>>,
    /// The authenticated identity of the peer.
    pub principal: Principal,
    /// The change.
    pub what: SessionChange,
}

/// A change in the state of a session; see [`SessionEvent`] for an example.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionChange {
    /// The session is open.
    Opened,
    /// The session has lost its connection. Messages sent meanwhile wait.
    Cut {
        /// How the cut was noticed.
        why: Arc<str>,
    },
    /// The session continues over another connection; nothing is lost.
    Resumed {
        /// How long it had no connection.
        after: Duration,
        /// Frames that are sent again.
        repeated: u64,
    },
    /// Another node or another program listens at the peer's address. The session waits for its own
    /// peer to come back.
    PeerChanged {
        /// A description of that other program.
        found: Arc<str>,
    },
    /// An actor of the peer has not understood tells of this node: it has no such method, or the
    /// method takes other arguments, as happens between two versions of an interface. The tells
    /// were not handled. A peer of an earlier release does not report this.
    ///
    /// The peer reports tells together, with the reason of the first one; so a reference that was
    /// dropped right after a tell may hear nothing.
    Rejected {
        /// The address of the actor.
        target: Arc<str>,
        /// The name of the method; `?` if it is not known.
        method: Arc<str>,
        /// The number of tells, not counting those of earlier events.
        tells: u64,
        /// Why the first tell of the method was rejected.
        reason: CallErrorKind,
        /// The reason in the peer's words; for people, never parsed.
        detail: Arc<str>,
    },
    /// A reference that [reconnects](crate::Fetch::reconnecting) leads to its actor again, over
    /// this session. Calls from now on go there. If the former session has ended, its
    /// [`Ended`](Self::Ended) comes first.
    Reattached {
        /// The address of the actor.
        target: Arc<str>,
        /// How long the reference led nowhere.
        after: Duration,
        /// The peer is another process than before, so the actor has another state. False if the
        /// same process was reached over a new session, or exports another actor now.
        restarted: bool,
    },
    /// The session is over.
    Ended {
        /// The reason.
        why: Arc<str>,
        /// The peer, or this node, was closed in good order. Otherwise the peer has vanished, was
        /// restarted, or one of the two has broken a rule.
        closed: bool,
        /// The outcome of the calls, one entry for each actor that was called. An ask also fails at
        /// its caller.
        deliveries: Arc<[Delivery]>,
        /// The actors of this node that the peer held at the end, and has let go with it.
        held: HeldActors,
    },
}

impl SessionChange {
    /// Logs what concerns the connection. Rejected tells are logged where they are counted.
    pub(crate) fn log(&self, peer: &str, session: u64) {
        const TARGET: &str = "wigwag::session";
        match self {
            SessionChange::Opened => {
                tracing::info!(target: TARGET, peer, session, "a session is open");
            }
            SessionChange::Cut { why } => {
                let reason = &**why;
                tracing::info!(target: TARGET, peer, session, reason, "a session is cut");
            }
            SessionChange::Resumed { after, repeated } => {
                tracing::info!(target: TARGET, peer, session, ?after, repeated, "a session is resumed");
            }
            SessionChange::PeerChanged { found } => {
                let reason = &**found;
                tracing::warn!(target: TARGET, peer, session, reason, "the peer is another one");
            }
            SessionChange::Ended { why, closed, .. } => {
                let reason = &**why;
                tracing::info!(target: TARGET, peer, session, reason, closed, "a session has ended");
            }
            SessionChange::Rejected { .. } | SessionChange::Reattached { .. } => {}
        }
    }
}

/// The outcome of the calls to one actor of a session that has ended; part of
/// [`SessionChange::Ended`].
///
/// The four numbers add up to all calls sent since the reference was fetched. An ask is counted as
/// its caller was told: as [`DeliveryStatus`](crate::DeliveryStatus) has it for the error, and as
/// delivered if it was answered. In the order in which tells were sent, the delivered and the
/// rejected ones come first, then those with an unknown outcome, then those that never arrived.
///
/// A peer of an earlier release does not count rejected tells apart: they count as delivered then.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// The address of the actor.
    pub target: Arc<str>,
    /// Calls that were certainly handled.
    pub delivered: u64,
    /// Calls that the actor has not understood, and did not handle. Sent again, they would be
    /// rejected again.
    pub rejected: u64,
    /// Calls that may have been handled.
    pub unknown: u64,
    /// Calls that were certainly not handled: they can safely be sent again.
    pub not_delivered: u64,
}

/// An actor of this node that a peer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldActor {
    /// The name under which the peer has fetched it, if it has; of several, the first.
    pub name: Option<Arc<str>>,
    /// The name of its type.
    pub kind: &'static str,
    /// The channels to it that the peer has open; most often one. It keeps the actor alive.
    pub channels: u64,
    /// How often the peer was sent a reference to it that it has not let go. They keep the actor
    /// alive.
    pub references: u64,
}

/// The actors of this node that a peer holds, those with most channels and references first.
///
/// [`Node::held_actors`](crate::Node::held_actors) and the end of a session
/// ([`SessionChange::Ended`](crate::session::SessionChange::Ended)) list them. Actors on
/// third nodes are among them if the peer was sent references to them. Channels that were opened to the
/// actor of an answer before it came are not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldActors {
    /// The actors, [`HELD_ROWS_MAX`](crate::limits::HELD_ROWS_MAX) at most.
    pub actors: Arc<[HeldActor]>,
    /// How many others the peer holds.
    pub more: usize,
}

/// A peer, and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerHoldings {
    /// The peer.
    pub peer: Caller,
    /// The actors and references that it holds.
    pub held: HeldActors,
}

/// A subscription to the session events of a node; see [`SessionEvent`] for an example.
///
/// # Limits
/// Up to 1,024 events wait; then the oldest are dropped and counted in [`missed`](Self::missed).
pub struct SessionEvents {
    receiver: broadcast::Receiver<SessionEvent>,
    missed: u64,
}

/// The sender of a node's events. Its buffer has about a hundred kilobytes, so it is allocated for
/// the first subscriber.
#[derive(Clone, Default)]
pub(crate) struct Announcer(Arc<OnceLock<broadcast::Sender<SessionEvent>>>);

impl Announcer {
    /// True if there are subscribers.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.get().is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Sends an event to the subscribers, if there are any.
    pub(crate) fn announce(&self, caller: impl FnOnce() -> Caller, what: SessionChange) {
        if let Some(sender) = self.0.get() {
            let Caller { principal, peer, node: name, .. } = caller();
            // The last subscriber may be gone.
            let _ = sender.send(SessionEvent { peer, name, principal, what });
        }
    }
}

impl SessionEvents {
    pub(crate) fn of(announcer: &Announcer) -> SessionEvents {
        let sender = announcer.0.get_or_init(|| broadcast::Sender::new(EVENTS_MAX));
        SessionEvents { receiver: sender.subscribe(), missed: 0 }
    }

    /// The next event; `None` when the node is gone.
    ///
    /// # Cancellation
    /// If dropped while it waits, no event is lost.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        loop {
            match self.receiver.recv().await {
                Ok(event) => return Some(event),
                Err(RecvError::Lagged(missed)) => self.missed += missed,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Events that this subscriber has missed because 1,024 newer ones had arrived.
    pub fn missed(&self) -> u64 {
        self.missed
    }
}
