//! The actors of a node behind an HTTP gateway, as an OpenAPI 3.1 document.

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

/// The document of these actors.
pub fn document(title: &str, actors: &[Actor]) -> Value {
    let (mut paths, mut schemas, mut tags) = (Map::new(), Map::new(), Vec::new());
    for actor in actors {
        let prefix = format!("{}.", actor.described.name);
        let definitions = Definitions::new(&actor.described, Dialect::OpenApi).with_prefix(&prefix);
        schemas.extend(definitions.types());
        tags.push(json!({"name": actor.name, "description": actor.described.comment}));
        let operations = Operations { actor, definitions };
        operations.add_to(&mut paths);
    }
    schemas.insert("Problem".to_owned(), problem());
    json!({
        "openapi": "3.1.0",
        "info": {"title": title, "version": "1"},
        "tags": tags,
        "paths": paths,
        "components": {"schemas": schemas},
    })
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
    fn add_to(&self, paths: &mut Map<String, Value>) {
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
                let operation = self.operation(call, method, verb, &[]);
                let path = format!("/{actor}/{call}/{}", segment(name));
                insert(paths, path, verb, operation);
            }
            let routes = self.actor.routes.iter().filter(|(of, _)| of == name);
            for (_, route) in routes.filter(|_| !is_stream) {
                let verb = route.verb.to_ascii_lowercase();
                let path = spelling(paths, route.path);
                let captured = captured(route.path).zip(captured(&path)).collect::<Vec<_>>();
                let operation = self.operation("route", method, &verb, &captured);
                insert(paths, path, &verb, operation);
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

/// The path as the document spells it already: of two that differ in their names alone it may have one
/// (OpenAPI 3.1, 4.8.8).
fn spelling(paths: &Map<String, Value>, path: &str) -> String {
    let is_same = |known: &&String| {
        let mut pairs = known.split('/').zip(path.split('/'));
        known.split('/').count() == path.split('/').count()
            && pairs.all(|(a, b)| a == b || name_of(a).is_some() && name_of(b).is_some())
    };
    paths.keys().find(is_same).map_or(path, String::as_str).to_owned()
}

fn insert(paths: &mut Map<String, Value>, path: String, verb: &str, operation: Value) {
    let item = paths.entry(path).or_insert_with(|| json!({}));
    // The first of two is the one that is called.
    if item.get(verb).is_none() {
        item[verb] = operation;
    }
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
