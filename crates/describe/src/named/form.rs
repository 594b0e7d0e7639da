//! The named form of the values of a type, made once from the text of the type.

use wigwag::dynamic::{DescribedPart, DescribedType};

use crate::kind::Kind;

/// How a value is written.
#[derive(Debug)]
pub(super) enum Shape {
    /// As it is.
    Same,
    /// An array, or the bytes of one, whose items have this shape.
    List(Box<Shape>),
    /// A map whose values have this shape.
    Map(Box<Shape>),
    Tuple(Vec<Shape>),
    /// The shapes of `Ok` and of `Err`.
    Result(Box<[Shape; 2]>),
    /// The type at this place of [`Layouts`].
    Type(usize),
}

/// How the structs and enums of an interface are written.
#[derive(Debug, Default)]
pub(super) struct Layouts(Vec<Layout>);

#[derive(Debug)]
pub(super) enum Layout {
    Struct(Fields),
    Enum(Vec<Variant>),
}

#[derive(Debug)]
pub(super) struct Variant {
    pub(super) number: Option<u32>,
    /// In JSON, with its quotes.
    pub(super) name: String,
    /// `None` of a variant that has none.
    pub(super) fields: Option<Fields>,
}

/// The fields of a struct or of a variant.
#[derive(Debug)]
pub(super) enum Fields {
    /// A value alone.
    One(Shape),
    Tuple(Vec<Shape>),
    /// With their names in JSON.
    Named(Vec<(String, Shape)>),
}

impl Layouts {
    pub(super) fn new(types: &[DescribedType]) -> Layouts {
        let each = types.iter().map(|one| match one.is_enum() {
            true => Layout::Enum(one.parts.iter().map(|part| Variant::new(part, types)).collect()),
            false => Layout::Struct(Fields::new(&one.parts, types)),
        });
        Layouts(each.collect())
    }

    pub(super) fn get(&self, at: usize) -> Option<&Layout> {
        self.0.get(at)
    }
}

impl Variant {
    fn new(part: &DescribedPart, types: &[DescribedType]) -> Variant {
        let fields = (!part.fields.is_empty()).then(|| Fields::new(&part.fields, types));
        Variant { number: part.number, name: quoted(&part.name), fields }
    }
}

impl Fields {
    fn new(parts: &[DescribedPart], types: &[DescribedType]) -> Fields {
        let shape = |part: &DescribedPart| match (&part.kind, part.has_own_codec) {
            (Some(kind), false) => Shape::read(kind, types),
            _ => Shape::Same,
        };
        match parts {
            [one] if is_tuple(parts) => Fields::One(shape(one)),
            _ if is_tuple(parts) => Fields::Tuple(parts.iter().map(shape).collect()),
            _ => {
                Fields::Named(parts.iter().map(|part| (quoted(&part.name), shape(part))).collect())
            }
        }
    }
}

impl Shape {
    /// The shape of a type by its text.
    pub(super) fn read(kind: &str, types: &[DescribedType]) -> Shape {
        Kind::read(kind).map_or(Shape::Same, |kind| Shape::of(&kind, types))
    }

    fn of(kind: &Kind<'_>, types: &[DescribedType]) -> Shape {
        match kind {
            Kind::Named("Result", cases) => match &cases[..] {
                [ok, err] => Shape::Result(Box::new([Shape::of(ok, types), Shape::of(err, types)])),
                // The error is that of an alias, which no description has.
                _ => Shape::Same,
            },
            Kind::Named(name, arguments) => {
                if let Some(at) = types.iter().position(|one| one.name == *name) {
                    return Shape::Type(at);
                }
                match (*name, &arguments[..]) {
                    // Nil is the `None` of both, so the inner value is in an array of one.
                    ("Option", [inner @ Kind::Named("Option", _)]) => Shape::list(inner, types),
                    // A value in place of nil, whatever the type.
                    ("Option" | "Box" | "Arc" | "Cow" | "Wrapping", [inner]) => {
                        Shape::of(inner, types)
                    }
                    ("Vec" | "VecDeque" | "BTreeSet" | "HashSet" | "Stream", [item, ..]) => {
                        Shape::list(item, types)
                    }
                    ("BTreeMap" | "HashMap", [_, value, ..]) => match Shape::of(value, types) {
                        Shape::Same => Shape::Same,
                        value => Shape::Map(Box::new(value)),
                    },
                    _ => Shape::Same,
                }
            }
            Kind::Array(item, _) => Shape::list(item, types),
            Kind::Tuple(kinds) => {
                let shapes: Vec<_> = kinds.iter().map(|kind| Shape::of(kind, types)).collect();
                match shapes.iter().all(|shape| matches!(shape, Shape::Same)) {
                    true => Shape::Same,
                    false => Shape::Tuple(shapes),
                }
            }
        }
    }

    fn list(item: &Kind<'_>, types: &[DescribedType]) -> Shape {
        match Shape::of(item, types) {
            Shape::Same => Shape::Same,
            item => Shape::List(Box::new(item)),
        }
    }
}

/// True if the fields have numbers for names.
pub(super) fn is_tuple(fields: &[DescribedPart]) -> bool {
    fields.first().is_some_and(|field| field.name == "0")
}

fn quoted(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}
