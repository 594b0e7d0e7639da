//! A command line that calls a method, with values of the right form.

use serde_json::{Value, json};
use wigwag::dynamic::{Described, DescribedMethod};
use wigwag_describe::definitions::{Definitions, is_option};
use wigwag_describe::forms::{Dialect, key};
use wigwag_describe::kind::Kind;

use super::text::COLUMNS;

/// Levels of values in an example. Deeper values are nil.
const DEPTH_MAX: usize = 8;

/// Values in one example: more is no help.
const VALUES_MAX: usize = 64;

/// A command line for one method: the first with arguments, or the first one. `None` if there is no
/// method that another process can ask, or if its arguments are too long to be an example.
pub(crate) fn command_line(described: &Described, address: &str) -> Option<String> {
    let sends =
        |arguments: &[(String, String)]| arguments.iter().any(|(_, kind)| Kind::has_items(kind));
    let is_callable =
        |(name, arguments, _): &&DescribedMethod| !described.is_stream(name) && !sends(arguments);
    let callable = || described.methods.iter().filter(is_callable);
    let method = callable().find(|(_, arguments, _)| !arguments.is_empty());
    let method = method.or_else(|| callable().next())?;
    let mut words = vec!["wigwag".into(), "ask".into(), quoted(address), quoted(&method.0)];
    for (name, value) in values(described, method)? {
        let text = match &value {
            // Text needs no quotes of JSON, unless it is empty.
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        words.push(format!("{name}={}", quoted(&text)));
    }
    Some(on_lines(&words))
}

/// Values for the arguments of a method that must not be missing, by their names.
pub(crate) fn values<'d>(
    described: &'d Described,
    (_, arguments, _): &'d DescribedMethod,
) -> Option<Vec<(&'d str, Value)>> {
    let definitions = Definitions::new(described, Dialect::JsonSchema);
    let schema = definitions.arguments(arguments);
    let types = Value::Object(definitions.types());
    let mut sampler = Sampler { types, open: Vec::new(), left: VALUES_MAX };
    arguments
        .iter()
        .filter(|(_, kind)| !is_option(kind))
        .map(|(name, _)| {
            let value = sampler.value(&schema["properties"][name], DEPTH_MAX)?;
            Some((name.as_str(), value))
        })
        .collect()
}

struct Sampler {
    types: Value,
    /// The types that the present value is inside of: one that contains itself ends there.
    open: Vec<String>,
    /// Values that may still be made.
    left: usize,
}

impl Sampler {
    /// A value that the schema allows; `None` if there is no room for it.
    fn value(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        let depth = depth.checked_sub(1)?;
        if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
            if self.open.iter().any(|open| open == name) {
                return None;
            }
            let schema = self.types.get(key(name))?.clone();
            self.open.push(name.to_owned());
            let value = self.value(&schema, depth);
            self.open.pop();
            return value;
        }
        if !schema["const"].is_null() {
            return Some(schema["const"].clone());
        }
        if let Some(first) = schema["enum"].get(0) {
            return Some(first.clone());
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(choices) = schema[choice].as_array() {
                // Texts are shorter than bytes, and a value says more than null.
                let rank = |one: &&Value| match one["type"].as_str() {
                    Some("string") => 0,
                    Some("null") => 2,
                    _ => 1,
                };
                let mut choices: Vec<&Value> = choices.iter().collect();
                choices.sort_by_key(rank);
                return choices.into_iter().find_map(|one| self.value(one, depth));
            }
        }
        match schema["type"].as_str() {
            Some("boolean") => Some(true.into()),
            Some("integer") => Some(integer(schema)),
            Some("number") => Some(json!(1.5)),
            Some("string") => Some(text(schema).into()),
            Some("array") => self.array(schema, depth),
            Some("object") => {
                let value = self.value(&schema["additionalProperties"], depth)?;
                let key = if schema["propertyNames"].is_null() { "key" } else { "1" };
                Some(json!({key: value}))
            }
            _ if schema["type"].is_array() => Some(json!(1.5)),
            _ => Some(Value::Null),
        }
    }

    fn array(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        if let Some(items) = schema["prefixItems"].as_array() {
            return items.iter().map(|item| self.value(item, depth)).collect();
        }
        if schema["maxItems"] == 0 {
            return Some(json!([]));
        }
        match schema["minItems"].as_u64() {
            Some(count) => (0..count).map(|_| self.value(&schema["items"], depth)).collect(),
            None => Some(self.value(&schema["items"], depth).into_iter().collect()),
        }
    }
}

fn integer(schema: &Value) -> Value {
    let most = schema["maximum"].as_i64().unwrap_or(i64::MAX);
    schema["minimum"].as_i64().unwrap_or(1).max(1).min(most).into()
}

fn text(schema: &Value) -> &'static str {
    match schema["format"].as_str() {
        Some("uuid") => "0f8fad5b-d9cb-469f-a165-70867728950e",
        Some("ipv4") => "127.0.0.1",
        Some("ipv6") => "::1",
        _ if schema["maxLength"] == 1 => "a",
        _ if schema["pattern"].is_string() => "1.5",
        _ => "text",
    }
}

/// The word as a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.,:/=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The words on lines that end with a backslash, except for the last one.
fn on_lines(words: &[String]) -> String {
    let (mut text, mut columns) = (String::new(), 0);
    for word in words {
        let length = word.chars().count();
        // The two blanks before each line, and a backslash behind it, must fit too.
        if columns > 0 && columns + 1 + length > COLUMNS - 4 {
            text.push_str(" \\\n    ");
            columns = 4;
        } else if columns > 0 {
            text.push(' ');
            columns += 1;
        }
        text.push_str(word);
        columns += length;
    }
    text
}
