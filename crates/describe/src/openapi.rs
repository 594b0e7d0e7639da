//! The actors of a node behind an HTTP gateway, as an OpenAPI 3.1 document.
//!
//! The document is built as a text: each operation is written as soon as it is complete, because the
//! operations of thousands of actors as a tree of values take thirty times the memory of their text.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};
use wigwag::dynamic::{Described, DescribedMethod, HttpRoute};

use crate::definitions::{Definitions, is_option};
use crate::forms::{Dialect, key};
use crate::kind::Kind;
use crate::signature;

/// An actor of the document.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The name under which it is exported.
    pub name: String,
    /// Its interface, as far as the reader of the document may call it.
    pub described: Described,
    /// The routes of its methods, by their names.
    pub routes: Vec<(String, HttpRoute)>,
}

/// The document of these actors, in JSON. `base` is the path in front of all others, unless there is none.
pub fn document(title: &str, base: Option<&str>, actors: &[Actor]) -> String {
    let (mut paths, mut schemas, mut tags) = (Paths::default(), Map::new(), Vec::new());
    for actor in actors {
        let (definitions, types) = definitions_beside(&schemas, &actor.described);
        schemas.extend(types);
        tags.push(json!({"name": actor.name, "description": actor.described.comment}));
        let operations = Operations { actor, definitions };
        operations.add_to(&mut paths);
    }
    schemas.insert("Problem".to_owned(), problem());
    let components = json!({"schemas": schemas});
    let info = json!({"title": title, "version": "1"});
    let (paths, tags) = (paths.text(), Value::from(tags));
    // Without them the paths begin at the root of the host.
    let servers = base.map(|base| format!(r#""servers":{},"#, json!([{"url": base}])));
    let servers = servers.unwrap_or_default();
    format!(
        r#"{{"components":{components},"info":{info},"openapi":"3.1.0","paths":{paths},{servers}"tags":{tags}}}"#
    )
}

/// The definitions of an interface with their types, whose names stand for no other type in `schemas`:
/// two modules of a program may have actors, and types, of one name.
fn definitions_beside<'a>(
    schemas: &Map<String, Value>,
    described: &'a Described,
) -> (Definitions<'a>, Map<String, Value>) {
    let (name, mut prefix, mut number) = (&described.name, format!("{}.", described.name), 1_u32);
    loop {
        let definitions = Definitions::new(described, Dialect::OpenApi).with_prefix(&prefix);
        let types = definitions.types();
        if types.iter().all(|(key, one)| schemas.get(key).is_none_or(|other| other == one)) {
            return (definitions, types);
        }
        number += 1;
        prefix = format!("{name}-{number}.");
    }
}

/// The operations of the document, as texts.
#[derive(Default)]
struct Paths {
    /// By their paths and verbs.
    operations: BTreeMap<String, BTreeMap<String, String>>,
    /// The paths of routes as the document spells them, by their shapes.
    spellings: HashMap<String, String>,
    /// The ids of operations, each with the number of those that were asked for it.
    ids: HashMap<String, u32>,
}

impl Paths {
    /// Adds an operation, unless it has one: the first of two is the one that is called.
    fn add(&mut self, path: String, verb: &str, operation: impl FnOnce() -> Value) {
        let verbs = self.operations.entry(path).or_default();
        let ids = &mut self.ids;
        verbs.entry(verb.to_owned()).or_insert_with(|| {
            let mut operation = operation();
            if let Some(Value::String(id)) = operation.get_mut("operationId") {
                *id = own_id(ids, id);
            }
            operation.to_string()
        });
    }

    /// The path of a route as the document spells it already: of two that differ in their names alone
    /// it may have one (OpenAPI 3.1, 4.8.8).
    fn spelling(&mut self, path: &str) -> String {
        let segments = path.split('/').map(|one| name_of(one).map_or(one, |_| "{}"));
        let shape = segments.collect::<Vec<_>>().join("/");
        self.spellings.entry(shape).or_insert_with(|| path.to_owned()).clone()
    }

    fn text(self) -> String {
        let mut text = String::from("{");
        for (path, verbs) in self.operations {
            text.push_str(if text.len() > 1 { "," } else { "" });
            text.push_str(&format!("{}:{{", Value::from(path)));
            for (at, (verb, operation)) in verbs.into_iter().enumerate() {
                text.push_str(if at > 0 { "," } else { "" });
                text.push_str(&format!("{}:", Value::from(verb)));
                text.push_str(&operation);
            }
            text.push('}');
        }
        text.push('}');
        text
    }
}

/// `id`, or one like it if another operation has that: ids have letters of ASCII only, so those of two
/// names may be equal, and a method may have several routes.
fn own_id(ids: &mut HashMap<String, u32>, id: &str) -> String {
    let mut own = id.to_owned();
    while ids.contains_key(&own) {
        let number = ids.entry(id.to_owned()).or_insert(1);
        *number += 1;
        own = format!("{id}-{number}");
    }
    ids.insert(own.clone(), 1);
    own
}

/// An error of the gateway (RFC 9457).
fn problem() -> Value {
    json!({
        "type": "object",
        "description": "A problem, as RFC 9457 defines it. The code names the kind of the error, the \
                        hint says what mends it.",
        "properties": {
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": {"type": "string"},
            "fault": {"type": "string"},
            "hint": {"type": "string"},
            "error": {},
        },
        "required": ["title", "status", "code"],
    })
}

/// The operations of one actor.
struct Operations<'a> {
    actor: &'a Actor,
    definitions: Definitions<'a>,
}

impl Operations<'_> {
    fn add_to(&self, paths: &mut Paths) {
        let actor = segment(&self.actor.name);
        for method in &self.actor.described.methods {
            let (name, arguments, _) = method;
            // JSON has no streams.
            if arguments.iter().any(|(_, kind)| Kind::has_items(kind)) {
                continue;
            }
            let is_stream = self.actor.described.is_stream(name);
            let calls = match is_stream {
                true => &[("stream", "get")][..],
                false => &[("ask", "post"), ("tell", "post")],
            };
            for (call, verb) in calls {
                let path = format!("/{actor}/{call}/{}", segment(name));
                paths.add(path, verb, || self.operation(call, method, verb, &[]));
            }
            let routes = self.actor.routes.iter().filter(|(of, _)| of == name);
            for (_, route) in routes.filter(|_| !is_stream) {
                let verb = route.verb.to_ascii_lowercase();
                let path = paths.spelling(route.path);
                let in_path = path.clone();
                let captured = captured(route.path).zip(captured(&in_path)).collect::<Vec<_>>();
                paths.add(path, &verb, || self.operation("route", method, &verb, &captured));
            }
        }
    }

    /// The operation of a call; `captured` are the arguments that are segments of the path, each with
    /// its name there.
    fn operation(
        &self,
        call: &str,
        (name, arguments, reply): &DescribedMethod,
        verb: &str,
        captured: &[(&str, &str)],
    ) -> Value {
        let described = &self.actor.described;
        let in_path = |name: &str| captured.iter().find(|(argument, _)| *argument == name);
        let others: Vec<_> =
            arguments.iter().filter(|(name, _)| in_path(name).is_none()).cloned().collect();
        let parameter = |place: &str, name: &str, kind: &str| {
            json!({
                "name": name,
                "in": place,
                "required": place == "path" || !is_option(kind),
                "schema": self.definitions.form(kind),
            })
        };
        let mut parameters: Vec<Value> = arguments
            .iter()
            .filter_map(|(name, kind)| Some(parameter("path", in_path(name)?.1, kind)))
            .collect();
        let mut operation = json!({
            "operationId": key(&format!("{}.{name}.{call}.{verb}", self.actor.name)),
            "tags": [self.actor.name],
            "summary": format!("{} -> {reply}", signature(name, arguments)),
            "responses": self.responses(call, name, reply),
        });
        let comment = described.comment_of(name);
        if !comment.is_empty() {
            operation["description"] = comment.into();
        }
        match verb {
            "get" | "delete" => {
                parameters.extend(others.iter().map(|(name, kind)| parameter("query", name, kind)))
            }
            _ if !others.is_empty() => {
                let is_needed = others.iter().any(|(_, kind)| !is_option(kind));
                let schema = self.definitions.arguments(&others);
                operation["requestBody"] = json!({
                    "required": is_needed,
                    "content": {"application/json": {"schema": schema}},
                });
            }
            _ => {}
        }
        if !parameters.is_empty() {
            operation["parameters"] = parameters.into();
        }
        operation
    }

    fn responses(&self, call: &str, method: &str, reply: &str) -> Value {
        let problem = json!({
            "description": "The call failed.",
            "content": {
                "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}},
            },
        });
        let schema = || self.definitions.reply(method, ok_of(reply));
        match call {
            "tell" => json!({"202": {"description": "The actor has it."}, "default": problem}),
            "stream" => json!({
                "200": {
                    "description": "One event for each item: its data is the item.",
                    "content": {"text/event-stream": {"schema": schema()}},
                },
                "default": problem,
            }),
            _ => json!({
                "200": {
                    "description": "The reply.",
                    "content": {"application/json": {"schema": schema()}},
                },
                "default": problem,
            }),
        }
    }
}

/// The type of a reply that is no problem: the first one of a `Result`.
fn ok_of(reply: &str) -> &str {
    let Some(rest) = reply.strip_prefix("Result<") else { return reply };
    let mut depth = 0_usize;
    for (at, sign) in rest.char_indices() {
        match sign {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => return &rest[..at],
            _ => {}
        }
    }
    reply
}

/// The names that stand for segments of a path.
fn captured(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(name_of)
}

/// The name in a segment of a path that is any text.
fn name_of(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

/// A name as a segment of a path (RFC 3986 3.3).
fn segment(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(byte.into())
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
