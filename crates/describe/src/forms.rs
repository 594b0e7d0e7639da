//! The JSON Schema of one type: its form in JSON as `wigwag ask` takes and prints it.
//!
//! The forms are those of `docs/types.md` as JSON. Where one differs between arguments and replies
//! (bytes of a UUID are printed as numbers, and taken as a text), the schema allows either. A type
//! that is not in the tables, and not described by the actor, may have any form.

use serde_json::{Map, Value, json};
use wigwag::dynamic::DescribedType;

use crate::kind::Kind;

/// The kinds of documents, which spell a few things differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// JSON Schema 2020-12.
    JsonSchema,
    /// The schemas of AsyncAPI 3, which extend draft 07.
    AsyncApi,
    /// The schemas of OpenAPI 3.1, which are those of JSON Schema 2020-12, for values in their
    /// [named](crate::named) form.
    OpenApi,
}

impl Dialect {
    /// The reference to the definition of a type.
    fn reference(self, prefix: &str, name: &str) -> Value {
        let folder = match self {
            Dialect::JsonSchema => "#/$defs",
            Dialect::AsyncApi | Dialect::OpenApi => "#/components/schemas",
        };
        json!({"$ref": format!("{folder}/{prefix}{}", key(name))})
    }

    /// An array of exactly these items, of which those behind the first `least` may be missing.
    pub fn tuple(self, items: Vec<Value>, least: usize) -> Value {
        if items.is_empty() {
            return json!({"type": "array", "maxItems": 0});
        }
        match self {
            Dialect::JsonSchema | Dialect::OpenApi => {
                json!({"type": "array", "prefixItems": items, "items": false, "minItems": least})
            }
            Dialect::AsyncApi => {
                json!({"type": "array", "items": items, "additionalItems": false, "minItems": least})
            }
        }
    }

    /// The schema with a title and a comment, each if it is not empty.
    pub fn annotated(self, schema: Value, title: &str, comment: &str) -> Value {
        if title.is_empty() && comment.is_empty() {
            return schema;
        }
        let mut words = match schema {
            // Draft 07 ignores what stands beside a reference.
            Value::Object(words) if words.contains_key("$ref") && self == Dialect::AsyncApi => {
                Map::from_iter([("allOf".to_owned(), json!([words]))])
            }
            Value::Object(words) => words,
            other => return other,
        };
        for (word, text) in [("title", title), ("description", comment)] {
            if !text.is_empty() {
                words.insert(word.to_owned(), text.into());
            }
        }
        Value::Object(words)
    }
}

/// Where a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is an argument by itself, for which the command takes more forms.
    Argument,
    /// It is a reply, or inside of an argument or a reply.
    Inside,
}

/// The name of a definition: the letters that both documents allow in references.
pub fn key(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    name.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}

/// The forms of the types of one description.
pub struct Forms<'d> {
    /// The kind of document.
    pub dialect: Dialect,
    /// The text in front of the names of definitions.
    pub prefix: String,
    /// The structs and enums that the actor describes.
    pub types: &'d [DescribedType],
}

impl Forms<'_> {
    /// The schema of a type as it is spelled.
    pub fn of(&self, spelled: &str, place: Place) -> Value {
        match Kind::read(spelled) {
            Some(kind) => self.form(&kind, place),
            None => any(spelled),
        }
    }

    fn form(&self, kind: &Kind<'_>, place: Place) -> Value {
        match kind {
            Kind::Tuple(kinds) if kinds.is_empty() => json!({"type": "null"}),
            Kind::Tuple(kinds) => self.all(kinds),
            Kind::Array(item, length) if is_byte(item) => bytes(*length, place),
            Kind::Array(item, length) => sized(array(self.form(item, Place::Inside)), *length),
            Kind::Named(name, arguments) => self.named(name, arguments, place),
        }
    }

    /// An array of one value of each type.
    fn all(&self, kinds: &[Kind<'_>]) -> Value {
        let items: Vec<Value> = kinds.iter().map(|kind| self.form(kind, Place::Inside)).collect();
        let count = items.len();
        self.dialect.tuple(items, count)
    }

    fn named(&self, name: &str, arguments: &[Kind<'_>], place: Place) -> Value {
        if self.types.iter().any(|one| one.name == name) {
            return self.dialect.reference(&self.prefix, name);
        }
        match (name, arguments) {
            ("Option", [inner]) => self.option(inner, place),
            ("Box" | "Arc" | "Cow" | "Wrapping", [inner]) => self.form(inner, place),
            ("Vec", [item]) if is_byte(item) => bytes(None, place),
            ("Vec" | "VecDeque", [item]) => array(self.form(item, Place::Inside)),
            ("BTreeSet" | "HashSet", [item, ..]) => {
                let mut set = array(self.form(item, Place::Inside));
                set["uniqueItems"] = true.into();
                set
            }
            ("BTreeMap" | "HashMap", [key, value, ..]) => self.map(key, value),
            ("Result", [value, error]) => self.result(value, error),
            ("Range", [end]) => self.all(&[end.clone(), end.clone()]),
            ("NonZero", [number]) => not_zero(self.form(number, Place::Inside)),
            ("PhantomData", _) => json!({"type": "null"}),
            ("DateTime", _) => self.moment(true),
            (_, []) => self.plain(name, place),
            _ => any(name),
        }
    }

    /// A type without arguments.
    fn plain(&self, name: &str, place: Place) -> Value {
        if let Some(number) = number(name, place) {
            return number;
        }
        if let Some(inner) = name.strip_prefix("NonZero").map(str::to_ascii_lowercase)
            && let Some(number) = number(&inner, place)
        {
            return not_zero(number);
        }
        let string = |format: &str| json!({"type": "string", "format": format});
        let text = || json!({"type": "string"});
        match name {
            "bool" => json!({"type": "boolean"}),
            "char" => json!({"type": "string", "minLength": 1, "maxLength": 1}),
            "String" | "str" => text(),
            "Bytes" => bytes(None, place),
            "Ordering" => json!({"enum": [-1, 0, 1]}),
            "Duration" => self.seconds(json!({"type": "integer", "minimum": 0}), NANOS_MAX),
            "SystemTime" => self.seconds(json!({"type": "integer"}), NANOS_MAX),
            "IpAddr" => json!({"anyOf": [string("ipv4"), string("ipv6")]}),
            "Ipv4Addr" => string("ipv4"),
            "Ipv6Addr" => string("ipv6"),
            "SocketAddrV4" => text(),
            // A flow is a number behind the address.
            "SocketAddr" | "SocketAddrV6" => {
                json!({"anyOf": [text(), self.dialect.tuple(vec![text(), flow()], 2)]})
            }
            "PathBuf" => json!({"anyOf": [text(), bytes(None, Place::Inside)]}),
            "Uuid" => json!({"anyOf": [string("uuid"), bytes(Some(16), Place::Inside)]}),
            "Decimal" => {
                json!({"anyOf": [{"type": "string", "pattern": DECIMAL}, {"type": "integer"}]})
            }
            "OffsetDateTime" => self.moment(true),
            "NaiveDateTime" | "PrimitiveDateTime" => self.moment(false),
            "NaiveDate" | "Date" => self
                .dialect
                .tuple(vec![json!({"type": "integer"}), between(1, 12), between(1, 31)], 3),
            "NaiveTime" | "Time" => self.seconds(between(0, 86_399), LEAP_NANOS_MAX),
            _ => any(name),
        }
    }

    /// Nil, or the value; in an array of one if the value may be nil itself.
    fn option(&self, inner: &Kind<'_>, place: Place) -> Value {
        if may_be_nil(inner) {
            let one = self.dialect.tuple(vec![self.form(inner, Place::Inside)], 1);
            return json!({"anyOf": [{"type": "null"}, one]});
        }
        let form = self.form(inner, place);
        let is_known =
            form.as_object().is_some_and(|words| words.keys().any(|it| it != "$comment"));
        if is_known { json!({"anyOf": [{"type": "null"}, form]}) } else { form }
    }

    fn result(&self, value: &Kind<'_>, error: &Kind<'_>) -> Value {
        let case = |number: u8, title: &str, kind: &Kind<'_>| {
            if self.dialect == Dialect::OpenApi {
                let form = self.form(kind, Place::Inside);
                return tagged(title, form);
            }
            let items = vec![json!({"const": number}), self.form(kind, Place::Inside)];
            self.dialect.annotated(self.dialect.tuple(items, 2), title, "")
        };
        json!({"oneOf": [case(0, "Ok", value), case(1, "Err", error)]})
    }

    /// JSON has only texts as keys, so others are printed as texts.
    fn map(&self, key: &Kind<'_>, value: &Kind<'_>) -> Value {
        let mut form =
            json!({"type": "object", "additionalProperties": self.form(value, Place::Inside)});
        let key = self.form(key, Place::Inside);
        if key["type"] == "integer" {
            form["propertyNames"] = json!({"pattern": "^-?[0-9]+$"});
        }
        form
    }

    /// Seconds and nanoseconds since 1970, behind them the seconds that the local time is ahead.
    fn moment(&self, has_offset: bool) -> Value {
        let mut items = vec![json!({"type": "integer"}), between(0, LEAP_NANOS_MAX)];
        if has_offset {
            items.push(between(-86_399, 86_399));
        }
        self.dialect.tuple(items, 2)
    }

    fn seconds(&self, seconds: Value, nanos_max: i64) -> Value {
        self.dialect.tuple(vec![seconds, between(0, nanos_max)], 2)
    }
}

const NANOS_MAX: i64 = 999_999_999;

/// In a leap second the nanoseconds go on.
const LEAP_NANOS_MAX: i64 = 1_999_999_999;

const DECIMAL: &str = "^[-+]?[0-9]+([.][0-9]+)?$";

/// An object with one property.
pub(crate) fn tagged(tag: &str, form: Value) -> Value {
    json!({
        "type": "object",
        "properties": {tag: form},
        "required": [tag],
        "additionalProperties": false,
    })
}

/// A value of any form. The comment has the name of the type.
pub fn any(spelled: &str) -> Value {
    match spelled {
        // A value of JSON is of any form by its meaning.
        "" | "Value" => json!({}),
        _ => json!({"$comment": spelled}),
    }
}

/// True if nil is the form of a value of the type; false also for a type that is not known.
pub fn may_be_nil(kind: &Kind<'_>) -> bool {
    match kind {
        Kind::Tuple(kinds) => kinds.is_empty(),
        Kind::Array(..) => false,
        Kind::Named("Option" | "PhantomData", _) => true,
        Kind::Named("Box" | "Arc" | "Cow" | "Wrapping", inner) => {
            inner.first().is_some_and(may_be_nil)
        }
        Kind::Named(..) => false,
    }
}

fn is_byte(kind: &Kind<'_>) -> bool {
    *kind == Kind::Named("u8", Vec::new())
}

fn between(least: i64, most: i64) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most})
}

fn flow() -> Value {
    between(0, u32::MAX.into())
}

fn array(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn sized(mut array: Value, length: Option<usize>) -> Value {
    if let Some(length) = length {
        array["minItems"] = length.into();
        array["maxItems"] = length.into();
    }
    array
}

/// Bytes are an array of numbers. As an argument by itself, a text is taken too.
fn bytes(length: Option<usize>, place: Place) -> Value {
    let numbers = sized(array(between(0, 255)), length);
    match place {
        Place::Argument => json!({"anyOf": [numbers, {"type": "string"}]}),
        Place::Inside => numbers,
    }
}

fn number(name: &str, place: Place) -> Option<Value> {
    Some(match name {
        "u8" => between(0, u8::MAX.into()),
        "u16" => between(0, u16::MAX.into()),
        "u32" => between(0, u32::MAX.into()),
        "u64" | "usize" => json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}),
        "i8" => between(i8::MIN.into(), i8::MAX.into()),
        "i16" => between(i16::MIN.into(), i16::MAX.into()),
        "i32" => between(i32::MIN.into(), i32::MAX.into()),
        "i64" | "isize" => between(i64::MIN, i64::MAX),
        // Beyond 64 bits it is bytes.
        "u128" => json!({"anyOf": [
            {"type": "integer", "minimum": 0, "maximum": u64::MAX},
            bytes(Some(16), Place::Inside),
        ]}),
        "i128" => json!({"anyOf": [
            {"type": "integer", "minimum": i64::MIN, "maximum": u64::MAX},
            bytes(Some(16), Place::Inside),
        ]}),
        "f32" | "f64" => match place {
            Place::Argument => json!({"type": "number"}),
            // JSON has no such numbers, so a reply has their names.
            Place::Inside => json!({"type": ["number", "string"], "pattern": "^(NaN|-?inf)$"}),
        },
        _ => return None,
    })
}

fn not_zero(mut number: Value) -> Value {
    match number["minimum"].as_i64() {
        Some(0) => number["minimum"] = 1.into(),
        _ => number["not"] = json!({"const": 0}),
    }
    number
}
