//! The gateway as a program sees it.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::{Request, Response};
use tokio::sync::Semaphore;
use tower_service::Service;
use wigwag::{Address, Node};
use wigwag_net::places::Places;

use crate::carriers::Sessions;
use crate::client::Client;
use crate::client::call::FormsTable;
use crate::counters::Counters;
use crate::error::GatewayError;
use crate::http::body::Body;
use crate::limits::{BODIES_BYTES_MAX, CONNECTIONS_MAX, CUT_TIME};
use crate::options::GatewayOptions;
use crate::request::Arrived;
use crate::routes::Routes;
use crate::server;
use crate::shared::{Inner, Progress, Servers, Stage};
use crate::snapshots::Snapshots;

/// A gateway from HTTP to the actors of a node. Clones are the same gateway.
///
/// The crate's [example](crate) has one. It ends when it is [closed](Self::close), or with its last
/// clone.
#[derive(Clone)]
pub struct Gateway {
    pub(crate) inner: Arc<Inner>,
    /// Ends the servers with the last clone.
    _owner: Arc<Owner>,
}

struct Owner(Arc<Progress>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.advance(Stage::Closed);
    }
}

impl Gateway {
    /// A gateway to the actors that `node` exports, with default options.
    pub fn new(node: &Node) -> Gateway {
        Gateway::with(node, GatewayOptions::default())
    }

    /// A gateway with options.
    pub fn with(node: &Node, mut options: GatewayOptions) -> Gateway {
        let router = options.router.take();
        let inner = Arc::new_cyclic(|inner| {
            let actors = GatewayService(ServiceOf::Weak(inner.clone()));
            Inner {
                node: node.clone(),
                options,
                counters: Counters::default(),
                connections: Places::new(CONNECTIONS_MAX),
                bodies: Semaphore::new(BODIES_BYTES_MAX),
                routes: Routes::default(),
                forms: FormsTable::default(),
                openapi_turn: Arc::new(Semaphore::new(1)),
                sessions: Sessions::default(),
                snapshots: Snapshots::default(),
                progress: Arc::new(Progress::new()),
                mounted: Arc::new(Client::mounted()),
                servers: Servers::default(),
                router: router.map(|router| router.fallback_service(actors)),
            }
        });
        let owner = Arc::new(Owner(inner.progress.clone()));
        Gateway { inner, _owner: owner }
    }

    /// Listens at `address` and returns the actual one: `http://127.0.0.1:0` gets a free port. An
    /// address is `http://host:port`, `https://host:port`, or that of another transport of wigwag, as
    /// `ipc:///run/shop.http` for a Unix socket.
    ///
    /// # Errors
    /// - [`Net`](GatewayError::Net) if the address is malformed or cannot be listened at;
    /// - [`NoCertificate`](GatewayError::NoCertificate) for `https://` without
    ///   [`GatewayOptions::tls`];
    /// - [`Unprotected`](GatewayError::Unprotected) if other machines reach the address and nothing
    ///   identifies the clients;
    /// - [`Closed`](GatewayError::Closed) if the gateway is closed.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    ///
    /// # Cancellation
    /// If dropped while it waits, the gateway does not listen there.
    pub async fn listen(&self, address: &str) -> Result<Address, GatewayError> {
        if self.inner.is_closing() {
            return Err(GatewayError::Closed);
        }
        let (listener, bound) = server::bind(&self.inner, address).await?;
        let serving = server::serve(self.inner.clone(), listener, bound.clone());
        let running = Servers::begin(&self.inner);
        // It may have been closed meanwhile.
        if self.inner.is_closing() {
            return Err(GatewayError::Closed);
        }
        tokio::spawn(async move {
            let _running = running;
            serving.await;
        });
        Ok(bound)
    }

    /// The gateway as a router of axum, to be merged into one of the program's own, or nested within it:
    /// by `nest_service`, since axum's `nest` leads to it only where the router around it is not nested
    /// itself.
    ///
    /// Requests that come this way have no identity by their connection, but by a token, or none; and
    /// sessions over WebSocket need the gateway's own [listener](Self::listen). Both hold within
    /// the [router](GatewayOptions::router) of another gateway too. All clients with one identity are one
    /// connection of it to [`IdentityLimits::sessions`](wigwag::access::IdentityLimits::sessions), from
    /// their first request until the gateway is dropped.
    ///
    /// The gateway does not know at which address such requests have come, so it takes those for any
    /// host: name the hosts with [`GatewayOptions::host`], so that pages which lead a name of their own to
    /// this machine (DNS rebinding) are refused. [`close`](Self::close) refuses further requests and ends
    /// streams, and leaves it to the program's server to wait for the others.
    ///
    /// ```
    /// use axum::routing::get;
    /// use wigwag::Node;
    /// use wigwag_gateway::Gateway;
    ///
    /// # #[wigwag::main]
    /// # async fn main() {
    /// let gateway = Gateway::new(&Node::new());
    /// let app: axum::Router = axum::Router::new()
    ///     .route("/version", get(async || "7"))
    ///     .nest_service("/actors", gateway.router());
    /// # let _ = app;
    /// # }
    /// ```
    pub fn router(&self) -> axum::Router {
        axum::Router::new().fallback_service(GatewayService(ServiceOf::Strong(self.clone())))
    }

    /// Closes the gateway: accepts no connection and begins no request, answers those that have begun
    /// for at most `limit`, and cuts what is left. Streams end with an error that says so. True if
    /// nothing had to be cut. Of several calls the first whose time is over cuts for all. If the runtime
    /// on which the gateway listens stands still, this takes a second longer than `limit`, and what is
    /// left ends when the runtime goes on.
    ///
    /// A session over WebSocket is one of the node since its upgrade, and goes on until that is
    /// [closed](wigwag::Node::close). One over long poll loses its carrier.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    ///
    /// # Cancellation
    /// If dropped while it waits, the gateway goes on closing, without a limit.
    pub async fn close(&self, limit: Duration) -> bool {
        let Inner { progress, servers, .. } = &*self.inner;
        progress.advance(Stage::Closing);
        if tokio::time::timeout(limit, servers.end()).await.is_err() {
            servers.cut();
        }
        progress.advance(Stage::Closed);
        // They end at once, unless the runtime that they are on stands still.
        let _ = tokio::time::timeout(CUT_TIME, servers.end()).await;
        !servers.were_cut()
    }
}

impl std::fmt::Debug for Gateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gateway").field("options", &self.inner.options).finish_non_exhaustive()
    }
}

/// The gateway as a service of tower.
#[derive(Clone)]
struct GatewayService(ServiceOf);

#[derive(Clone)]
enum ServiceOf {
    /// Within the gateway itself.
    Weak(std::sync::Weak<Inner>),
    /// In a router of the program.
    Strong(Gateway),
}

impl Service<Request<axum::body::Body>> for GatewayService {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<axum::body::Body>) -> Self::Future {
        let service = self.0.clone();
        Box::pin(async move {
            let inner = match &service {
                ServiceOf::Weak(inner) => inner.upgrade(),
                ServiceOf::Strong(gateway) => Some(gateway.inner.clone()),
            };
            // A server holds the gateway while it answers.
            let Some(inner) = inner else { return Ok(Response::default()) };
            let arrived = request.extensions_mut().remove::<Arrived>();
            let client = arrived.and_then(|arrived| arrived.client_of(&inner));
            let client = client.unwrap_or_else(|| inner.mounted.clone());
            let (parts, mut body) = request.into_parts();
            Ok(inner.handle(&client, &parts, &mut body).await)
        })
    }
}
