//! The schema that `wigwag describe --ts` prints: what a TypeScript program must know of an actor that
//! it calls before it can ask for the description.
//!
//! It has the form of that description (section 9 of `docs/link-protocol.md`) without the comments, so
//! the client reads both by the same code.

use serde_json::{Value, json};
use wigwag::dynamic::{Described, DescribedPart, DescribedType};

use crate::print::clean;

/// The value of the constant: the hash and the description, a line for each method.
pub(super) fn value(described: &Described) -> String {
    let line = |method: &Value| format!("    {},\n", clean(&method.to_string()));
    let lines: String = methods(described).iter().map(line).collect();
    let (name, hash) = (clean(&json!(described.name).to_string()), described.hash);
    format!("{{\n  hash: 0x{hash:016x}n,\n  description: [{name}, 0, [\n{lines}  ]],\n}}")
}

/// The methods by their numbers. A method that may not be called has no name, and keeps its place; the first
/// one has the types of all.
fn methods(described: &Described) -> Vec<Value> {
    let mut methods = Vec::new();
    for (name, arguments, reply) in &described.methods {
        let place = described.number(name).map_or(methods.len(), |number| number as usize - 1);
        methods.resize(place.max(methods.len()), json!(["", [], ""]));
        let types: Vec<Value> = match methods.len() {
            0 => described.types.iter().map(kind).collect(),
            _ => Vec::new(),
        };
        let is_stream = described.is_stream(name);
        methods.push(json!([name, arguments, reply, 0, 0, types, 0, is_stream]));
    }
    methods
}

fn kind(kind: &DescribedType) -> Value {
    json!([kind.name, kind.parts.iter().map(part).collect::<Vec<_>>()])
}

/// A field of a struct, or a variant with its fields and its number.
fn part(part: &DescribedPart) -> Value {
    let field = |field: &DescribedPart| json!([field.name, field.kind, "", field.has_own_codec]);
    match &part.kind {
        Some(kind) => json!([part.name, kind, [], "", part.has_own_codec]),
        None => {
            let fields: Vec<Value> = part.fields.iter().map(field).collect();
            json!([part.name, "", fields, "", part.number])
        }
    }
}
