//! The state that requests and servers of a gateway share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{Semaphore, watch};
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

/// The state that requests and servers share.
pub(crate) struct Inner {
    pub(crate) node: Node,
    pub(crate) options: GatewayOptions,
    pub(crate) counters: Counters,
    pub(crate) connections: Arc<Places>,
    /// Bytes of bodies of requests that may still come.
    pub(crate) bodies: Semaphore,
    pub(crate) routes: Routes,
    pub(crate) forms: FormsTable,
    /// The right to make an `/openapi.json`. With thousands of actors one takes a second and hundreds of
    /// megabytes, so one is made at a time.
    pub(crate) openapi_turn: Arc<Semaphore>,
    pub(crate) sessions: Sessions,
    /// The snapshots that live pages are sent.
    pub(crate) snapshots: Snapshots,
    pub(crate) progress: Arc<Progress>,
    /// The client of requests that come through a router of the program, without a connection of ours.
    pub(crate) mounted: Arc<Client>,
    pub(crate) servers: Servers,
    /// The router of the program, with the gateway behind it.
    pub(crate) router: Option<axum::Router>,
}

/// How far the end of a gateway has come, for what waits for it.
pub(crate) struct Progress {
    stage: watch::Sender<Stage>,
    /// That the stage is not [`Open`](Stage::Open). Each request looks at it, and a look at the stage
    /// itself takes a lock that all processors would share.
    is_closing: AtomicBool,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { stage: watch::Sender::new(Stage::Open), is_closing: AtomicBool::new(false) }
    }

    pub(crate) fn advance(&self, stage: Stage) {
        self.is_closing.fetch_or(stage != Stage::Open, Ordering::Release);
        self.stage.send_if_modified(|now| {
            let further = *now < stage;
            *now = stage.max(*now);
            further
        });
    }

    /// Waits until the end has come this far.
    pub(crate) async fn reached(&self, stage: Stage) {
        // The sender lives as long as `self`, so there is no error.
        let _ = self.stage.subscribe().wait_for(|now| *now >= stage).await;
    }
}

/// The servers of a gateway, one for each address, until they have ended.
#[derive(Default)]
pub(crate) struct Servers {
    running: watch::Sender<usize>,
    were_cut: AtomicBool,
}

/// A server that runs.
pub(crate) struct Running(Arc<Inner>);

impl Servers {
    /// Counts a server of `gateway` until the result is dropped.
    pub(crate) fn begin(gateway: &Arc<Inner>) -> Running {
        gateway.servers.running.send_modify(|running| *running += 1);
        Running(gateway.clone())
    }

    /// Waits until none runs.
    pub(crate) async fn end(&self) {
        // The sender lives as long as `self`, so there is no error.
        let _ = self.running.subscribe().wait_for(|running| *running == 0).await;
    }

    /// Says that the time of those that run is over.
    pub(crate) fn cut(&self) {
        // Relaxed, also where it is read: the end of the servers, which follows, publishes it.
        self.were_cut.store(true, Ordering::Relaxed);
    }

    pub(crate) fn were_cut(&self) -> bool {
        self.were_cut.load(Ordering::Relaxed)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.servers.running.send_modify(|running| *running -= 1);
    }
}

impl Inner {
    /// True if no request may begin.
    pub(crate) fn is_closing(&self) -> bool {
        self.progress.is_closing.load(Ordering::Acquire)
    }

    /// Waits until the end has come this far.
    pub(crate) async fn reached(&self, stage: Stage) {
        self.progress.reached(stage).await;
    }
}
