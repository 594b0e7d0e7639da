//! What requests and servers of a gateway share.

use std::sync::{Arc, Mutex};

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use wigwag::Node;
use wigwag_net::places::Places;

use crate::carriers::Sessions;
use crate::client::Client;
use crate::client::call::FormsTable;
use crate::counters::Counters;
use crate::options::GatewayOptions;
use crate::routes::Routes;
use crate::snapshots::Snapshots;

/// How far the end of a gateway has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Open,
    /// No connection is accepted and no request is begun; those that have begun are answered.
    Closing,
    /// Connections are cut.
    Closed,
}

/// What requests and servers share.
pub(crate) struct Inner {
    pub(crate) node: Node,
    pub(crate) options: GatewayOptions,
    pub(crate) counters: Counters,
    pub(crate) connections: Arc<Places>,
    /// Bytes of bodies of requests that may still come.
    pub(crate) bodies: Semaphore,
    pub(crate) routes: Routes,
    pub(crate) forms: FormsTable,
    pub(crate) sessions: Sessions,
    /// What live pages are sent.
    pub(crate) snapshots: Snapshots,
    pub(crate) stage: watch::Sender<Stage>,
    /// The client of requests that come through a router of the program, without a connection of ours.
    pub(crate) mounted: Arc<Client>,
    pub(crate) servers: Mutex<JoinSet<()>>,
    /// The router of the program, with the gateway behind it.
    pub(crate) router: Option<axum::Router>,
}

impl Inner {
    pub(crate) fn advance(&self, stage: Stage) {
        self.stage.send_if_modified(|now| {
            let further = *now < stage;
            *now = stage.max(*now);
            further
        });
    }

    /// True if no request may begin.
    pub(crate) fn is_closing(&self) -> bool {
        *self.stage.borrow() != Stage::Open
    }

    /// Waits until the end has come this far.
    pub(crate) async fn reached(&self, stage: Stage) {
        // The sender lives as long as `self`, so there is no error.
        let _ = self.stage.subscribe().wait_for(|now| *now >= stage).await;
    }
}
