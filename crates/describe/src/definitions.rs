//! The schemas of the structs, enums and methods that an actor describes.

use serde_json::{Map, Value, json};
use wigwag::dynamic::{Described, DescribedPart, DescribedType};

use super::forms::{Dialect, Forms, Place, any, key};
use super::kind::Kind;

/// The schemas of one description.
pub(crate) struct Definitions<'d> {
    pub(crate) described: &'d Described,
    forms: Forms<'d>,
}

impl<'d> Definitions<'d> {
    pub(crate) fn new(described: &'d Described, dialect: Dialect) -> Definitions<'d> {
        let forms = Forms { dialect, types: &described.types };
        Definitions { described, forms }
    }

    /// A schema for each struct and enum, by its key.
    pub(crate) fn types(&self) -> Map<String, Value> {
        let mut all = Map::new();
        for one in self.forms.types {
            let schema = self.definition(one);
            match all.get_mut(&key(&one.name)) {
                None => drop(all.insert(key(&one.name), schema)),
                // The description does not say which of two types with one name is meant.
                Some(Value::Object(other)) => match other.get_mut("anyOf") {
                    Some(Value::Array(others)) => others.push(schema),
                    _ => *other = Map::from_iter([("anyOf".to_owned(), json!([other, schema]))]),
                },
                Some(_) => {}
            }
        }
        all
    }

    /// The arguments of a method, as an object by their names.
    pub(crate) fn arguments(&self, arguments: &[(String, String)]) -> Value {
        let properties: Map<String, Value> = arguments
            .iter()
            .map(|(name, kind)| (name.clone(), self.forms.of(kind, Place::Argument)))
            .collect();
        let required: Vec<&String> =
            arguments.iter().filter(|(_, kind)| !is_option(kind)).map(|(name, _)| name).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    /// The reply of a method; for a stream, one of its items.
    pub(crate) fn reply(&self, method: &str, reply: &str) -> Value {
        let item = reply.strip_prefix("Stream<").and_then(|rest| rest.strip_suffix('>'));
        let kind = item.filter(|_| self.described.is_stream(method)).unwrap_or(reply);
        self.forms.of(kind, Place::Inside)
    }

    fn definition(&self, of: &DescribedType) -> Value {
        let dialect = self.forms.dialect;
        if !of.is_enum() {
            return dialect.annotated(self.fields(Vec::new(), &of.parts), &of.name, &of.comment);
        }
        let variants: Vec<Value> = of
            .parts
            .iter()
            .map(|variant| {
                let number = json!({"const": variant.number});
                let form = self.fields(vec![number], &variant.fields);
                dialect.annotated(form, &variant.name, &variant.comment)
            })
            .collect();
        dialect.annotated(json!({"oneOf": variants}), &of.name, &of.comment)
    }

    /// An array of the `first` items and the fields. Options at the end may be missing.
    fn fields(&self, first: Vec<Value>, fields: &[DescribedPart]) -> Value {
        let needed = fields.iter().rposition(|field| !field.kind.as_deref().is_some_and(is_option));
        let least = first.len() + needed.map_or(0, |last| last + 1);
        let fields = fields.iter().map(|field| {
            let kind = field.kind.as_deref().unwrap_or_default();
            let form = match field.has_own_codec {
                true => any(kind),
                false => self.forms.of(kind, Place::Inside),
            };
            self.forms.dialect.annotated(form, &field.name, &field.comment)
        });
        self.forms.dialect.tuple(first.into_iter().chain(fields).collect(), least)
    }
}

/// True for a type whose value may be missing.
pub(crate) fn is_option(spelled: &str) -> bool {
    matches!(Kind::read(spelled), Some(Kind::Named("Option", inner)) if inner.len() == 1)
}
