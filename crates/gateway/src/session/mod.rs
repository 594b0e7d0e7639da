//! Sessions of the link protocol through the gateway: over WebSocket, and over POST with long poll.
//!
//! Both carry what a node's own listener does, so a client that loses one of them resumes its session
//! over another one, and nothing is lost, doubled or reordered.

mod carrier;
mod long_poll;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::{Method, StatusCode};
use tokio::sync::{Mutex, OnceCell, mpsc};
use wigwag::access::Principal;
use wigwag::transport::{
    Boxed, Connection, HttpEndpoint, ListenOptions, Listener, NetError, WsListenOptions,
};
use wigwag::{Address, Node, NodeError};

use crate::gateway::Inner;
use crate::limits::CARRIERS_MAX;
use crate::problem::Problem;
use crate::request::client::{Client, Identity};
use crate::request::{Outcome, Parts};
use carrier::Carriers;

/// The path of sessions.
pub(crate) const PATH: &str = "/session";

/// The ways of sessions into the node, from the first session on.
#[derive(Default)]
pub(crate) struct Sessions(OnceCell<Entrances>);

struct Entrances {
    websocket: HttpEndpoint,
    carriers: Arc<Carriers>,
}

impl Sessions {
    async fn entrances(&self, node: &Node) -> Result<&Entrances, NodeError> {
        self.0.get_or_try_init(|| Entrances::open(node)).await
    }
}

impl Entrances {
    async fn open(node: &Node) -> Result<Entrances, NodeError> {
        // The gateway checks who reaches it, and the origin of each request.
        let websocket = HttpEndpoint::new(PATH)?.local();
        let ws = WsListenOptions::default().allow_any_origin();
        let options = ListenOptions::default().ws(ws);
        node.listen_with(&websocket.address().to_string(), options).await?;
        let (sender, arrivals) = mpsc::channel(CARRIERS_MAX);
        let address = Address::new("http", PATH);
        let listener = CarrierListener { arrivals: Mutex::new(arrivals), address };
        node.listen_on(Box::new(listener), ListenOptions::default())?;
        Ok(Entrances { websocket, carriers: Carriers::new(sender) })
    }
}

/// Hands the carriers of long polls to the node.
struct CarrierListener {
    arrivals: Mutex<mpsc::Receiver<Connection>>,
    address: Address,
}

impl Listener for CarrierListener {
    fn address(&self) -> &Address {
        &self.address
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            match self.arrivals.lock().await.recv().await {
                Some(arrived) => Ok(arrived),
                // The gateway is gone, and no more carriers come.
                None => std::future::pending().await,
            }
        })
    }

    fn is_local(&self) -> bool {
        true
    }

    fn takes_descriptors(&self) -> bool {
        false
    }
}

/// The name that a gateway vouches for, of an identity that a token stands for.
fn vouched_name(principal: &Principal) -> Option<Arc<str>> {
    match principal {
        Principal::Key(name) => Some(name.clone()),
        _ => None,
    }
}

impl Inner {
    /// Answers a request below the path of sessions.
    pub(crate) async fn session<B>(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: &Parts,
        id: Option<&str>,
        body: B,
    ) -> Outcome
    where
        B: http_body::Body<Data = bytes::Bytes>,
        B::Error: Into<axum::BoxError>,
    {
        if self.options.has_no_sessions {
            return Err(Problem::not_found("the gateway carries no sessions"));
        }
        let identity = self.identity_of_session(client, request)?;
        let entrances = self.sessions.entrances(&self.node).await;
        let entrances = entrances.map_err(|error| {
            tracing::warn!(%error, "the node takes no sessions of the gateway");
            Problem::overloaded("the node takes no sessions")
        })?;
        let carriers = &entrances.carriers;
        match (id, &request.parts.method) {
            (None, &Method::POST) => self.open_carrier(carriers, client, &identity),
            (None, &Method::GET) => self.upgrade(entrances, client, &identity, request).await,
            (None, _) => Err(Problem::method_not_allowed("GET, POST")),
            (Some(id), &Method::POST) => self.send(carriers, &identity, id, request, body).await,
            (Some(id), &Method::GET) => self.poll(carriers, &identity, id, request).await,
            (Some(id), &Method::DELETE) => Ok(long_poll::close(carriers, &identity, id)),
            (Some(_), _) => Err(Problem::method_not_allowed("GET, POST, DELETE")),
        }
    }

    /// Hands the connection over to the node, whose listener answers the upgrade.
    async fn upgrade(
        &self,
        entrances: &Entrances,
        client: &Client,
        identity: &Identity,
        request: &Parts,
    ) -> Outcome {
        let headers = &request.parts.headers;
        let is_upgrade =
            headers.get(UPGRADE).is_some_and(|to| to.as_bytes().eq_ignore_ascii_case(b"websocket"));
        if !is_upgrade {
            let detail =
                "a session begins with an upgrade to WebSocket, or with POST for long poll";
            let status = StatusCode::UPGRADE_REQUIRED;
            let problem =
                Problem::client(status, "UpgradeRequired", detail, "use a client of wigwag");
            return Err(problem.header(UPGRADE, HeaderValue::from_static("websocket")));
        }
        let Some(shared) = client.connection.as_ref() else {
            let detail = "the server that the gateway is mounted in keeps its connections";
            let hint = "use long poll, or the gateway's own listener";
            let status = StatusCode::NOT_IMPLEMENTED;
            return Err(Problem::client(status, "NoUpgrade", detail, hint));
        };
        let head = head_of(request);
        let Some(mut connection) = shared.steal() else {
            return Err(Problem::overloaded("the connection is gone"));
        };
        connection.vouched_name = vouched_name(identity.proxy.principal());
        self.counters.sessions[0].fetch_add(1, Ordering::Relaxed);
        if let Err(refused) = entrances.websocket.hand_over_connection(connection, &head) {
            tracing::info!(peer = %client.peer(), "the node takes no more sessions");
            refused.0.outlet.abort();
        }
        // The connection is no longer ours, and this task ends with it.
        std::future::pending().await
    }
}

/// The head of a request as it has come.
fn head_of(request: &Parts) -> Vec<u8> {
    let mut head = format!("GET {PATH} HTTP/1.1\r\n").into_bytes();
    for (name, value) in &request.parts.headers {
        // The order within a connection header means nothing.
        if name == CONNECTION {
            continue;
        }
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"connection: upgrade\r\n\r\n");
    head
}
