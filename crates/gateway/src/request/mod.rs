//! From a request to its response.

pub(crate) mod events;
mod origin;
mod body;
mod calls;
mod pages;
mod compression;
mod session;
mod long_poll;
mod live_page;

use std::convert::Infallible;
use std::sync::{Arc, Weak};
use std::time::Instant;

use hyper::{HeaderMap, Request, Response, StatusCode, Version};
use tower_service::Service;

use crate::client::Client;
use crate::counters::Open;
use crate::http::body::Body;
use crate::http::head::{Parts, decoded};
use crate::http::problem::Problem;
use crate::http::{Outcome, RequestBody};
use crate::limits::REQUESTS_MAX;
use crate::shared::Inner;

/// The client of a request on its way through the router of the program, back to its gateway.
///
/// The router may have another gateway within it, of another node. The identities of a client and the
/// calls behind its paths belong to one gateway.
#[derive(Clone)]
pub(crate) struct Arrived {
    gateway: Weak<Inner>,
    client: Arc<Client>,
}

impl Arrived {
    fn at(gateway: &Arc<Inner>, client: &Arc<Client>) -> Arrived {
        Arrived { gateway: Arc::downgrade(gateway), client: client.clone() }
    }

    /// The client, if the request has come over a connection of `gateway`.
    pub(crate) fn client_of(self, gateway: &Arc<Inner>) -> Option<Arc<Client>> {
        (self.gateway.as_ptr() == Arc::as_ptr(gateway)).then_some(self.client)
    }
}

impl Inner {
    /// Answers a request by the router of the program, which has the gateway behind it.
    pub(crate) async fn route<B: RequestBody>(
        self: &Arc<Inner>,
        router: &axum::Router,
        client: &Arc<Client>,
        mut request: Request<B>,
    ) -> Response<Body> {
        request.extensions_mut().insert(Arrived::at(self, client));
        let answered = router.clone().call(request.map(axum::body::Body::new)).await;
        let Ok(response) = answered.map_err(|never: Infallible| match never {});
        response.map(Body::other)
    }

    /// Answers a request of `client`.
    pub(crate) async fn handle<B: RequestBody>(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        parts: &hyper::http::request::Parts,
        body: &mut B,
    ) -> Response<Body> {
        let logged = tracing::enabled!(target: "wigwag_gateway::access", tracing::Level::INFO)
            .then(|| (Instant::now(), parts.method.clone(), parts.uri.path().to_owned()));
        let request = Parts::new(parts);
        let mut response = match self.checked(client, &request, body).await {
            Ok(response) if compression::is_worth_it(&response) => {
                Box::pin(compression::compress(response, &request.parts.headers)).await
            }
            Ok(response) => response,
            Err(problem) => problem.response(),
        };
        origin::allow(&self.options, &request, response.headers_mut());
        self.repeat_headers(&request.parts.headers, response.headers_mut());
        self.counters.answered(response.status());
        if let Some((begun, method, path)) = logged {
            tracing::info!(
                target: "wigwag_gateway::access",
                peer = %client.peer(),
                %method,
                path,
                status = response.status().as_u16(),
                micros = begun.elapsed().as_micros() as u64,
            );
        }
        response
    }

    /// Repeats the headers of a request in its answer that the options say: the first value of each.
    fn repeat_headers(&self, request: &HeaderMap, response: &mut HeaderMap) {
        if self.options.repeated.is_empty() {
            return;
        }
        // A look at each header costs less than a search for one. The values of a name are in a row.
        let mut before = None;
        for (name, value) in request {
            if before != Some(name) && self.options.repeated.contains(name) {
                response.insert(name.clone(), value.clone());
            }
            before = Some(name);
        }
    }

    async fn checked<B: RequestBody>(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: &Parts<'_>,
        body: &mut B,
    ) -> Outcome {
        let Some(_open) = Open::begin(&self.counters.requests_open, REQUESTS_MAX) else {
            return Err(Problem::overloaded("the gateway has as many requests as it may"));
        };
        self.check_host(client, request)?;
        if let Some(preflight) = origin::check(&self.options, request)? {
            return Ok(preflight);
        }
        if request.parts.uri.path() == "/health" {
            return pages::health(self.is_closing() || self.node.is_closed());
        }
        if self.is_closing() {
            return Err(Problem::overloaded("the gateway is closing"));
        }
        // Clients may remember calls of its actors, which would still reach them.
        if self.node.is_closed() {
            return Err(Problem::overloaded("the node is closing"));
        }
        self.dispatch(client, request, body).await
    }

    /// Refuses a name that leads here by accident or by malice.
    fn check_host(&self, client: &Client, request: &Parts<'_>) -> Result<(), Problem> {
        // One, and no other (RFC 9112 3.2).
        let (host, hosts) = request.hosts();
        let is_missing = hosts == 0 && request.parts.version == Version::HTTP_11;
        if is_missing || hosts > 1 {
            let hint = "send one header Host";
            let detail = "the request must have one header Host";
            return Err(Problem::client(StatusCode::BAD_REQUEST, "BadRequest", detail, hint));
        }
        // In HTTP/2 it may be the authority.
        let authority = request.parts.uri.authority().map(|it| it.as_str());
        // Load balancers look at `/health` by HTTP/1.0 without a name. Browsers always send one, so
        // no page has led such a request here.
        if host.is_none() && authority.is_none() && request.parts.version <= Version::HTTP_10 {
            return Ok(());
        }
        let host = host.and_then(|it| it.to_str().ok()).or(authority).unwrap_or_default();
        if client.may_ask_for(host, &self.options) {
            return Ok(());
        }
        let status = StatusCode::MISDIRECTED_REQUEST;
        let hint = "call the gateway by its address, or name the host with `GatewayOptions::host`";
        Err(Problem::client(status, "WrongHost", "the gateway does not have this name", hint))
    }

    async fn dispatch<B: RequestBody>(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: &Parts<'_>,
        body: &mut B,
    ) -> Outcome {
        let routes = client.current_routes(&self.routes, &self.node);
        if let Some(call) = routes.find(request.parts)? {
            return self.call_route(client, request, call, body).await;
        }
        let path = request.parts.uri.path();
        let segments = path.strip_prefix('/').unwrap_or(path);
        match segments.split_once('/') {
            None => match segments {
                "" => self.index(client, request),
                "openapi.json" => Box::pin(self.openapi(client, request)).await,
                "metrics" => self.metrics(client, request),
                "ui" if self.options.has_live_page => live_page::redirect(request),
                // Boxed, so that other requests have no room for it.
                "session" => Box::pin(self.session(client, request, None, body)).await,
                actor => self.schema(client, request, &decoded(actor)?),
            },
            Some((actor, rest)) => match rest.split_once('/') {
                Some((call @ ("ask" | "tell" | "stream"), method)) if !method.contains('/') => {
                    self.call(client, request, calls::Path { path, actor, call, method }, body)
                        .await
                }
                None if actor == "ui" && self.options.has_live_page => {
                    self.live_page(client, request, rest)
                }
                None if actor == "session" => {
                    Box::pin(self.session(client, request, Some(rest), body)).await
                }
                _ => Err(Problem::not_found("the path leads to nothing")),
            },
        }
    }
}
