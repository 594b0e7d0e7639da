//! `wigwag describe --asyncapi`: the interface of an actor as an AsyncAPI 3.0 document.
//!
//! The application that the document describes is the actor: it receives a message on a channel for
//! each of its methods, and replies.

use serde_json::{Map, Value, json};
use wigwag::Address;
use wigwag::dynamic::Described;

use crate::definitions::Definitions;
use crate::forms::{Dialect, key};
use crate::signature;

const ABOUT: &str = "Values have the form that `wigwag ask` takes and prints. Between nodes they \
                     travel as MessagePack over the link protocol of wigwag.";

/// The document of a described actor, which `node` exports as `name`.
pub fn document(described: &Described, node: &Address, name: &str) -> Value {
    let definitions = Definitions::new(described, Dialect::AsyncApi);
    let (mut channels, mut operations, mut messages) = (Map::new(), Map::new(), Map::new());
    for (method, arguments, reply) in &described.methods {
        let (id, comment) = (key(method), described.comment_of(method));
        let (request, response) = (format!("{id}.arguments"), format!("{id}.reply"));
        let message = |title: &str, payload| json!({"title": title, "payload": payload});
        messages.insert(request.clone(), message(&request, definitions.arguments(arguments)));
        messages.insert(response.clone(), message(&response, definitions.reply(method, reply)));
        let message = |id: &str| json!({"$ref": format!("#/components/messages/{id}")});
        channels.insert(
            id.clone(),
            json!({
                "address": format!("{name}/{method}"),
                "title": format!("{} -> {reply}", signature(method, arguments)),
                "servers": [{"$ref": "#/servers/node"}],
                "messages": {"arguments": message(&request), "reply": message(&response)},
            }),
        );
        let channel = json!({"$ref": format!("#/channels/{id}")});
        let of_channel = |which| json!([{"$ref": format!("#/channels/{id}/messages/{which}")}]);
        let operation = json!({
            "action": "receive",
            "channel": channel,
            "messages": of_channel("arguments"),
            "reply": {"channel": channel, "messages": of_channel("reply")},
        });
        operations.insert(id.clone(), with_comment(operation, comment));
    }
    let about = match described.comment.as_str() {
        "" => ABOUT.to_owned(),
        comment => format!("{comment}\n\n{ABOUT}"),
    };
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": described.name,
            "version": format!("{:016x}", described.hash),
            "description": about,
        },
        "defaultContentType": "application/json",
        "servers": {"node": server(node)},
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": definitions.types()},
    })
}

/// The node as a server. Only an address with a host has a path behind it.
fn server(node: &Address) -> Value {
    let protocol = format!("wigwag+{}", node.scheme());
    match node.rest().split_once('/') {
        Some((host, path)) if !host.is_empty() => {
            json!({"host": host, "pathname": format!("/{path}"), "protocol": protocol})
        }
        _ => json!({"host": node.rest(), "protocol": protocol}),
    }
}

fn with_comment(mut operation: Value, comment: &str) -> Value {
    if let Some(first) = comment.lines().next().filter(|first| !first.is_empty()) {
        operation["summary"] = first.into();
        operation["description"] = comment.into();
    }
    operation
}
