//! Asks, tells and streams.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, Response, StatusCode};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use wigwag::dynamic::Argument;
use wigwag::proxy::ProxyMethod;

use super::events::{self, ActorItems};
use crate::client::call::{KnownCall, bad_arguments};
use crate::client::{Client, Identity};
use crate::http::body::Body;
use crate::http::head::{Parts, decoded};
use crate::http::problem::Problem;
use crate::http::{Outcome, RequestBody};
use crate::limits::ITEMS_AHEAD;
use crate::routes::RouteCall;
use crate::shared::Inner;

/// The path of a call, which is not decoded yet.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    pub(crate) path: &'a str,
    pub(crate) actor: &'a str,
    /// `ask`, `tell` or `stream`.
    pub(crate) call: &'a str,
    pub(crate) method: &'a str,
}

impl Inner {
    /// Makes the call that a path of the gateway's own names.
    pub(crate) async fn call<B: RequestBody>(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: &Parts<'_>,
        path: Path<'_>,
        body: &mut B,
    ) -> Outcome {
        let is_stream = path.call == "stream";
        request.takes(if is_stream { &Method::GET } else { &Method::POST })?;
        let identity = self.identity(client, request)?;
        let known = self.known(&identity, path.path, || {
            if path.actor.is_empty() {
                return Err(Problem::not_found("the path names no actor"));
            }
            let actor = identity.proxy.actor(&decoded(path.actor)?)?;
            Ok(actor.method(&decoded(path.method)?)?)
        })?;
        if is_stream != known.method.schema().is_stream {
            let call = if is_stream { "ask" } else { "stream" };
            return Err(Problem::not_found(&format!("the method is called by /{call}/")));
        }
        let arguments = match is_stream {
            true => known.named(query(&known.method, request, Map::new())?)?,
            false => {
                let held =
                    self.read_body(&request.parts.headers, body, self.options.get_body_bytes());
                let arguments = parsed(&held.await?.bytes)?;
                known.arguments(arguments.unwrap_or_else(|| Value::Array(Vec::new())))?
            }
        };
        self.admit(&identity)?;
        match path.call {
            "ask" => known.forms.answer(&arguments.ask(self.wait(request)).await?),
            "tell" => {
                arguments.tell().await?;
                let mut response = Response::new(Body::default());
                *response.status_mut() = StatusCode::ACCEPTED;
                Ok(response)
            }
            _ => {
                let stream = arguments.stream(ITEMS_AHEAD).await?;
                let forms = known.forms.clone();
                Ok(events::response(self, ActorItems { stream, forms }))
            }
        }
    }

    /// Makes the call of a route of a method.
    pub(crate) async fn call_route<B: RequestBody>(
        self: &Arc<Inner>,
        client: &Arc<Client>,
        request: &Parts<'_>,
        call: RouteCall<'_>,
        body: &mut B,
    ) -> Outcome {
        let identity = self.identity(client, request)?;
        let known = self.known(&identity, call.key, || {
            Ok(identity.proxy.actor(call.actor)?.method(call.method)?)
        })?;
        let mut named = Map::new();
        for (name, text) in &call.captured {
            named.insert((*name).to_owned(), known.method.value_of_text(name, text));
        }
        let arguments = match request.parts.method {
            Method::GET | Method::HEAD | Method::DELETE => query(&known.method, request, named)?,
            _ => {
                let held =
                    self.read_body(&request.parts.headers, body, self.options.get_body_bytes());
                with_body(&known.method, named, parsed(&held.await?.bytes)?)?
            }
        };
        let arguments = known.named(arguments)?;
        self.admit(&identity)?;
        known.forms.answer(&arguments.ask(self.wait(request)).await?)
    }

    /// The method that a client remembers by `key`, or else the one that is found now.
    fn known(
        &self,
        identity: &Identity,
        key: &str,
        find: impl FnOnce() -> Result<ProxyMethod, Problem>,
    ) -> Result<Arc<KnownCall>, Problem> {
        let version = self.node.exports_version();
        if let Some(known) = identity.known(key, version) {
            return Ok(known);
        }
        let known = Arc::new(KnownCall::new(find()?, version, &self.forms));
        identity.remember(key, &known);
        if self.node.exports_version() != version {
            identity.forget();
        }
        Ok(known)
    }

    /// The identity of the client of a request.
    pub(crate) fn identity(
        &self,
        client: &Client,
        request: &Parts<'_>,
    ) -> Result<Arc<Identity>, Problem> {
        client.identity(&self.node, &self.options, request.authorization())
    }

    /// The identity of the client of a session.
    pub(crate) fn identity_of_session(
        &self,
        client: &Client,
        request: &Parts<'_>,
    ) -> Result<Arc<Identity>, Problem> {
        client.session_identity(&self.node, &self.options, request)
    }

    pub(crate) fn admit(&self, identity: &Identity) -> Result<(), Problem> {
        match identity.proxy.admits_call() {
            true => Ok(()),
            false => Err(Problem::too_many("the client makes more calls a second than it may")),
        }
    }

    /// How long the reply to a request may take.
    fn wait(&self, request: &Parts<'_>) -> Duration {
        request.wait().unwrap_or_else(|| self.options.get_ask_time())
    }
}

/// The JSON in the body of a request; `None` without a body.
fn parsed(body: &Bytes) -> Result<Option<Value>, Problem> {
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(body).map(Some).map_err(|error| {
        let detail = format!("the body is no JSON: {error}");
        let hint = "send the arguments as a JSON array, or as an object by their names";
        Problem::client(StatusCode::BAD_REQUEST, "BadJson", &detail, hint)
    })
}

/// The arguments in the query of a request, beside those in its path.
fn query(
    method: &ProxyMethod,
    request: &Parts<'_>,
    in_path: Map<String, Value>,
) -> Result<Map<String, Value>, Problem> {
    let Some(query) = request.parts.uri.query() else { return Ok(in_path) };
    // `parse` would replace the bytes, and the method would get another text.
    if percent_decode_str(query).decode_utf8().is_err() {
        return Err(bad_arguments("the query is no UTF-8"));
    }
    let mut others = Map::new();
    for (name, text) in form_urlencoded::parse(query.as_bytes()) {
        let value = method.value_of_text(&name, &text);
        if others.insert(name.clone().into_owned(), value).is_some() {
            return Err(bad_arguments(&format!("the query gives the argument {name:?} twice")));
        }
    }
    beside_path(method, in_path, others)
}

/// The arguments in the path of a request and the others, none of which replaces one of the path.
fn beside_path(
    method: &ProxyMethod,
    mut in_path: Map<String, Value>,
    others: Map<String, Value>,
) -> Result<Map<String, Value>, Problem> {
    let is_twice = |argument: &&Argument| {
        let is_given = others.contains_key(argument.name)
            || argument.former.iter().any(|name| others.contains_key(*name));
        is_given && in_path.contains_key(argument.name)
    };
    if let Some(Argument { name, .. }) = method.schema().arguments.iter().find(is_twice) {
        let detail = format!("the argument {name:?} is given twice: the path has it already");
        return Err(bad_arguments(&detail));
    }
    in_path.extend(others);
    Ok(in_path)
}

/// The arguments of a route with a body: an object has those that are not in the path by their names; a
/// single one may be the body itself.
fn with_body(
    method: &ProxyMethod,
    mut named: Map<String, Value>,
    body: Option<Value>,
) -> Result<Map<String, Value>, Problem> {
    let mut others =
        method.schema().arguments.iter().filter(|argument| !named.contains_key(argument.name));
    let (first, second) = (others.next(), others.next());
    match (first, second, body) {
        (_, _, None) => {}
        (None, _, Some(Value::Array(values))) if values.is_empty() => {}
        (Some(one), None, Some(Value::Object(fields)))
            if !(fields.len() == 1 && fields.contains_key(one.name)) =>
        {
            named.insert(one.name.to_owned(), Value::Object(fields));
        }
        (_, _, Some(Value::Object(fields))) => named = beside_path(method, named, fields)?,
        (Some(one), None, Some(value)) => {
            named.insert(one.name.to_owned(), value);
        }
        _ => return Err(bad_arguments("the body is an object with the arguments by their names")),
    }
    Ok(named)
}
