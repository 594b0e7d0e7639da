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
mod reply;
mod call;
mod actor;

use std::fmt;
use std::sync::Arc;

use wigwag_actor::{CallError, HttpRoute, Principal};

pub use actor::{ProxyActor, ProxyMethod};
pub use call::ProxyCall;
pub use reply::{ProxyReply, ProxyStream};

use crate::access::IdentityPlace;
use crate::exports::Exports;
use crate::exports::directory::ListedActor;
use crate::proxy::actor::FoundActor;
use crate::proxy::calls::{ClientCalls, Terms};
use crate::proxy::identity::{ClientIdentity, no_actor};
use crate::proxy::rooms::Rooms;

/// Calls the exported actors of a node for one client, which [`Node::proxy`](crate::Node::proxy)
/// returns. Clones are the same proxy.
///
/// The calls of one proxy to one actor arrive in the order in which they are made. A call does not wait
/// for room: an actor for which 1,024 calls of proxies wait (or as many as
/// [`ActorOptions::mailbox_calls`](crate::ActorOptions::mailbox_calls) says), refuses it as
/// [`Full`](crate::CallErrorKind::Full).
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
    /// [`NoSuchActor`](crate::CallErrorKind::NoSuchActor), also if the client may call nothing of it.
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
