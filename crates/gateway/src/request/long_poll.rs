//! The requests of a session over long poll.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;
use tokio::time::timeout;
use wigwag::transport::Connection;

use crate::carriers::carrier::{Carrier, Carriers, Fault};
use crate::carriers::vouched_name;
use crate::client::{Client, Identity};
use crate::http::body::Body;
use crate::http::head::Parts;
use crate::http::problem::Problem;
use crate::http::{Outcome, RequestBody, json_response};
use crate::limits::{BODY_TIME, CARRIER_BYTES_MAX, POLL_TIME};
use crate::shared::{Inner, Stage};

impl Inner {
    /// Opens a carrier.
    pub(super) fn open_carrier(
        &self,
        carriers: &Arc<Carriers>,
        client: &Client,
        identity: &Identity,
    ) -> Outcome {
        let principal = identity.proxy.principal();
        let prepare = |connection: &mut Connection| {
            client.identify(connection);
            connection.vouched_name = vouched_name(principal);
        };
        let progress = self.progress.clone();
        let end = async move { progress.reached(Stage::Closed).await };
        let id = carriers.open(principal, client.peer(), prepare, end)?;
        self.counters.sessions[1].fetch_add(1, Ordering::Relaxed);
        let mut response = json_response(json!({"id": id}).to_string());
        *response.status_mut() = StatusCode::CREATED;
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }

    /// Takes bytes of the client.
    pub(super) async fn send<B: RequestBody>(
        &self,
        carriers: &Carriers,
        identity: &Identity,
        id: &str,
        request: &Parts<'_>,
        body: &mut B,
    ) -> Outcome {
        let carrier = find(carriers, identity, id)?;
        // However it ends before its time, the client does not know what has come.
        let closing = CloseOnDrop { carriers, id, is_done: false };
        let at = offset(request)?;
        let held = self.read_body(&request.parts.headers, body, CARRIER_BYTES_MAX).await?;
        match timeout(BODY_TIME, carrier.send(at, &held.bytes)).await {
            Ok(Ok(())) => {
                closing.done();
                let mut response = Response::new(Body::default());
                *response.status_mut() = StatusCode::NO_CONTENT;
                Ok(response)
            }
            Ok(Err(fault)) => Err(ended(fault)),
            Err(_) => Err(Problem::overloaded("the node does not take what is sent")),
        }
    }

    /// Sends bytes to the client.
    pub(super) async fn poll(
        &self,
        carriers: &Carriers,
        identity: &Identity,
        id: &str,
        request: &Parts<'_>,
    ) -> Outcome {
        let carrier = find(carriers, identity, id)?;
        let at = offset(request)?;
        let polled = tokio::select! {
            polled = carrier.poll(at, POLL_TIME) => polled,
            () = self.reached(Stage::Closing) => Err(Fault::Closed),
        };
        let mut response = match polled {
            Ok(Some(bytes)) => Response::new(Body::from(bytes)),
            Ok(None) => {
                let mut response = Response::new(Body::default());
                *response.status_mut() = StatusCode::NO_CONTENT;
                response
            }
            Err(fault) => {
                carriers.close(id);
                return Err(ended(fault));
            }
        };
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }
}

/// Closes a carrier.
pub(super) fn close(carriers: &Carriers, identity: &Identity, id: &str) -> Response<Body> {
    if carriers.find(id, identity.proxy.principal()).is_some() {
        carriers.close(id);
    }
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// Closes the carrier of a request that has not come to its end.
struct CloseOnDrop<'a> {
    carriers: &'a Carriers,
    id: &'a str,
    is_done: bool,
}

impl CloseOnDrop<'_> {
    fn done(mut self) {
        self.is_done = true;
    }
}

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.carriers.close(self.id);
        }
    }
}

fn find(carriers: &Carriers, identity: &Identity, id: &str) -> Result<Arc<Carrier>, Problem> {
    let found = carriers.find(id, identity.proxy.principal());
    found.ok_or_else(|| ended(Fault::Closed))
}

/// `at=BYTES` of the query.
fn offset(request: &Parts<'_>) -> Result<u64, Problem> {
    let query = request.parts.uri.query().unwrap_or_default();
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let at = pairs.find(|(name, _)| name == "at").and_then(|(_, text)| text.parse().ok());
    at.ok_or_else(|| {
        let detail = "the query has no at=BYTES, the number of bytes that came before";
        Problem::client(StatusCode::BAD_REQUEST, "Protocol", detail, "use a client of wigwag")
    })
}

fn ended(fault: Fault) -> Problem {
    let hint = "open another one with POST /session, and resume the session over it";
    match fault {
        Fault::OutOfStep => {
            let detail = "the request does not continue where the one before ended";
            Problem::client(StatusCode::CONFLICT, "OutOfStep", detail, hint)
        }
        Fault::Closed => {
            let detail = "there is no such carrier any more";
            Problem::client(StatusCode::GONE, "CarrierClosed", detail, hint)
        }
    }
}
