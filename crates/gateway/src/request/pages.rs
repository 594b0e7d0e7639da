//! The pages about the node and the gateway: actors, their schemas, counters and health.

use std::sync::Arc;

use axum::extract::OriginalUri;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};
use serde_json::{Value, json};
use wigwag::proxy::ProxyActor;
use wigwag_describe::definitions::Definitions;
use wigwag_describe::forms::Dialect;
use wigwag_describe::openapi::{self, Actor};

use crate::client::{Client, Identity};
use crate::http::body::Body;
use crate::http::head::Parts;
use crate::http::problem::Problem;
use crate::http::{Outcome, json_response};
use crate::shared::Inner;

/// The name under which a node that may be observed exports its counters.
const METRICS: &str = "/metrics";

/// The method that hands them out.
const SNAPSHOT: &str = "snapshot";

/// Whether the gateway takes requests: not if it closes, or its node does.
pub(crate) fn health(is_closing: bool) -> Outcome {
    let status = if is_closing { "closing" } else { "ok" };
    let mut response = json_response(json!({"status": status}).to_string());
    if is_closing {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    Ok(response)
}

impl Inner {
    /// The actors that the client may call.
    pub(crate) fn index(self: &Arc<Inner>, client: &Arc<Client>, request: &Parts<'_>) -> Outcome {
        request.takes(&Method::GET)?;
        let identity = self.identity(client, request)?;
        let actors: Vec<Value> = identity
            .proxy
            .actors()
            .into_iter()
            .map(|one| json!({"name": one.name, "type": one.kind, "comment": one.comment}))
            .collect();
        Ok(json_response(json!({"actors": actors}).to_string()))
    }

    /// The interface of one actor: JSON Schema of its methods, for values in their named form.
    pub(crate) fn schema(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: &Parts<'_>,
        name: &str,
    ) -> Outcome {
        request.takes(&Method::GET)?;
        let identity = self.identity(client, request)?;
        let actor = identity.proxy.actor(name)?;
        let described = actor.described();
        // One document with its types beside the methods, so references lead into it.
        let definitions = Definitions::new(&described, Dialect::OpenApi);
        let methods: serde_json::Map<String, Value> = described
            .methods
            .iter()
            .map(|(method, arguments, reply)| {
                let mut form = json!({
                    "signature": format!("{} -> {reply}", wigwag_describe::signature(method, arguments)),
                    "arguments": definitions.arguments(arguments),
                    "reply": definitions.reply(method, reply),
                    "stream": described.is_stream(method),
                });
                let comment = described.comment_of(method);
                if !comment.is_empty() {
                    form["description"] = comment.into();
                }
                (method.clone(), form)
            })
            .collect();
        let document = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": described.name,
            "description": described.comment,
            "methods": methods,
            "components": {"schemas": definitions.types()},
        });
        Ok(json_response(document.to_string()))
    }

    /// All actors that the client may call, as OpenAPI 3.1.
    pub(crate) async fn openapi(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: &Parts<'_>,
    ) -> Outcome {
        request.takes(&Method::GET)?;
        let identity = self.identity(client, request)?;
        let title = self.options.title.as_deref().unwrap_or("Actors").to_owned();
        let base = base(request).map(str::to_owned);
        // It goes with the work, which a request that is given up does not end.
        let turn = self.openapi_turn.clone().acquire_owned().await;
        let making = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            openapi::document(&title, base.as_deref(), &callable(&identity))
        });
        // The runtime ends, or the document could not be made, which the panic hook has reported.
        let failed = |_| Problem::overloaded("the document was not made to its end");
        Ok(json_response(making.await.map_err(failed)?))
    }

    /// Refuses clients to which the node would not hand a snapshot, if they asked it by a session.
    pub(crate) fn check_may_observe(&self, identity: &Identity) -> Result<(), Problem> {
        let found = identity.proxy.actor(METRICS).and_then(|actor| actor.method(SNAPSHOT));
        found.map(drop).map_err(|_| {
            Problem::not_found("the node may not be observed, or not by this client").hint(
                "create it with `NodeOptions::observable(true)`, and let the client call \
                 `snapshot` of `/metrics`",
            )
        })
    }

    /// The counters of the node and of the gateway, for clients that may call the actor `/metrics`.
    pub(crate) fn metrics(self: &Arc<Inner>, client: &Arc<Client>, request: &Parts<'_>) -> Outcome {
        request.takes(&Method::GET)?;
        let identity = self.identity(client, request)?;
        self.check_may_observe(&identity)?;
        let page = self.node.metrics().to_prometheus() + &self.counters.page();
        let mut response = Response::new(Body::from(page));
        let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        Ok(response)
    }
}

/// The path at which a router of the program has the gateway; `None` at the root.
fn base<'r>(request: &Parts<'r>) -> Option<&'r str> {
    let OriginalUri(asked) = request.parts.extensions.get()?;
    let base = asked.path().strip_suffix(request.parts.uri.path())?;
    (!base.is_empty()).then_some(base)
}

/// The actors that a client may call.
fn callable(identity: &Identity) -> Vec<Actor> {
    let names = identity.proxy.actors().into_iter();
    // One may have been withdrawn since.
    names.filter_map(|one| Some(described(&identity.proxy.actor(&one.name).ok()?))).collect()
}

fn described(actor: &ProxyActor) -> Actor {
    let routes = actor.methods().flat_map(|method| {
        let schema = method.schema();
        schema.routes.iter().map(|route| (schema.name.to_owned(), *route)).collect::<Vec<_>>()
    });
    Actor { name: actor.name().to_owned(), described: actor.described(), routes: routes.collect() }
}
