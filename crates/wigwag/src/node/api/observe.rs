//! Observation: events, counters, and what peers hold.

use std::sync::Arc;

use crate::events::SessionEvents;
use crate::metrics::Metrics;
use crate::metrics::observer::MetricsSource;
use crate::node::Node;
use crate::session::{PeerHoldings, PeerStatistics, Session};
use crate::sp_clients::SpClientStatistics;

impl Node {
    /// Subscribes to the events of this node's sessions from now on: opened, cut, resumed, ended.
    ///
    /// See [`SessionEvent`](crate::session::SessionEvent) for an example.
    ///
    /// # Limits
    /// Up to 1,024 events wait for each subscriber; then the oldest are dropped and counted.
    pub fn session_events(&self) -> SessionEvents {
        SessionEvents::of(&self.inner.announcer)
    }

    /// True from when the node is [closed](Node::close) on: its methods return
    /// [`NodeError::Closed`](crate::NodeError::Closed), and servers around it are of no more use.
    pub fn is_closed(&self) -> bool {
        self.inner.check_open().is_err()
    }

    /// Returns the counters for [SP clients](crate::sp_clients).
    pub fn sp_client_statistics(&self) -> SpClientStatistics {
        self.inner.sp_clients.statistics()
    }

    /// Takes a snapshot of what the actors, the sessions and the listeners of this node have done.
    ///
    /// The [module](crate::metrics) has an example.
    ///
    /// # Performance
    /// It takes the lock of each exported actor and of each session once, for a moment. A busy node
    /// bears one a second.
    pub fn metrics(&self) -> Metrics {
        MetricsSource::metrics(&*self.inner)
    }

    /// Lists which actors of this node each peer holds channels and references to: what keeps them
    /// alive, and what is lost to the peer when its session ends.
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
    /// service.export("clock", &Clock.spawn())?;
    /// let bound = service.listen("tcp://127.0.0.1:0").await?;
    /// let _clock = client.actor::<Clock>(&format!("{bound}/clock")).await?;
    /// for one in service.held_actors() {
    ///     println!("{}: {:?}", one.peer.peer, one.held.actors);
    /// }
    /// assert_eq!(service.held_actors()[0].held.actors[0].kind, "Clock");
    /// # Ok(()) }
    /// ```
    ///
    /// # Performance
    /// It looks at each channel and each lent reference of all sessions.
    pub fn held_actors(&self) -> Vec<PeerHoldings> {
        let sessions: Vec<_> = self.inner.sessions().iter().cloned().collect();
        let living = sessions.iter().filter(|session| !session.has_ended());
        let holdings = |session: &Arc<Session>| PeerHoldings {
            peer: session.caller(),
            held: session.held_actors(),
        };
        living.map(holdings).collect()
    }

    /// Returns the counters of each open session.
    ///
    /// ```
    /// # use wigwag::{Actor, Node};
    /// # struct Echo;
    /// # #[wigwag::actor]
    /// # impl Echo {
    /// #     pub fn say(&self, word: String) -> String {
    /// #         word
    /// #     }
    /// # }
    /// # #[wigwag::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let (service, client) = (Node::new(), Node::new());
    /// # service.export("echo", &Echo.spawn())?;
    /// # let bound = service.listen("tcp://127.0.0.1:0").await?;
    /// let echo = client.actor::<Echo>(&format!("{bound}/echo")).await?;
    /// assert_eq!(echo.say("hello".to_owned()).ask().await?, "hello");
    /// for peer in client.statistics() {
    ///     println!("{}: {} bytes sent", peer.peer, peer.session.bytes_sent);
    ///     // One frame has attached the reference, one is the ask.
    ///     assert_eq!((peer.session.frames_sent, peer.session.cuts), (2, 0));
    /// }
    /// # Ok(()) }
    /// ```
    pub fn statistics(&self) -> Vec<PeerStatistics> {
        let sessions = self.inner.sessions();
        let statistics = |session: &Arc<Session>| PeerStatistics {
            peer: session.peer.clone(),
            name: session.peer_name.clone(),
            principal: session.principal().clone(),
            session: session.statistics(),
        };
        sessions.iter().filter(|session| !session.has_ended()).map(statistics).collect()
    }
}
