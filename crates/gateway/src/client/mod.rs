//! The client of a connection: its identities, and what it has called before.

pub(crate) mod call;
mod first_line;
mod output;
pub(crate) mod steal;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use hyper::header::HeaderValue;
use wigwag::access::{Principal, identify};
use wigwag::proxy::Proxy;
use wigwag::transport::{Connection, Credentials, PeerCertificate};
use wigwag::{Node, NodeError};

use crate::http::activity::Activity;
use crate::http::head::Parts;
use crate::http::problem::Problem;
use crate::limits::{HOST_BYTES_KEPT, IDENTITIES_MAX, PATHS_MAX};
use crate::options::GatewayOptions;
use crate::routes::{Routes, Seen, SeenRoutes};
use call::KnownCall;
use steal::Stealable;

/// The client of one connection.
pub(crate) struct Client {
    peer: Arc<str>,
    is_loopback: bool,
    /// The identity of the peer by its connection; the certificate is there after the first request.
    certificate: PeerCertificate,
    credentials: Option<Credentials>,
    /// The header `Host` of a request that was accepted: the others of a connection have the same.
    accepted_host: OnceLock<Box<[u8]>>,
    identities: Mutex<Vec<Arc<Identity>>>,
    /// With one more, the oldest identity is forgotten.
    identities_max: usize,
    pub(crate) activity: Arc<Activity>,
    routes: SeenRoutes,
    /// The connection, for what takes it over.
    pub(crate) connection: Option<Arc<Stealable>>,
}

/// A client under one of its identities.
pub(crate) struct Identity {
    principal: Principal,
    pub(crate) proxy: Proxy,
    /// By their paths. A search compares lengths, and costs less than a hash.
    known: Mutex<Vec<(Box<str>, Arc<KnownCall>)>>,
}

impl Client {
    /// The client of a connection.
    pub(crate) fn new(connection: Arc<Stealable>, is_loopback: bool) -> Client {
        let (peer, certificate, credentials) = connection.peer();
        Client {
            peer,
            is_loopback,
            certificate,
            credentials,
            accepted_host: OnceLock::new(),
            identities: Mutex::default(),
            identities_max: IDENTITIES_MAX,
            activity: Arc::new(Activity::new()),
            routes: SeenRoutes::default(),
            connection: Some(connection),
        }
    }

    /// The clients of another server, of whose connections nothing is known: all of them together, so each
    /// token of the gateway may be in use at once.
    pub(crate) fn mounted() -> Client {
        Client {
            peer: "http".into(),
            is_loopback: false,
            certificate: PeerCertificate::default(),
            credentials: None,
            accepted_host: OnceLock::new(),
            identities: Mutex::default(),
            // They are anonymous, or those of the tokens.
            identities_max: usize::MAX,
            activity: Arc::new(Activity::new()),
            routes: SeenRoutes::default(),
            connection: None,
        }
    }

    /// The address of the client.
    pub(crate) fn peer(&self) -> &Arc<str> {
        &self.peer
    }

    /// True if `options` accept requests for `host`.
    pub(crate) fn may_ask_for(&self, host: &str, options: &GatewayOptions) -> bool {
        if self.accepted_host.get().is_some_and(|accepted| **accepted == *host.as_bytes()) {
            return true;
        }
        let is_accepted = options.accepts_host(host, self.is_loopback);
        if is_accepted && host.len() <= HOST_BYTES_KEPT {
            self.accepted_host.get_or_init(|| host.as_bytes().into());
        }
        is_accepted
    }

    /// The routes of what the node exports now. After a change of the exports this forgets all calls that
    /// are remembered, so that an actor which was withdrawn is not kept alive here.
    pub(crate) fn current_routes(&self, routes: &Routes, node: &Node) -> Arc<Seen> {
        let (seen, are_new) = self.routes.current(routes, node);
        if are_new {
            self.identities().iter().for_each(|identity| identity.forget());
        }
        seen
    }

    /// The client as the one that a request with this header `Authorization` says that it is.
    pub(crate) fn identity(
        &self,
        node: &Node,
        options: &GatewayOptions,
        authorization: Option<&HeaderValue>,
    ) -> Result<Arc<Identity>, Problem> {
        let principal = self.principal(options, authorization)?;
        self.identity_of(node, principal)
    }

    fn identity_of(&self, node: &Node, principal: Principal) -> Result<Arc<Identity>, Problem> {
        let mut identities = self.identities();
        if let Some(known) = identities.iter().find(|known| known.principal == principal) {
            return Ok(known.clone());
        }
        let proxy = node.proxy(principal.clone(), &self.peer).map_err(|error| match error {
            NodeError::Closed => Problem::overloaded("the node is closing"),
            _ => Problem::too_many("the client has as many connections as it may"),
        })?;
        if identities.len() >= self.identities_max {
            identities.remove(0);
        }
        let identity = Arc::new(Identity { principal, proxy, known: Mutex::default() });
        identities.push(identity.clone());
        Ok(identity)
    }

    /// The client as a session says that it is, which may have its token in the query (RFC 6750 2.3): a
    /// page cannot set headers of an upgrade.
    pub(crate) fn session_identity(
        &self,
        node: &Node,
        options: &GatewayOptions,
        request: &Parts<'_>,
    ) -> Result<Arc<Identity>, Problem> {
        let query = request.parts.uri.query().unwrap_or_default();
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let token = pairs.find(|(name, _)| name == "access_token");
        let Some((_, token)) = token else {
            return self.identity(node, options, request.authorization());
        };
        match options.principal_of(token.as_bytes()) {
            Some(principal) => self.identity_of(node, principal.clone()),
            None => Err(Problem::unauthorized("the token is not known")),
        }
    }

    /// Says on a connection of the client's session what its own one says.
    pub(crate) fn identify(&self, connection: &mut Connection) {
        connection.certificate = self.certificate.clone();
        connection.credentials = self.credentials;
    }

    fn principal(
        &self,
        options: &GatewayOptions,
        authorization: Option<&HeaderValue>,
    ) -> Result<Principal, Problem> {
        if let Some(given) = authorization {
            let token = given.as_bytes().split_at_checked(7).filter(|(scheme, _)| {
                // The scheme is the same in capitals (RFC 9110 11.1).
                scheme.eq_ignore_ascii_case(b"bearer ")
            });
            let Some((_, token)) = token else {
                return Err(Problem::unauthorized("the header Authorization has no bearer token"));
            };
            let known = options.principal_of(token.trim_ascii()).cloned();
            return known.ok_or_else(|| Problem::unauthorized("the token is not known"));
        }
        let principal = identify(&self.certificate, self.credentials, &self.peer);
        let is_enough =
            principal.is_authenticated() || !options.has_tokens() || options.allows_anonymous;
        match is_enough {
            true => Ok(principal),
            false => Err(Problem::unauthorized("the request has no token")),
        }
    }

    fn identities(&self) -> MutexGuard<'_, Vec<Arc<Identity>>> {
        // The list is consistent between two calls, so a panic elsewhere has broken nothing.
        self.identities.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Identity {
    /// The method that this path has led to before, if it still does.
    pub(crate) fn known(&self, path: &str, version: u64) -> Option<Arc<KnownCall>> {
        let paths = self.paths();
        let (_, known) = paths.iter().find(|(known, _)| **known == *path)?;
        known.holds(version).then(|| known.clone())
    }

    /// Remembers what a path leads to.
    pub(crate) fn remember(&self, path: &str, call: &Arc<KnownCall>) {
        let mut known = self.paths();
        known.retain(|(other, _)| **other != *path);
        if known.len() >= PATHS_MAX {
            known.clear();
        }
        known.push((path.into(), call.clone()));
    }

    /// Forgets what all paths lead to.
    pub(crate) fn forget(&self) {
        let known = std::mem::take(&mut *self.paths());
        // The last reference to an actor may be among them, which is dropped without the lock.
        drop(known);
    }

    fn paths(&self) -> MutexGuard<'_, Vec<(Box<str>, Arc<KnownCall>)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use wigwag::Actor;

    use super::*;
    use call::FormsTable;

    struct Bell;

    #[wigwag::actor]
    impl Bell {
        pub fn ring(&self) {}
    }

    /// A path may be written in many ways: `%72ing` is `ring`.
    #[tokio::test]
    async fn a_client_remembers_a_bounded_number_of_paths() {
        let node = Node::new();
        node.export("bell", &Bell.spawn()).expect("the name is free");
        let client = Client::mounted();
        let identity = client.identity_of(&node, Principal::Anonymous).expect("it may connect");
        let version = node.exports_version();
        for number in 0..3 * PATHS_MAX {
            let path = format!("/bell/ask/{number}");
            let method = identity.proxy.actor("bell").and_then(|bell| bell.method("ring"));
            let call =
                KnownCall::new(method.expect("it is exported"), version, &FormsTable::default());
            identity.remember(&path, &Arc::new(call));
            assert!(identity.known(&path, version).is_some());
            assert!(identity.paths().len() <= PATHS_MAX, "{number}");
        }
        assert!(identity.known("/bell/ask/0", version).is_none());
    }
}
