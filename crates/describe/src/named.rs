//! Values in JSON with the names of their parts, as people write them.
//!
//! On the wire a struct is an array of its fields, and an enum an array of a number and fields. In the
//! named form a struct is an object, and an enum what serde makes of one: `"Name"`, `{"Name": value}`,
//! `{"Name": [values]}` or `{"Name": {fields}}`; `Result` is `{"Ok": value}` or `{"Err": error}`. All
//! other values are the same in both forms.

use serde_json::{Map, Value};
use wigwag::dynamic::{DescribedPart, DescribedType};

use crate::kind::Kind;

/// Levels of values that are converted; the limit of every encoding.
const DEPTH_MAX: usize = 64;

/// The names of the structs and enums of one interface.
#[derive(Clone, Debug, Default)]
pub struct Names {
    types: Vec<DescribedType>,
}

/// A value without the form of its type, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(pub String);

impl Names {
    /// The names of these types. Of two types with one name none is converted, since a description does
    /// not say which of them is meant.
    pub fn new(types: &[DescribedType]) -> Names {
        let is_one =
            |it: &&DescribedType| types.iter().filter(|of| of.name == it.name).count() == 1;
        Names { types: types.iter().filter(is_one).cloned().collect() }
    }

    /// True if the named form of values of this type differs from the other one.
    pub fn differ(&self, kind: &str) -> bool {
        Kind::read(kind).is_some_and(|kind| self.kind_differs(&kind))
    }

    fn kind_differs(&self, kind: &Kind<'_>) -> bool {
        match kind {
            Kind::Named("Result", _) => true,
            Kind::Named(name, arguments) => {
                self.find(name).is_some() || arguments.iter().any(|one| self.kind_differs(one))
            }
            Kind::Tuple(kinds) => kinds.iter().any(|one| self.kind_differs(one)),
            Kind::Array(item, _) => self.kind_differs(item),
        }
    }

    fn find(&self, name: &str) -> Option<&DescribedType> {
        self.types.iter().find(|one| one.name == name)
    }

    /// The named form of a value of this type. A value that does not have the form of its type stays as
    /// it is.
    pub fn name(&self, kind: &str, value: Value) -> Value {
        match Kind::read(kind) {
            Some(kind) => self.named(&kind, value, DEPTH_MAX),
            None => value,
        }
    }

    fn named(&self, kind: &Kind<'_>, value: Value, depth: usize) -> Value {
        let Some(depth) = depth.checked_sub(1) else { return value };
        if let Kind::Named("Result", cases) = kind
            && let [ok, err] = &cases[..]
        {
            return match case(value) {
                Ok((0, inner)) => tagged("Ok", self.named(ok, inner, depth)),
                Ok((1, inner)) => tagged("Err", self.named(err, inner, depth)),
                Ok((_, inner)) => inner,
                Err(value) => value,
            };
        }
        if let Kind::Named(name, _) = kind
            && let Some(found) = self.find(name)
        {
            return match value {
                Value::Array(items) if found.is_enum() => self.variant(found, items, depth),
                Value::Array(items) => self.fields(&found.parts, items, depth),
                value => value,
            };
        }
        each(kind, value, &mut |kind, value| Ok(self.named(kind, value, depth)))
            .unwrap_or(Value::Null)
    }

    fn variant(&self, of: &DescribedType, mut items: Vec<Value>, depth: usize) -> Value {
        let number = items.first().and_then(Value::as_u64);
        let is_it = |part: &&DescribedPart| part.number.map(u64::from) == number;
        let Some(variant) = of.parts.iter().find(is_it) else { return Value::Array(items) };
        items.remove(0);
        match &variant.fields[..] {
            [] => variant.name.clone().into(),
            fields => tagged(&variant.name, self.fields(fields, items, depth)),
        }
    }

    /// The fields of a struct or of a variant.
    fn fields(&self, fields: &[DescribedPart], items: Vec<Value>, depth: usize) -> Value {
        let mut values = fields.iter().zip(items).map(|(field, item)| {
            let value = match (&field.kind, field.has_own_codec) {
                (Some(kind), false) => match Kind::read(kind) {
                    Some(kind) => self.named(&kind, item, depth),
                    None => item,
                },
                _ => item,
            };
            (field.name.clone(), value)
        });
        match fields {
            [one] if is_tuple(fields) && one.name == "0" => {
                values.next().map_or(Value::Null, |(_, value)| value)
            }
            _ if is_tuple(fields) => values.map(|(_, value)| value).collect(),
            _ => Value::Object(values.collect()),
        }
    }

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
            && let Some(found) = self.find(name)
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
            Value::Array(mut values) if values.len() == 1 => {
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
}

/// True if the fields have numbers for names.
fn is_tuple(fields: &[DescribedPart]) -> bool {
    fields.first().is_some_and(|field| field.name == "0")
}

fn tagged(tag: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(tag.to_owned(), value)]))
}

/// The number and the value of an array of both, or the value as it was.
fn case(value: Value) -> Result<(u64, Value), Value> {
    match value {
        Value::Array(mut items) if items.len() == 2 && items[0].is_u64() => {
            let inner = items.pop().unwrap_or_default();
            Ok((items[0].as_u64().unwrap_or_default(), inner))
        }
        value => Err(value),
    }
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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wigwag::Message;
    use wigwag::dynamic::Described;

    use super::*;

    #[derive(Clone, Debug, Message)]
    struct Order {
        id: u64,
        lines: Vec<Line>,
        note: Option<String>,
    }

    #[derive(Clone, Debug, Message)]
    struct Line(String, u8);

    #[derive(Clone, Copy, Debug, Message)]
    struct Cents(i64);

    #[derive(Clone, Debug, Message)]
    enum Payment {
        Cash,
        Card { number: String, valid: (u8, u16) },
        Voucher(Cents),
        Split(Cents, Cents),
    }

    struct Shop;

    #[wigwag::actor]
    impl Shop {
        pub fn place(&self, order: Order, by: Payment) -> Result<Order, Payment> {
            let _ = by;
            Ok(order)
        }
    }

    fn names() -> Names {
        Names::new(&Described::of::<Shop>().types)
    }

    #[test]
    fn values_have_the_names_of_their_parts_and_lose_them_again() {
        let names = names();
        for (kind, wire, named) in [
            (
                "Order",
                json!([7, [["tea", 2]], null]),
                json!({"id": 7, "lines": [["tea", 2]], "note": null}),
            ),
            ("Cents", json!([5]), json!(5)),
            ("Payment", json!([0]), json!("Cash")),
            (
                "Payment",
                json!([1, "4111", [12, 2030]]),
                json!({"Card": {"number": "4111", "valid": [12, 2030]}}),
            ),
            ("Payment", json!([2, [50]]), json!({"Voucher": 50})),
            ("Payment", json!([3, [1], [2]]), json!({"Split": [1, 2]})),
            ("Result<Cents, Payment>", json!([0, [9]]), json!({"Ok": 9})),
            ("Result<Cents, Payment>", json!([1, [0]]), json!({"Err": "Cash"})),
            ("Vec<Option<Payment>>", json!([[0], null]), json!(["Cash", null])),
            ("HashMap<String, Cents>", json!({"a": [1]}), json!({"a": 1})),
            ("(Cents, u8)", json!([[1], 2]), json!([1, 2])),
            ("Option<Option<Cents>>", json!([[3]]), json!([3])),
            ("[Cents; 2]", json!([[1], [2]]), json!([1, 2])),
            ("Unknown", json!([1]), json!([1])),
        ] {
            assert_eq!(names.name(kind, wire.clone()), named, "{kind}");
            assert_eq!(names.unname(kind, named).unwrap(), wire, "{kind}");
            assert_eq!(names.unname(kind, wire.clone()).unwrap(), wire, "{kind} as on the wire");
        }
    }

    #[test]
    fn a_missing_option_is_none_and_other_slips_are_named() {
        let names = names();
        assert_eq!(
            names.unname("Order", json!({"id": 1, "lines": []})).unwrap(),
            json!([1, [], null])
        );
        for (kind, value, text) in [
            ("Order", json!({"id": 1}), "Order lacks \"lines\""),
            ("Order", json!({"id": 1, "lines": [], "x": 1}), "Order has no field \"x\""),
            ("Order", json!(7), "Order is an object with its fields"),
            ("Line", json!(7), "Line is an array of 2 values"),
            (
                "Payment",
                json!("Gold"),
                "Payment has no variant \"Gold\", but Cash, Card, Voucher, Split",
            ),
            ("Payment", json!({"Cash": 1}), "Cash of Payment has no content"),
            ("Payment", json!("Card"), "Card of Payment needs its content"),
            (
                "Result<u8, u8>",
                json!({"Maybe": 1}),
                "a Result is {\"Ok\": value} or {\"Err\": error}",
            ),
        ] {
            assert_eq!(names.unname(kind, value).unwrap_err().0, text);
        }
    }

    #[test]
    fn only_types_with_names_differ() {
        let names = names();
        for (kind, differs) in [
            ("Vec<(u8, Order)>", true),
            ("Result<u8, u8>", true),
            ("HashMap<String, Vec<u8>>", false),
            ("String", false),
        ] {
            assert_eq!(names.differ(kind), differs, "{kind}");
        }
    }

    /// A value that nests deeper than an encoding may is left as it is, and nothing recurses further.
    #[test]
    fn depth_is_bounded() {
        let kind = format!("{}u8{}", "Vec<".repeat(30), ">".repeat(30));
        let value = (0..100).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(names().name(&kind, value.clone()), value);
    }
}
