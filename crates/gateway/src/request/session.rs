//! Sessions of the link protocol through the gateway: over WebSocket, and over POST with long poll.
//!
//! Both carry what a node's own listener does, so a client that loses one of them resumes its session
//! over another one, and nothing is lost, doubled or reordered.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::{Method, StatusCode};

use crate::carriers::{Entrances, PATH, vouched_name};
use crate::client::{Client, Identity};
use crate::http::head::Parts;
use crate::http::problem::Problem;
use crate::http::{Outcome, RequestBody};
use crate::request::long_poll;
use crate::shared::Inner;

impl Inner {
    /// Answers a request below the path of sessions.
    pub(crate) async fn session<B: RequestBody>(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: &Parts<'_>,
        id: Option<&str>,
        body: &mut B,
    ) -> Outcome {
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
        request: &Parts<'_>,
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
fn head_of(request: &Parts<'_>) -> Vec<u8> {
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
