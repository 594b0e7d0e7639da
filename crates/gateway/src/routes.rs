//! The routes that methods of actors have of their own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use hyper::Method;
use hyper::http::request::Parts;
use wigwag::Node;

use crate::http::head::decoded;
use crate::http::problem::Problem;

/// The table of the routes, which follows what the node exports.
#[derive(Default)]
pub(crate) struct Routes(RwLock<Option<Arc<Table>>>);

/// The table as one connection has seen it last: to look at that of all connections for each request
/// would have every processor write to the same memory.
#[derive(Default)]
pub(crate) struct SeenRoutes(Mutex<Option<Arc<Seen>>>);

/// A table, counted for one connection alone.
pub(crate) struct Seen {
    table: Arc<Table>,
    /// The first request for a path without arguments that the connection has sent. The others are often
    /// for the same, and two comparisons find it again: 81 instructions instead of 215.
    first: OnceLock<Found>,
}

/// The route of a request.
struct Found {
    verb: Method,
    path: Box<str>,
    /// Its place among the targets.
    target: usize,
}

struct Table {
    /// The version of the exports that the table is of.
    version: u64,
    /// By the path with [positions](positional) for names, and by the method of HTTP.
    paths: matchit::Router<BTreeMap<&'static str, usize>>,
    targets: Vec<Target>,
}

struct Target {
    actor: Arc<str>,
    method: &'static str,
    /// The arguments that are segments of the path, in their order there.
    captured: Vec<&'static str>,
    /// By what a client remembers the method: no path that a request can have.
    key: Arc<str>,
}

/// The call that a route leads to.
pub(crate) struct RouteCall<'t> {
    pub(crate) actor: &'t str,
    pub(crate) method: &'static str,
    pub(crate) key: &'t str,
    /// The arguments that are segments of the path.
    pub(crate) captured: Vec<(&'static str, String)>,
}

impl Seen {
    /// The call that a request is for; `None` if no route has its path.
    pub(crate) fn find(&self, request: &Parts) -> Result<Option<RouteCall<'_>>, Problem> {
        let (table, path) = (&*self.table, request.uri.path());
        if table.targets.is_empty() {
            return Ok(None);
        }
        if let Some(first) = self.first.get()
            && *first.path == *path
            && first.verb == request.method
        {
            return Ok(Some(table.targets[first.target].call(Vec::new())));
        }
        let Ok(found) = table.paths.at(path) else { return Ok(None) };
        let verb = match request.method {
            Method::HEAD => "GET",
            ref method => method.as_str(),
        };
        let Some(&place) = found.value.get(verb) else {
            let verbs: Vec<_> = found.value.keys().copied().collect();
            return Err(Problem::method_not_allowed(&verbs.join(", ")));
        };
        let target = &table.targets[place];
        let mut captured = Vec::new();
        for (name, (_, text)) in target.captured.iter().zip(found.params.iter()) {
            captured.push((*name, decoded(text)?.into_owned()));
        }
        if target.captured.is_empty() {
            let verb = request.method.clone();
            self.first.get_or_init(|| Found { verb, path: path.into(), target: place });
        }
        Ok(Some(target.call(captured)))
    }
}

impl Target {
    fn call(&self, captured: Vec<(&'static str, String)>) -> RouteCall<'_> {
        RouteCall { actor: &self.actor, method: self.method, key: &self.key, captured }
    }
}

impl SeenRoutes {
    /// The routes of what the node exports now, and whether they are others than before.
    pub(crate) fn current(&self, routes: &Routes, node: &Node) -> (Arc<Seen>, bool) {
        let version = node.exports_version();
        // A panic elsewhere leaves the old table or the new one.
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*seen {
            Some(seen) if seen.table.version == version => (seen.clone(), false),
            _ => {
                let now = Seen { table: routes.table(node, version), first: OnceLock::new() };
                (seen.insert(Arc::new(now)).clone(), true)
            }
        }
    }
}

impl Routes {
    fn table(&self, node: &Node, version: u64) -> Arc<Table> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = known.as_ref().filter(|table| table.version == version) {
            return table.clone();
        }
        drop(known);
        let table = Arc::new(Table::new(node, version));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(table.clone());
        table
    }
}

impl Table {
    fn new(node: &Node, version: u64) -> Table {
        let mut paths: BTreeMap<String, BTreeMap<&'static str, usize>> = BTreeMap::new();
        let mut targets = Vec::new();
        for exported in node.http_routes() {
            let (path, captured) = positional(exported.route.path);
            let verbs = paths.entry(path).or_default();
            if verbs.contains_key(exported.route.verb) {
                let (actor, path) = (&exported.actor, exported.route.path);
                tracing::warn!(actor, path, "another actor has this route already");
                continue;
            }
            let key = format!("\0{}/{}", exported.actor, exported.method).into();
            let actor = exported.actor.into();
            verbs.insert(exported.route.verb, targets.len());
            targets.push(Target { actor, method: exported.method, captured, key });
        }
        let mut router = matchit::Router::new();
        for (path, verbs) in paths {
            if let Err(error) = router.insert(path.as_str(), verbs) {
                tracing::warn!(path, %error, "the route is not served");
            }
        }
        Table { version, paths: router, targets }
    }
}

/// The path with `{0}`, `{1}` … for its names, and the names: paths that differ in their names alone are
/// one path to a request.
fn positional(path: &'static str) -> (String, Vec<&'static str>) {
    let mut names = Vec::new();
    let segments = path.split('/').map(|segment| {
        let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match name {
            Some(name) => {
                names.push(name);
                format!("{{{}}}", names.len() - 1)
            }
            None => segment.to_owned(),
        }
    });
    let path = segments.collect::<Vec<_>>().join("/");
    (path, names)
}
