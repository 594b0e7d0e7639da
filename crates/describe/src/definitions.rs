//! The schemas of the structs, enums and methods that an actor describes.

use serde_json::{Map, Value, json};
use wigwag::dynamic::{Described, DescribedPart, DescribedType};

use crate::forms::{Dialect, Forms, Place, any, key, tagged};
use crate::kind::Kind;

/// The schemas of one description.
pub struct Definitions<'d> {
    /// The description.
    pub described: &'d Described,
    forms: Forms<'d>,
}

impl<'d> Definitions<'d> {
    /// The schemas of `described` for a kind of document.
    pub fn new(described: &'d Described, dialect: Dialect) -> Definitions<'d> {
        let forms = Forms { dialect, prefix: String::new(), types: &described.types };
        Definitions { described, forms }
    }

    /// The schemas whose definitions have names that begin with `prefix`, for a document about several
    /// interfaces.
    #[must_use]
    pub fn with_prefix(mut self, prefix: &str) -> Definitions<'d> {
        self.forms.prefix = key(prefix);
        self
    }

    /// The schema of a type as it is spelled.
    pub fn form(&self, spelled: &str) -> Value {
        self.forms.of(spelled, Place::Argument)
    }

    /// A schema for each struct and enum, by its key.
    pub fn types(&self) -> Map<String, Value> {
        let mut all = Map::new();
        for one in self.forms.types {
            let schema = self.definition(one);
            let key = format!("{}{}", self.forms.prefix, key(&one.name));
            match all.get_mut(&key) {
                None => drop(all.insert(key, schema)),
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
    pub fn arguments(&self, arguments: &[(String, String)]) -> Value {
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
    pub fn reply(&self, method: &str, reply: &str) -> Value {
        let item = reply.strip_prefix("Stream<").and_then(|rest| rest.strip_suffix('>'));
        let kind = item.filter(|_| self.described.is_stream(method)).unwrap_or(reply);
        self.forms.of(kind, Place::Inside)
    }

    fn definition(&self, of: &DescribedType) -> Value {
        let dialect = self.forms.dialect;
        if dialect == Dialect::OpenApi {
            return dialect.annotated(self.named_definition(of), &of.name, &of.comment);
        }
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

    /// The named form of a struct or an enum.
    fn named_definition(&self, of: &DescribedType) -> Value {
        if !of.is_enum() {
            return self.named_fields(&of.parts);
        }
        let (units, others): (Vec<_>, Vec<_>) =
            of.parts.iter().partition(|variant| variant.fields.is_empty());
        let names: Vec<&str> = units.iter().map(|variant| &*variant.name).collect();
        let units = (!names.is_empty()).then(|| json!({"enum": names}));
        let others = others.into_iter().map(|variant| {
            let form = tagged(&variant.name, self.named_fields(&variant.fields));
            self.forms.dialect.annotated(form, "", &variant.comment)
        });
        let mut variants: Vec<Value> = units.into_iter().chain(others).collect();
        match variants.len() {
            1 => variants.remove(0),
            _ => json!({"oneOf": variants}),
        }
    }

    /// An object with the fields, or for a tuple their array; the value itself if it is the only one.
    fn named_fields(&self, fields: &[DescribedPart]) -> Value {
        let form = |field: &DescribedPart| {
            let kind = field.kind.as_deref().unwrap_or_default();
            let form = match field.has_own_codec {
                true => any(kind),
                false => self.forms.of(kind, Place::Inside),
            };
            self.forms.dialect.annotated(form, "", &field.comment)
        };
        match fields {
            [one] if one.name == "0" => form(one),
            [first, ..] if first.name == "0" => {
                self.forms.dialect.tuple(fields.iter().map(form).collect(), fields.len())
            }
            _ => {
                let is_needed =
                    |field: &&DescribedPart| !field.kind.as_deref().is_some_and(is_option);
                let required: Vec<&str> =
                    fields.iter().filter(is_needed).map(|field| &*field.name).collect();
                let properties: Map<String, Value> =
                    fields.iter().map(|field| (field.name.clone(), form(field))).collect();
                json!({
                    "type": "object",
                    "properties": properties,
                    "required": required,
                    "additionalProperties": false,
                })
            }
        }
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
pub fn is_option(spelled: &str) -> bool {
    matches!(Kind::read(spelled), Some(Kind::Named("Option", inner)) if inner.len() == 1)
}
