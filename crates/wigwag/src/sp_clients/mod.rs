//! SP clients: programs of nanomsg, NNG and mangos that talk to the actors of a node.
//!
//! A listener of a node reads the header of each dialer and is the partner of its protocol: a pair
//! opens a session, a req asks, a push tells, a surveyor asks a group, and a sub follows what actors
//! publish. A request is one array, as JSON or MessagePack. `docs/clients.md` has programs in C, Go,
//! Python and the shell, the rules and the limits.
//!
//! ```
//! use wigwag::sp::Req;
//! use wigwag::{Actor, Node};
//!
//! struct Sum;
//!
//! #[wigwag::actor]
//! impl Sum {
//!     pub fn add(&self, a: i64, b: i64) -> i64 {
//!         a + b
//!     }
//! }
//!
//! # #[wigwag::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let node = Node::new();
//! node.export("sum", &Sum.spawn())?;
//! let address = node.listen("tcp://127.0.0.1:0").await?;
//!
//! let req = Req::new();
//! req.dial(&address.to_string()).await?;
//! assert_eq!(req.ask(r#"["sum","add",2,3]"#).await?, r#"["ok",5]"#);
//! assert_eq!(node.sp_client_statistics().requests, 1);
//! # Ok(()) }
//! ```
// Each connection, but for those of subs, has a socket of its own, so no client waits for another.

mod request;
mod shares;
mod answering;
mod telling;
mod publishing;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;
use wigwag_actor::Exported;
use wigwag_net::acceptor::ConnectionEvictor;
use wigwag_net::places::Places;
use wigwag_net::socket::raw::{Rep, Respondent};
use wigwag_net::socket::{AcceptedConnection, Pub};
use wigwag_net::source::Source;
use wigwag_wire::ProtocolNumber;

use crate::access::IdentityPlace;
use crate::exported_groups::GroupTable;
use crate::exports::Exports;
use crate::limits::{SP_ASKS_MAX, SP_CLIENTS_MAX};
pub use crate::metrics::SpClientStatistics;
use crate::proxy::failure::Failure;
use crate::proxy::identity::{ClientIdentity, no_actor};
use shares::Shares;

/// How far the end of the node has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Open,
    /// No request is taken any more; what has begun goes on.
    Closing,
    /// The connections are closed.
    Closed,
}

/// The SP clients of a node.
pub(crate) struct SpClients {
    exports: Arc<Exports>,
    groups: Arc<GroupTable>,
    pub(crate) places: Arc<Places>,
    /// Asks without an answer.
    asks: Arc<Shares>,
    /// Made for the first subscriber.
    publisher: OnceLock<Pub>,
    stage: watch::Sender<Stage>,
    requests: AtomicU64,
    tells: AtomicU64,
    rejected_tells: Arc<AtomicU64>,
}

impl SpClients {
    pub(crate) fn new(exports: Arc<Exports>, groups: Arc<GroupTable>) -> SpClients {
        SpClients {
            exports,
            groups,
            places: Places::new(SP_CLIENTS_MAX),
            asks: Shares::new(SP_ASKS_MAX),
            publisher: OnceLock::new(),
            stage: watch::Sender::new(Stage::Open),
            requests: AtomicU64::new(0),
            tells: AtomicU64::new(0),
            rejected_tells: Arc::default(),
        }
    }

    /// The protocol that serves a dialer of `theirs`; `None` if no client has it.
    pub(crate) fn partner(theirs: ProtocolNumber) -> Option<ProtocolNumber> {
        use ProtocolNumber as P;
        matches!(theirs, P::REQ | P::PUSH | P::SUB | P::SURVEYOR)
            .then(|| theirs.partner())
            .flatten()
    }

    /// Serves a connection of a client until it ends, or has to give way to another one.
    pub(crate) async fn serve(
        self: Arc<SpClients>,
        ours: ProtocolNumber,
        accepted: AcceptedConnection,
        identity_place: IdentityPlace,
    ) {
        let source = Source::of(&accepted.connection);
        let place = self.places.enter(source.clone());
        let peer = accepted.connection.peer.clone();
        let (clients, access) = (self.clone(), self.exports.access.clone());
        let identity = ClientIdentity::new(peer.clone(), identity_place, access);
        let serving = async {
            match ours {
                ProtocolNumber::REP => {
                    answering::serve::<Rep>(clients, accepted, source, identity).await;
                }
                ProtocolNumber::RESPONDENT => {
                    answering::serve::<Respondent>(clients, accepted, source, identity).await;
                }
                ProtocolNumber::PUB => self.serve_subscriber(accepted).await,
                _ => telling::serve(clients, accepted, identity).await,
            }
        };
        tokio::select! {
            () = serving => {}
            () = self.reached(Stage::Closed) => {}
            () = place.evicted() => {
                tracing::info!(%peer, "the connection of an SP client gave way to another one");
            }
        }
    }

    /// Waits until the end of the node has come this far.
    pub(crate) async fn reached(&self, stage: Stage) {
        // The sender lives as long as `self`, so there is no error.
        let _ = self.stage.subscribe().wait_for(|now| *now >= stage).await;
    }

    /// Goes on to a stage of the end.
    pub(crate) fn advance(&self, stage: Stage) {
        self.stage.send_if_modified(|now| {
            let further = *now < stage;
            *now = stage.max(*now);
            further
        });
    }

    /// Closes the connections, and lets the groups go.
    pub(crate) fn finish(&self) {
        self.advance(Stage::Closed);
        self.groups.clear();
    }

    /// Takes no more requests, and waits until all clients have their answers and are gone.
    pub(crate) async fn close(&self) {
        self.advance(Stage::Closing);
        if let Some(publisher) = self.publisher.get() {
            publisher.close().await;
        }
        loop {
            let freed = self.places.freed();
            if self.places.count() == 0 {
                return;
            }
            freed.await;
        }
    }

    pub(crate) fn statistics(&self) -> SpClientStatistics {
        let published = self.publisher.get().map(|publisher| publisher.statistics().counters);
        let published = published.unwrap_or_default();
        SpClientStatistics {
            connections: self.places.count(),
            requests: self.requests.load(Ordering::Relaxed),
            tells: self.tells.load(Ordering::Relaxed),
            rejected_tells: self.rejected_tells.load(Ordering::Relaxed),
            published: published.sent,
            published_dropped: published.dropped(),
        }
    }

    /// The running actor that is exported under this name.
    fn actor(&self, name: &str) -> Result<Arc<dyn Exported>, Failure> {
        self.exports.find(name.as_bytes()).ok_or_else(|| no_actor(name))
    }

    /// The actors that a survey for this name asks: those of the exported group with this name, or
    /// else the exported actor.
    fn surveyed(&self, name: &str) -> Result<Vec<Arc<dyn Exported>>, Failure> {
        match self.groups.find(name) {
            Some(group) => Ok(group.members()),
            None => Ok(vec![self.actor(name)?]),
        }
    }

    fn rejected_tells(&self) -> Arc<AtomicU64> {
        self.rejected_tells.clone()
    }

    fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    fn count_tell(&self) {
        self.tells.fetch_add(1, Ordering::Relaxed);
    }
}
