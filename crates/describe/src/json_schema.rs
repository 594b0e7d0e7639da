//! `wigwag describe --json`: the interface of an actor as JSON Schema 2020-12.

use serde_json::{Map, Value, json};
use wigwag::dynamic::Described;

use crate::definitions::Definitions;
use crate::forms::Dialect;
use crate::signature;

/// The schema of a described actor: `$defs` has its structs and enums, and `methods` the arguments
/// and the reply of each method.
pub fn document(described: &Described) -> Value {
    let definitions = Definitions::new(described, Dialect::JsonSchema);
    let methods: Map<String, Value> = described
        .methods
        .iter()
        .map(|(name, arguments, reply)| {
            let mut method = json!({
                "signature": format!("{} -> {reply}", signature(name, arguments)),
                "arguments": definitions.arguments(arguments),
                "reply": definitions.reply(name, reply),
            });
            let comment = described.comment_of(name);
            if !comment.is_empty() {
                method["description"] = comment.into();
            }
            if described.is_stream(name) {
                method["stream"] = true.into();
            }
            (name.clone(), method)
        })
        .collect();
    let document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "schema_hash": format!("{:016x}", described.hash),
        "methods": methods,
        "$defs": definitions.types(),
    });
    Dialect::JsonSchema.annotated(document, &described.name, &described.comment)
}
