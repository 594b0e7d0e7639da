//! Calls for programs that have no session: what servers for other protocols make of their requests.
//!
//! A [`Proxy`] calls the exported actors of its node by name, with arguments in JSON, for one client
//! that the server has identified. An HTTP gateway has one for each connection.
// The clients of `sp_clients` take the same way.

pub(crate) mod failure;
pub(crate) mod identity;
pub(crate) mod encoding;
pub(crate) mod rooms;
pub(crate) mod items;
mod actor_queue;
pub(crate) mod calls;
pub(crate) mod asks;

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::{Map, Value};
use wigwag_actor::reply::owner::CallGate;
use wigwag_actor::schema::Description;
use wigwag_actor::{CallError, CallErrorKind, Exported, HttpRoute, Method, Principal};
use wigwag_wire::{Buffer, Encode};

use crate::access::{IdentityPlace, Permitted};
use crate::exports::Exports;
use crate::exports::directory::ListedActor;
use crate::json;
use crate::send::described::Described;
use calls::{ClientCalls, OpenStream, Terms};
use failure::Failure;
use identity::{ClientIdentity, no_actor};
use rooms::Rooms;

/// Calls the exported actors of a node for one client, which [`Node::proxy`](crate::Node::proxy)
/// returns. Clones are the same proxy.
///
/// The calls of one proxy to one actor arrive in the order in which they are made. A call does not wait
/// for room: an actor for which 1,024 calls of proxies wait (or as many as
/// [`ActorOptions::mailbox_calls`](crate::ActorOptions::mailbox_calls) says), refuses it as
/// [`Full`](CallErrorKind::Full).
///
/// ```
/// use std::time::Duration;
///
/// use serde_json::json;
/// use wigwag::access::Principal;
/// use wigwag::{Actor, Node};
///
/// struct Sum;
///
/// #[wigwag::actor]
/// impl Sum {
///     pub fn add(&self, a: i64, b: i64) -> i64 {
///         a + b
///     }
/// }
///
/// # #[wigwag::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let node = Node::new();
/// node.export("sum", &Sum.spawn())?;
/// let proxy = node.proxy(Principal::Anonymous, "http://127.0.0.1:51220")?;
/// let add = proxy.actor("sum")?.method("add")?;
/// let reply = add.call_json(json!([2, 3]))?.ask(Duration::from_secs(1)).await?;
/// assert_eq!(reply.json()?, "5");
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Proxy(Arc<Inner>);

struct Inner {
    calls: Arc<ClientCalls>,
    exports: Arc<Exports>,
}

impl Proxy {
    pub(crate) fn new(
        exports: &Arc<Exports>,
        place: IdentityPlace,
        peer: Arc<str>,
        rooms: &Arc<Rooms>,
    ) -> Proxy {
        let identity = ClientIdentity::new(peer, place, exports.access.clone());
        let calls = ClientCalls::new(identity, Arc::default(), Terms::proxy(rooms));
        Proxy(Arc::new(Inner { calls: Arc::new(calls), exports: exports.clone() }))
    }

    /// The identity of the client.
    pub fn principal(&self) -> &Principal {
        &self.0.calls.identity().caller.principal
    }

    /// The exported actors that the client may call, in the order of their names.
    pub fn actors(&self) -> Vec<ListedActor> {
        let all = self.0.exports.all().into_iter();
        let permitted = all.filter(|(name, actor)| {
            self.0.calls.identity().permitted(name, actor.schema()).is_ok()
        });
        permitted.map(|(name, actor)| ListedActor::new(&name, actor.schema())).collect()
    }

    /// The actor that is exported as `name`.
    ///
    /// # Errors
    /// [`NoSuchActor`](CallErrorKind::NoSuchActor), also if the client may call nothing of it.
    pub fn actor(&self, name: &str) -> Result<ProxyActor, CallError> {
        let target: Arc<str> = name.into();
        let found = self.0.exports.find(name.as_bytes()).ok_or_else(|| no_actor(name));
        let permitted = found.and_then(|actor| {
            let permitted = self.0.calls.identity().permitted(name, actor.schema())?;
            Ok((actor, permitted))
        });
        let (actor, permitted) = permitted.map_err(|failure| failure.into_error(&target))?;
        Ok(ProxyActor(Arc::new(FoundActor { proxy: self.clone(), actor, target, permitted })))
    }

    /// Counts a call for the limit of calls a second of the client's identity; false if this one is
    /// beyond it, and must not be made.
    pub fn admits_call(&self) -> bool {
        self.0.calls.identity().admit().is_ok()
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("principal", self.principal()).finish_non_exhaustive()
    }
}

/// A route of an exported actor, which [`Node::http_routes`](crate::Node::http_routes) lists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedRoute {
    /// The name under which the actor is exported.
    pub actor: String,
    /// The name of the method.
    pub method: &'static str,
    /// The route.
    pub route: HttpRoute,
}

impl ExportedRoute {
    /// The routes of all exported actors.
    pub(crate) fn all(exports: &Exports) -> Vec<ExportedRoute> {
        let mut all = Vec::new();
        for (actor, exported) in exports.all() {
            for method in exported.schema().methods {
                all.extend(method.routes.iter().map(|&route| ExportedRoute {
                    actor: actor.clone(),
                    method: method.name,
                    route,
                }));
            }
        }
        all
    }
}

/// An exported actor as the client of a [`Proxy`] sees it.
// One count for all of it: calls clone it, and only the counts of the client's own are not shared with
// other processors.
#[derive(Clone)]
pub struct ProxyActor(Arc<FoundActor>);

struct FoundActor {
    proxy: Proxy,
    actor: Arc<dyn Exported>,
    target: Arc<str>,
    permitted: Permitted,
}

impl ProxyActor {
    /// The name under which it is exported.
    pub fn name(&self) -> &str {
        &self.0.target
    }

    /// False if the actor has stopped: the name may lead to another one since.
    pub fn is_running(&self) -> bool {
        !self.0.actor.is_stopped()
    }

    /// The interface of the actor, without the methods that the client may not call.
    pub fn described(&self) -> Described {
        let mut out = Buffer::new();
        let gate = PermittedGate(&self.0.permitted);
        let schema = self.0.actor.schema();
        Description { schema, with_comments: true, gate: Some(&gate) }.encode(&mut out);
        Described::read(out.as_slice()).expect("a description of this release is readable")
    }

    /// The methods that the client may call.
    pub fn methods(&self) -> impl Iterator<Item = ProxyMethod> {
        let schema = self.0.actor.schema();
        let names = schema.methods.iter().map(|method| method.name);
        names.filter_map(|name| self.method(name).ok())
    }

    /// The method with this name, or with this name in an earlier version.
    ///
    /// # Errors
    /// [`NoSuchMethod`](CallErrorKind::NoSuchMethod), also if the client may not call it.
    pub fn method(&self, name: &str) -> Result<ProxyMethod, CallError> {
        let found = encoding::method(self.0.actor.schema(), &self.0.permitted, name);
        let (number, method) = found.map_err(|failure| failure.into_error(&self.0.target))?;
        Ok(ProxyMethod { actor: self.clone(), number, method })
    }
}

impl fmt::Debug for ProxyActor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyActor").field("name", &self.0.target).finish_non_exhaustive()
    }
}

/// Lets the methods through that the client may call.
struct PermittedGate<'a>(&'a Permitted);

impl CallGate for PermittedGate<'_> {
    fn permits(&self, method: u32) -> bool {
        self.0.contains(method)
    }

    fn admits(&self) -> bool {
        true
    }

    fn is_counting(&self) -> bool {
        false
    }
}

/// A method of a [`ProxyActor`].
#[derive(Clone, Debug)]
pub struct ProxyMethod {
    actor: ProxyActor,
    number: u32,
    method: &'static Method,
}

impl ProxyMethod {
    /// The interface of its actor.
    pub fn described(&self) -> Described {
        self.actor.described()
    }

    /// False if its actor has stopped.
    pub fn is_running(&self) -> bool {
        self.actor.is_running()
    }

    /// The method as its actor's schema has it.
    pub fn schema(&self) -> &'static Method {
        self.method
    }

    /// The values of the arguments, in their order: an array has them so. An object has them by their
    /// names, where one for an [`Option`] may be missing; for a method with one argument, an object that
    /// does not have exactly its name is the argument itself, and so is every other value.
    ///
    /// # Errors
    /// [`BadArguments`](CallErrorKind::BadArguments), which names what is missing or unknown.
    pub fn in_order(&self, arguments: Value) -> Result<Vec<Value>, CallError> {
        let parameters = self.method.arguments;
        let is_one = parameters.len() == 1;
        let has_its_name = |named: &Map<String, Value>| {
            named.len() == 1 && named.keys().all(|name| encoding::is_named(&parameters[0], name))
        };
        match arguments {
            Value::Array(values) => Ok(values),
            Value::Object(named) if parameters.is_empty() && named.is_empty() => Ok(Vec::new()),
            Value::Object(named) if !is_one || has_its_name(&named) => {
                let named = named.into_iter().collect();
                let ordered = encoding::in_order(parameters, named, || Value::Null);
                ordered.map_err(|wrong| self.wrong(&wrong))
            }
            Value::Null if parameters.is_empty() => Ok(Vec::new()),
            value => Ok(vec![value]),
        }
    }

    /// A call with the values of its arguments [in order](Self::in_order).
    ///
    /// # Errors
    /// [`BadArguments`](CallErrorKind::BadArguments), which says what is wrong.
    pub fn call_values(&self, values: Vec<Value>) -> Result<ProxyCall, CallError> {
        let encoded = json::arguments::values(self.method.arguments, values);
        let arguments = encoded.map_err(|wrong| self.wrong(&wrong))?;
        Ok(ProxyCall { actor: self.actor.clone(), number: self.number, arguments })
    }

    /// A call with arguments in JSON, by their names or [in order](Self::in_order).
    ///
    /// # Errors
    /// [`BadArguments`](CallErrorKind::BadArguments), which says what is wrong.
    pub fn call_json(&self, arguments: Value) -> Result<ProxyCall, CallError> {
        self.call_values(self.in_order(arguments)?)
    }

    /// The value of an argument that is given as a text, as in the query of a URL: a `String` or an
    /// `Option<String>` is the text as it is, others are JSON.
    pub fn value_of_text(&self, argument: &str, text: &str) -> Value {
        let mut parameters = self.method.arguments.iter();
        let found = parameters.find(|one| encoding::is_named(one, argument));
        match found.map_or("", |one| one.kind) {
            "String" | "Option<String>" => Value::String(text.to_owned()),
            kind => json::arguments::word_value(kind, text),
        }
    }

    fn wrong(&self, what: &str) -> CallError {
        encoding::wrong_arguments(self.method, what).into_error(&self.actor.0.target)
    }
}

/// A call that has not been made yet.
#[derive(Clone, Debug)]
#[must_use = "a call does nothing until it is asked or told"]
pub struct ProxyCall {
    actor: ProxyActor,
    number: u32,
    arguments: Vec<u8>,
}

impl ProxyCall {
    /// Asks, and waits for the reply for at most `limit`.
    ///
    /// # Errors
    /// - [`Full`](CallErrorKind::Full): the actor has no room, and nothing was sent;
    /// - [`DeadlinePassed`](CallErrorKind::DeadlinePassed): no reply within `limit`;
    /// - [`ActorStopped`](CallErrorKind::ActorStopped), [`Panicked`](CallErrorKind::Panicked),
    ///   [`ReplyDropped`](CallErrorKind::ReplyDropped), [`BadArguments`](CallErrorKind::BadArguments) and
    ///   the errors of the application: the fate of the call;
    /// - [`TooLarge`](CallErrorKind::TooLarge): the reply has more than 16 MiB;
    /// - [`NotSerializable`](CallErrorKind::NotSerializable): the reply has a reference to an actor.
    ///
    /// # Cancellation
    /// Dropping the future cancels the ask: an actor that has not begun it skips it.
    pub async fn ask(self, limit: Duration) -> Result<ProxyReply, CallError> {
        let ProxyCall { actor, number, arguments } = self;
        let calls = &actor.0.proxy.0.calls;
        let asked = calls.ask(&actor.0.actor, (number, &arguments), limit).await;
        asked.map(ProxyReply).map_err(|failure| failure.into_error(&actor.0.target))
    }

    /// Tells the actor.
    ///
    /// # Errors
    /// [`Full`](CallErrorKind::Full): the actor has no room; [`ActorStopped`](CallErrorKind::ActorStopped).
    /// Nothing was sent.
    pub async fn tell(self) -> Result<(), CallError> {
        let ProxyCall { actor, number, arguments } = self;
        let told = actor.0.proxy.0.calls.tell(&actor.0.actor, (number, &arguments), None).await;
        told.map_err(|failure| failure.into_error(&actor.0.target))
    }

    /// Asks for a stream, whose producer may be `ahead` items ahead of the reader.
    ///
    /// # Errors
    /// As [`ask`](Self::ask); what befalls the call later ends the stream.
    pub async fn stream(self, ahead: usize) -> Result<ProxyStream, CallError> {
        let ProxyCall { actor, number, arguments } = self;
        let calls = &actor.0.proxy.0.calls;
        let opened = calls.stream(&actor.0.actor, (number, &arguments), ahead).await;
        let open = opened.map_err(|failure| failure.into_error(&actor.0.target))?;
        Ok(ProxyStream { open, taken: VecDeque::new(), target: actor.0.target.clone() })
    }
}

/// A reply, or an item of a stream: one MessagePack value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyReply(Vec<u8>);

impl ProxyReply {
    /// The value as MessagePack.
    pub fn message_pack(&self) -> &[u8] {
        &self.0
    }

    /// The value as JSON.
    ///
    /// # Errors
    /// [`BadReply`](CallErrorKind::BadReply) if the value has no form in JSON.
    pub fn json(&self) -> Result<String, CallError> {
        self.value().map(|value| value.to_string())
    }

    /// The value as a value of JSON.
    ///
    /// # Errors
    /// As [`json`](Self::json).
    pub fn value(&self) -> Result<Value, CallError> {
        json::reply::value(&self.0).map_err(|why| {
            let text = format!("the reply has no form in JSON: {why}");
            Failure::call(CallErrorKind::BadReply, text).into_error(&"the reply".into())
        })
    }
}

/// A stream of items. Dropping it tells the producer that they are not wanted any more.
pub struct ProxyStream {
    open: OpenStream,
    /// Items that were taken from the queue together.
    taken: VecDeque<Vec<u8>>,
    target: Arc<str>,
}

impl ProxyStream {
    /// The next item; `None` after the end.
    ///
    /// # Errors
    /// The error with which the producer has ended the stream.
    ///
    /// # Cancellation
    /// The future may be dropped at any time: no item is lost.
    pub async fn next(&mut self) -> Option<Result<ProxyReply, CallError>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// [`next`](Self::next) for a future of the caller's own.
    pub fn poll_next(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<ProxyReply, CallError>>> {
        let next = self.open.items.poll_next(&mut self.taken, context.waker());
        next.map(|next| {
            Some(next?.map(ProxyReply).map_err(|(kind, text)| {
                Failure::call(kind, text.unwrap_or_default()).into_error(&self.target)
            }))
        })
    }
}

impl fmt::Debug for ProxyStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyStream").field("target", &self.target).finish_non_exhaustive()
    }
}
