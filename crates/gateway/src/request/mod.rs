//! From a request to its response.

pub(crate) mod client;
pub(crate) mod routes;
pub(crate) mod events;
mod origin;
mod body;
pub(crate) mod calls;
mod pages;
mod compression;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hyper::header::{HOST, HeaderName};
use hyper::{Method, Request, Response, StatusCode, Version};
use percent_encoding::percent_decode_str;

use crate::body::Body;
use crate::counters::Open;
use crate::gateway::Inner;
use crate::limits::REQUESTS_MAX;
use crate::problem::Problem;
use client::Client;

/// How a client would like to be answered (RFC 7240).
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The outcome of a request.
pub(crate) type Outcome = Result<Response<Body>, Problem>;

impl Inner {
    /// Answers a request of `client`.
    pub(crate) async fn handle<B>(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: Request<B>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let logged = tracing::enabled!(target: "wigwag_gateway::access", tracing::Level::INFO)
            .then(|| (Instant::now(), request.method().clone(), request.uri().path().to_owned()));
        let (parts, body) = request.into_parts();
        let request = Parts { parts };
        let mut response = match self.checked(client, &request, body).await {
            Ok(response) => compression::compress(response, &request.parts.headers).await,
            Err(problem) => problem.response(),
        };
        origin::allow(&self.options, &request.parts.headers, response.headers_mut());
        for name in &*self.options.repeated {
            if let Some(value) = request.parts.headers.get(name) {
                response.headers_mut().insert(name.clone(), value.clone());
            }
        }
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

    async fn checked<B>(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: &Parts,
        body: B,
    ) -> Outcome
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let Some(_open) = Open::begin(&self.counters.requests_open, REQUESTS_MAX) else {
            return Err(Problem::overloaded("the gateway has as many requests as it may"));
        };
        self.check_host(client, request)?;
        if let Some(preflight) = origin::check(&self.options, &request.parts)? {
            return Ok(preflight);
        }
        if request.parts.uri.path() == "/health" {
            return pages::health(self.is_closing());
        }
        if self.is_closing() {
            return Err(Problem::overloaded("the gateway is closing"));
        }
        self.dispatch(client, request, body).await
    }

    /// Refuses a name that leads here by accident or by malice.
    fn check_host(&self, client: &Client, request: &Parts) -> Result<(), Problem> {
        // One, and no other (RFC 9112 3.2).
        let hosts = request.parts.headers.get_all(HOST).iter().count();
        if hosts > 1 || (hosts == 0 && request.parts.version == Version::HTTP_11) {
            let hint = "send one header Host";
            let detail = "the request must have one header Host";
            return Err(Problem::client(StatusCode::BAD_REQUEST, "BadRequest", detail, hint));
        }
        let host = request.host();
        if self.options.accepts_host(host, client.is_loopback()) {
            return Ok(());
        }
        let status = StatusCode::MISDIRECTED_REQUEST;
        let hint = "call the gateway by its address, or name the host with `GatewayOptions::host`";
        Err(Problem::client(status, "WrongHost", "the gateway does not have this name", hint))
    }

    async fn dispatch<B>(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: &Parts,
        body: B,
    ) -> Outcome
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        if let Some(call) = self.routes.find(&self.node, &request.parts)? {
            return self.call_route(client, request, call, body).await;
        }
        let path = request.parts.uri.path();
        let segments = path.strip_prefix('/').unwrap_or(path);
        match segments.split_once('/') {
            None => match segments {
                "" => self.index(client, request),
                "openapi.json" => self.openapi(client, request),
                "metrics" => self.metrics(client, request),
                // Boxed, so that other requests have no room for it.
                "session" => Box::pin(self.session(client, request, None, body)).await,
                actor => self.schema(client, request, &decoded(actor)?),
            },
            Some((actor, rest)) => match rest.split_once('/') {
                Some((call @ ("ask" | "tell" | "stream"), method)) if !method.contains('/') => {
                    self.call(client, request, calls::Path { path, actor, call, method }, body)
                        .await
                }
                None if actor == "session" => {
                    Box::pin(self.session(client, request, Some(rest), body)).await
                }
                _ => Err(Problem::not_found("the path leads to nothing")),
            },
        }
    }
}

/// The head of a request.
pub(crate) struct Parts {
    pub(crate) parts: hyper::http::request::Parts,
}

impl Parts {
    /// The host that the client calls: the header, or in HTTP/2 the authority.
    pub(crate) fn host(&self) -> &str {
        let header = self.parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        header.or(self.parts.uri.authority().map(|it| it.as_str())).unwrap_or_default()
    }

    /// Refuses methods of HTTP that the path does not take.
    pub(crate) fn takes(&self, method: &Method) -> Result<(), Problem> {
        let taken = &self.parts.method;
        if taken == method || (taken == Method::HEAD && method == Method::GET) {
            return Ok(());
        }
        Err(Problem::method_not_allowed(match *method {
            Method::GET => "GET, HEAD",
            _ => method.as_str(),
        }))
    }

    /// The seconds of `Prefer: wait=SECONDS` (RFC 7240 4.3).
    pub(crate) fn wait_seconds(&self) -> Option<u64> {
        let preferences =
            self.parts.headers.get_all(PREFER).iter().filter_map(|it| it.to_str().ok());
        let mut each = preferences.flat_map(|line| line.split([',', ';']));
        each.find_map(|one| one.trim().strip_prefix("wait=")?.trim_matches('"').parse().ok())
    }
}

/// A segment of a path without its percent signs.
pub(crate) fn decoded(segment: &str) -> Result<std::borrow::Cow<'_, str>, Problem> {
    percent_decode_str(segment)
        .decode_utf8()
        .map_err(|_| Problem::not_found("the path is no UTF-8"))
}
