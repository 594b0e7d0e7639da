//! The form of the document of results, as a JSON Schema, and a check against it.
//!
//! The schema is written by hand and stands in `docs/schema/lab-1.json`, for tools in any
//! language. The check understands the words that this schema uses and no others; a word that it
//! does not know is a fault, so the schema cannot grow beyond what is checked.

use serde_json::{Map, Value};

/// The schema of [`Results`](crate::results::Results), draft 2020-12.
pub const LAB_1: &str = include_str!("../../../../docs/schema/lab-1.json");

/// Words that only explain.
const NOTES: [&str; 5] = ["$schema", "$id", "$defs", "title", "description"];

/// Places in `document` that differ from [`LAB_1`]. Empty when all is well.
pub fn faults(document: &Value) -> Vec<String> {
    match serde_json::from_str(LAB_1) {
        Ok(schema) => faults_against(&schema, document),
        Err(error) => vec![format!("the schema itself is not JSON: {error}")],
    }
}

/// Places in `document` that differ from `root`: the schema of another document, in the same words.
pub fn faults_against(root: &Value, document: &Value) -> Vec<String> {
    let mut check = SchemaCheck { root, faults: Vec::new() };
    check.value(root, document, "");
    check.faults
}

struct SchemaCheck<'a> {
    /// Where `$ref` points into.
    root: &'a Value,
    faults: Vec<String>,
}

impl SchemaCheck<'_> {
    fn value(&mut self, schema: &Value, value: &Value, place: &str) {
        let Value::Object(words) = schema else {
            return self.fault(place, "its schema is no object");
        };
        for (word, rule) in words {
            match (word.as_str(), rule) {
                ("type", _) => self.kind(rule, value, place),
                ("const", _) if value != rule => self.fault(place, &format!("is not {rule}")),
                ("enum", Value::Array(allowed)) if !allowed.contains(value) => {
                    self.fault(place, &format!("{value} is none of {rule}"));
                }
                ("const" | "enum", _) => {}
                ("$ref", Value::String(target)) => self.reference(target, value, place),
                ("required", Value::Array(names)) => self.required(names, value, place),
                ("properties", Value::Object(rules)) => self.properties(rules, value, place),
                ("additionalProperties", Value::Bool(false)) => self.known(words, value, place),
                ("items", _) => self.items(rule, value, place),
                ("minItems" | "maxItems", _) => self.length(word, rule, value, place),
                ("minimum", _) => self.minimum(rule, value, place),
                ("anyOf", Value::Array(options)) => self.any(options, value, place),
                ("allOf", Value::Array(all)) => {
                    all.iter().for_each(|each| self.value(each, value, place));
                }
                ("if", condition) => self.condition(condition, words, value, place),
                ("then", _) if words.contains_key("if") => {}
                (note, _) if NOTES.contains(&note) => {}
                _ => self.fault(place, &format!("its schema says `{word}`, which nobody checks")),
            }
        }
    }

    fn fault(&mut self, place: &str, what: &str) {
        let place = if place.is_empty() { "/" } else { place };
        self.faults.push(format!("{place}: {what}"));
    }

    /// Whether `value` follows `schema`, without a word about it.
    fn holds(&self, schema: &Value, value: &Value) -> bool {
        let mut trial = SchemaCheck { root: self.root, faults: Vec::new() };
        trial.value(schema, value, "");
        trial.faults.is_empty()
    }

    fn kind(&mut self, rule: &Value, value: &Value, place: &str) {
        let is = |name: &Value| match name.as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("null") => value.is_null(),
            Some("number") => value.is_number(),
            Some("integer") => value.is_u64() || value.is_i64(),
            _ => false,
        };
        let held = match rule {
            Value::Array(names) => names.iter().any(is),
            name => is(name),
        };
        if !held {
            self.fault(place, &format!("{value} is no {rule}"));
        }
    }

    fn reference(&mut self, target: &str, value: &Value, place: &str) {
        let root = self.root;
        match target.strip_prefix('#').and_then(|pointer| root.pointer(pointer)) {
            Some(schema) => self.value(schema, value, place),
            None => self.fault(place, &format!("its schema points to {target}, which is nowhere")),
        }
    }

    fn required(&mut self, names: &[Value], value: &Value, place: &str) {
        let Value::Object(fields) = value else { return };
        for name in names.iter().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.fault(place, &format!("`{name}` is missing"));
            }
        }
    }

    fn properties(&mut self, rules: &Map<String, Value>, value: &Value, place: &str) {
        let Value::Object(fields) = value else { return };
        for (name, rule) in rules {
            if let Some(field) = fields.get(name) {
                self.value(rule, field, &format!("{place}/{name}"));
            }
        }
    }

    fn known(&mut self, words: &Map<String, Value>, value: &Value, place: &str) {
        let Value::Object(fields) = value else { return };
        let rules = words.get("properties").and_then(Value::as_object);
        for name in fields.keys() {
            if rules.is_none_or(|rules| !rules.contains_key(name)) {
                self.fault(place, &format!("`{name}` is not in the schema"));
            }
        }
    }

    fn items(&mut self, rule: &Value, value: &Value, place: &str) {
        let Value::Array(items) = value else { return };
        for (at, item) in items.iter().enumerate() {
            self.value(rule, item, &format!("{place}/{at}"));
        }
    }

    fn length(&mut self, word: &str, rule: &Value, value: &Value, place: &str) {
        let (Value::Array(items), Some(bound)) = (value, rule.as_u64()) else { return };
        let count = items.len() as u64;
        let held = if word == "minItems" { count >= bound } else { count <= bound };
        if !held {
            self.fault(place, &format!("has {count} items, {word} is {bound}"));
        }
    }

    fn minimum(&mut self, rule: &Value, value: &Value, place: &str) {
        let (Some(bound), Some(number)) = (rule.as_f64(), value.as_f64()) else { return };
        if number < bound {
            self.fault(place, &format!("{number} is less than {bound}"));
        }
    }

    fn any(&mut self, options: &[Value], value: &Value, place: &str) {
        if !options.iter().any(|option| self.holds(option, value)) {
            self.fault(place, &format!("{value} is nothing that may stand here"));
        }
    }

    fn condition(&mut self, when: &Value, words: &Map<String, Value>, value: &Value, place: &str) {
        if let Some(then) = words.get("then")
            && self.holds(when, value)
        {
            self.value(then, value, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Results, SCHEMA};
    use serde_json::json;

    const RICH: &str = include_str!("../../tests/fixtures/lab-1.json");

    fn rich() -> Value {
        serde_json::from_str(RICH).unwrap()
    }

    /// Every field is there, and what our own types write is what the schema says.
    #[test]
    fn a_full_document_follows_the_schema_and_survives_our_types() {
        assert_eq!(faults(&rich()), [""; 0]);
        let results: Results = serde_json::from_value(rich()).unwrap();
        assert_eq!(results.schema, SCHEMA);
        let again = serde_json::to_value(&results).unwrap();
        assert_eq!(faults(&again), [""; 0]);
        assert_eq!(again, rich());
    }

    #[test]
    fn every_field_of_the_schema_is_used_by_the_full_document() {
        let schema: Value = serde_json::from_str(LAB_1).unwrap();
        for (name, part) in schema["$defs"].as_object().unwrap() {
            for field in part["properties"].as_object().unwrap().keys() {
                let quoted = format!("\"{field}\"");
                assert!(RICH.contains(&quoted), "{name}.{field} does not occur");
            }
            assert_eq!(part["additionalProperties"], json!(false), "{name} is open");
        }
    }

    #[test]
    fn a_void_row_with_a_number_is_a_fault() {
        let mut document = rich();
        let rows = document["rows"].as_array_mut().unwrap();
        let void = rows.iter_mut().find(|row| row["verdict"] == "void").unwrap();
        void["rate"] = json!({ "median": 1.0, "min": 1.0, "max": 1.0 });
        void["reasons"] = json!([]);
        let found = faults(&document);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("/rate: "), "{found:?}");
        assert!(found[1].contains("/reasons: has 0 items"), "{found:?}");
    }

    /// A change in each kind of rule is noticed, at its place.
    #[test]
    fn damage_is_named_with_its_place() {
        let cases = [
            ("/schema", json!("wigwag.lab/2"), "/schema: is not \"wigwag.lab/1\""),
            ("/quick", json!("no"), "/quick: \"no\" is no \"boolean\""),
            ("/rows/0/verdict", json!("fine"), "/rows/0/verdict: \"fine\" is none of"),
            ("/rows/0/verified/lost", json!(-1), "/rows/0/verified/lost: -1 is less than 0"),
            ("/rows/0/rate", json!({ "median": 1 }), "/rows/0/rate: "),
            ("/rows/0/runs/0", json!({}), "/rows/0/runs/0: `round` is missing"),
            ("/environment/cores", json!(1.5), "/environment/cores: 1.5 is no \"integer\""),
        ];
        for (place, value, fault) in cases {
            let mut document = rich();
            *document.pointer_mut(place).unwrap() = value;
            let found = faults(&document);
            assert!(found.iter().any(|line| line.starts_with(fault)), "{fault}: {found:?}");
        }
        let mut document = rich();
        document["colour"] = json!("red");
        assert_eq!(faults(&document), ["/: `colour` is not in the schema"]);
    }

    #[test]
    fn an_unchecked_keyword_is_an_error_of_the_schema() {
        let found = faults_against(&json!({ "pattern": "x" }), &json!("x"));
        assert_eq!(found, ["/: its schema says `pattern`, which nobody checks"]);
    }
}
