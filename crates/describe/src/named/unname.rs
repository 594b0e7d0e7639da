//! From the named form of a value to that on the wire.

use serde_json::Value;
use wigwag::dynamic::{DescribedPart, DescribedType};

use super::form::is_tuple;
use super::{Mismatch, Names};
use crate::kind::Kind;

/// Levels of values that are converted; the limit of every encoding.
const DEPTH_MAX: usize = 64;

impl Names {
    /// The form on the wire of a value of this type, which may be in its named form or have the form of
    /// the wire already.
    ///
    /// # Errors
    /// A field or a variant that the type does not have, and a field that is missing.
    pub fn unname(&self, kind: &str, value: Value) -> Result<Value, Mismatch> {
        match Kind::read(kind) {
            Some(kind) => self.unnamed(&kind, value, DEPTH_MAX),
            None => Ok(value),
        }
    }

    fn unnamed(&self, kind: &Kind<'_>, value: Value, depth: usize) -> Result<Value, Mismatch> {
        let Some(depth) = depth.checked_sub(1) else { return Ok(value) };
        if let Kind::Named("Result", cases) = kind
            && let [ok, err] = &cases[..]
        {
            let Value::Object(mut tags) = value else { return Ok(value) };
            for (number, tag, kind) in [(0, "Ok", ok), (1, "Err", err)] {
                if tags.len() == 1
                    && let Some(inner) = tags.remove(tag)
                {
                    let inner = self.unnamed(kind, inner, depth)?;
                    return Ok(Value::Array(vec![number.into(), inner]));
                }
            }
            return Err(Mismatch("a Result is {\"Ok\": value} or {\"Err\": error}".to_owned()));
        }
        if let Kind::Named(name, _) = kind
            && let Some(found) = self.types.iter().find(|one| one.name == *name)
        {
            return match found.is_enum() {
                true => self.unnamed_variant(found, value, depth),
                false => self.unnamed_fields(&found.name, &found.parts, value, Vec::new(), depth),
            };
        }
        each(kind, value, &mut |kind, value| self.unnamed(kind, value, depth))
    }

    fn unnamed_variant(
        &self,
        of: &DescribedType,
        value: Value,
        depth: usize,
    ) -> Result<Value, Mismatch> {
        let (name, content) = match value {
            Value::String(name) => (name, None),
            Value::Object(tags) if tags.len() == 1 => tags
                .into_iter()
                .next()
                .map(|(name, content)| (name, Some(content)))
                .unwrap_or_default(),
            // The form of the wire, or what the actor will refuse.
            other => return Ok(other),
        };
        let Some(variant) = of.parts.iter().find(|part| part.name == name) else {
            let known: Vec<_> = of.parts.iter().map(|part| &*part.name).collect();
            let text = format!("{} has no variant {name:?}, but {}", of.name, known.join(", "));
            return Err(Mismatch(text));
        };
        let first = vec![variant.number.into()];
        match (&variant.fields[..], content) {
            ([], None | Some(Value::Null)) => Ok(Value::Array(first)),
            ([], Some(_)) => Err(Mismatch(format!("{name} of {} has no content", of.name))),
            (_, None) => Err(Mismatch(format!("{name} of {} needs its content", of.name))),
            (fields, Some(content)) => {
                self.unnamed_fields(&format!("{}::{name}", of.name), fields, content, first, depth)
            }
        }
    }

    /// The values of the fields behind `first`.
    fn unnamed_fields(
        &self,
        of: &str,
        fields: &[DescribedPart],
        value: Value,
        first: Vec<Value>,
        depth: usize,
    ) -> Result<Value, Mismatch> {
        let convert = |field: &DescribedPart, value| match (&field.kind, field.has_own_codec) {
            (Some(kind), false) => match Kind::read(kind) {
                Some(kind) => self.unnamed(&kind, value, depth),
                None => Ok(value),
            },
            _ => Ok(value),
        };
        let mut items = first;
        match value {
            Value::Object(mut named) if !is_tuple(fields) => {
                for field in fields {
                    let is_option = field.kind.as_deref().is_some_and(|kind| {
                        matches!(Kind::read(kind), Some(Kind::Named("Option", _)))
                    });
                    let value = match named.remove(&field.name) {
                        Some(value) => value,
                        None if is_option => Value::Null,
                        None => return Err(Mismatch(format!("{of} lacks {:?}", field.name))),
                    };
                    items.push(convert(field, value)?);
                }
                if let Some(name) = named.keys().next() {
                    return Err(Mismatch(format!("{of} has no field {name:?}")));
                }
            }
            Value::Array(values) if !(fields.len() == 1 && is_tuple(fields)) => {
                for (at, value) in values.into_iter().enumerate() {
                    items.push(match fields.get(at) {
                        Some(field) => convert(field, value)?,
                        None => value,
                    });
                }
            }
            // A struct around one value is that value, unless it is written as on the wire.
            Value::Array(mut values)
                if values.len() == 1 && !self.is_list_of(&fields[0], &values[0], depth) =>
            {
                items.push(convert(&fields[0], values.remove(0))?);
            }
            value if fields.len() == 1 && is_tuple(fields) => {
                items.push(convert(&fields[0], value)?)
            }
            _ if is_tuple(fields) => {
                return Err(Mismatch(format!("{of} is an array of {} values", fields.len())));
            }
            _ => return Err(Mismatch(format!("{of} is an object with its fields"))),
        }
        Ok(Value::Array(items))
    }

    /// True if an array of `item` alone is a value of this field, and not the struct around one. Where it
    /// may be either, it is the value, as everywhere else in the named form.
    fn is_list_of(&self, field: &DescribedPart, item: &Value, depth: usize) -> bool {
        match (&field.kind, field.has_own_codec) {
            (Some(kind), false) => {
                Kind::read(kind).is_none_or(|kind| self.is_list(&kind, Some(item), depth))
            }
            // Nothing is known of its form.
            _ => true,
        }
    }

    /// True if a value of this type may be an array of `item` alone; without an item, of any.
    fn is_list(&self, kind: &Kind<'_>, item: Option<&Value>, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        // On the wire an item that is no array would be in one of its own.
        let is_item = |of: &Kind<'_>| match item {
            Some(Value::Array(_)) => self.is_list(of, None, depth),
            _ => true,
        };
        match kind {
            Kind::Array(of, length) => match (item, length) {
                (Some(_), Some(2..)) => false,
                _ => is_item(of),
            },
            Kind::Tuple(kinds) => match (item, &kinds[..]) {
                (None, kinds) => !kinds.is_empty(),
                (_, [of]) => is_item(of),
                _ => false,
            },
            Kind::Named(name, arguments) => {
                if let Some(found) = self.types.iter().find(|one| one.name == *name) {
                    return match (&found.parts[..], item) {
                        _ if found.is_enum() || !is_tuple(&found.parts) => false,
                        ([one], Some(item)) => self.is_list_of(one, item, depth),
                        ([_], None) => true,
                        (_, item) => item.is_none(),
                    };
                }
                match (*name, &arguments[..]) {
                    ("Option", [of @ Kind::Named("Option", _)]) => is_item(of),
                    ("Option" | "Box" | "Arc" | "Cow" | "Wrapping", [of]) => {
                        self.is_list(of, item, depth)
                    }
                    ("Vec" | "VecDeque" | "BTreeSet" | "HashSet", [of, ..]) => is_item(of),
                    ("Bytes", []) => !matches!(item, Some(Value::Array(_))),
                    // Two values each; and types that are never a list.
                    ("Duration" | "SystemTime" | "Range", _) => item.is_none(),
                    ("Result" | "BTreeMap" | "HashMap" | "NonZero", _) => false,
                    ("bool" | "char" | "String" | "str" | "f32" | "f64", _) => false,
                    _ => !is_whole_number(name),
                }
            }
        }
    }
}

fn is_whole_number(name: &str) -> bool {
    let width = name.strip_prefix(['i', 'u']);
    width.is_some_and(|width| matches!(width, "8" | "16" | "32" | "64" | "128" | "size"))
}

/// Converts the values that a value of a type of the standard library consists of.
fn each(
    kind: &Kind<'_>,
    value: Value,
    convert: &mut dyn FnMut(&Kind<'_>, Value) -> Result<Value, Mismatch>,
) -> Result<Value, Mismatch> {
    let arguments = match kind {
        Kind::Named(_, arguments) | Kind::Tuple(arguments) => &arguments[..],
        Kind::Array(item, _) => std::slice::from_ref(&**item),
    };
    match (kind, arguments, value) {
        (Kind::Named("Option", _), [_], Value::Null) => Ok(Value::Null),
        (Kind::Named("Option", _), [inner], value) => match (inner, value) {
            // Nil is the `None` of both, so the inner value is in an array of one.
            (Kind::Named("Option", _), Value::Array(mut items)) if items.len() == 1 => {
                Ok(Value::Array(vec![convert(inner, items.remove(0))?]))
            }
            (_, value) => convert(inner, value),
        },
        (Kind::Named("Box" | "Arc" | "Cow" | "Wrapping", _), [inner], value) => {
            convert(inner, value)
        }
        (
            Kind::Named("Vec" | "VecDeque" | "BTreeSet" | "HashSet" | "Stream", _),
            [item, ..],
            Value::Array(items),
        ) => items.into_iter().map(|value| convert(item, value)).collect(),
        (Kind::Named("BTreeMap" | "HashMap", _), [_, of, ..], Value::Object(pairs)) => {
            let pairs = pairs.into_iter().map(|(key, value)| Ok((key, convert(of, value)?)));
            Ok(Value::Object(pairs.collect::<Result<_, _>>()?))
        }
        (Kind::Array(..), [item], Value::Array(items)) => {
            items.into_iter().map(|value| convert(item, value)).collect()
        }
        (Kind::Tuple(_), kinds, Value::Array(items)) => {
            let items = items.into_iter().enumerate().map(|(at, value)| match kinds.get(at) {
                Some(kind) => convert(kind, value),
                None => Ok(value),
            });
            items.collect()
        }
        (_, _, value) => Ok(value),
    }
}
