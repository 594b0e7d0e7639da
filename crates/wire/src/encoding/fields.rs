//! The names of the fields of a type, as data.
//!
//! A struct is encoded as the array of its fields, without names. Two ends compare the names once,
//! when they find that their schemas differ, so that two fields of one type that have changed places
//! are noticed and not swapped. Types and comments are for people who read a description, and for
//! schemas that are made of it.

mod in_words;

use alloc::vec::Vec;

use crate::encoding::msgpack::put_array;
use crate::{Buffer, Encode};

pub use in_words::{Comments, TypeInWords};

/// Levels of types that are described; deeper ones count in the hash only.
const DEPTH_MAX: usize = 6;

/// Types that the description of one method lists: more than a person reads. Each takes some hundred
/// bytes, and a description must fit a reply.
const TYPES_MAX: usize = 64;

/// The named parts of a type: the fields of a struct, the variants of an enum.
#[derive(Debug, PartialEq, Eq)]
pub struct Fields {
    /// The type's name; empty for a type without one, such as a tuple.
    pub name: &'static str,
    /// The parts in order.
    pub fields: &'static [Field],
    /// The type's doc comment; empty if it has none.
    pub comment: &'static str,
}

/// One part of a type.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its names in earlier versions.
    pub former: &'static [&'static str],
    /// Its type, as written in the source; empty for the variant of an enum.
    pub kind: &'static str,
    /// The parts of its own type; of a variant, its fields.
    pub fields: &'static Fields,
    /// How it is encoded.
    pub form: Form,
    /// Its doc comment; empty if it has none.
    pub comment: &'static str,
}

/// How a part is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As its type says.
    OfType,
    /// By a codec of the field's own, so that its type says nothing.
    Own,
    /// The part is a variant with this number.
    Variant(u32),
}

impl Fields {
    /// A type without named parts.
    pub const NONE: &'static Fields = &Fields { name: "", fields: &[], comment: "" };

    /// True if no part at any level has a name of its own: those of a tuple are numbers.
    pub const fn is_none(&self) -> bool {
        let mut at = 0;
        while at < self.fields.len() {
            let field = &self.fields[at];
            if !is_number(field.name) || !field.fields.is_none() {
                return false;
            }
            at += 1;
        }
        true
    }

    /// True if the parts are the variants of an enum.
    pub fn is_enum(&self) -> bool {
        !self.name.is_empty() && self.fields.first().is_some_and(|one| one.kind.is_empty())
    }

    /// Appends the structs and enums that the type consists of, itself first, each once.
    pub fn add_types(&'static self, types: &mut Vec<&'static Fields>) {
        self.add_types_to(types, DEPTH_MAX);
    }

    fn add_types_to(&'static self, types: &mut Vec<&'static Fields>, depth: usize) {
        if depth == 0 || types.len() >= TYPES_MAX || types.contains(&self) {
            return;
        }
        if !self.name.is_empty() {
            types.push(self);
        }
        for part in self.fields {
            match self.is_enum() {
                // A variant is no type; its fields have some.
                true => {
                    let fields = part.fields.fields.iter();
                    fields.for_each(|field| field.fields.add_types_to(types, depth - 1));
                }
                false => part.fields.add_types_to(types, depth - 1),
            }
        }
    }

    /// Adds the names at all levels to an FNV-1a hash: each name in its order, and the parts of a
    /// type between two marks. A type without named parts adds nothing.
    pub const fn add_to(&self, mut hash: u64) -> u64 {
        if self.is_none() {
            return hash;
        }
        hash = step(hash, b'{');
        let mut at = 0;
        while at < self.fields.len() {
            let (field, mut byte) = (&self.fields[at], 0);
            let name = field.name.as_bytes();
            while byte < name.len() {
                hash = step(hash, name[byte]);
                byte += 1;
            }
            hash = field.fields.add_to(step(hash, 0xFF));
            at += 1;
        }
        step(hash, b'}')
    }

    fn describe(&self, out: &mut Buffer, depth: usize) {
        if self.is_none() || depth == 0 {
            return out.push(0xC0);
        }
        put_array(out, 2);
        self.name.encode(out);
        put_array(out, self.fields.len());
        for field in self.fields {
            put_array(out, 3);
            field.name.encode(out);
            field.former.encode(out);
            field.fields.describe(out, depth - 1);
        }
    }
}

impl Field {
    /// A part that has only a number, such as one of a tuple.
    pub const fn unnamed(number: &'static str, fields: &'static Fields) -> Field {
        Field { name: number, former: &[], kind: "", fields, form: Form::OfType, comment: "" }
    }
}

const fn is_number(name: &str) -> bool {
    name.is_empty() || name.as_bytes()[0].is_ascii_digit()
}

/// Nil if there are no named parts, otherwise `[name, [[part, [former name*], its parts]*]]`.
impl Encode for Fields {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        self.describe(out, DEPTH_MAX);
    }
}

/// One step of FNV-1a, 64 bits.
const fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(0x0100_0000_01B3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    struct Point;

    impl Encode for Point {
        const FIELDS: &'static Fields = &Fields {
            name: "Point",
            fields: &[
                Field { kind: "u8", ..Field::unnamed("x", Fields::NONE) },
                Field {
                    former: &["z"],
                    kind: "Option<u8>",
                    comment: "Downwards.",
                    ..Field::unnamed("y", Fields::NONE)
                },
            ],
            comment: "A place.",
        };
        fn encode(&self, _: &mut Buffer) {}
    }

    fn hash(fields: &Fields) -> u64 {
        fields.add_to(7)
    }

    #[test]
    fn plain_types_have_no_named_parts_and_add_nothing_to_a_hash() {
        type Plain = (u8, Vec<Option<BTreeMap<u32, Result<[u8; 4], &'static str>>>>);
        assert!(<Plain as Encode>::FIELDS.is_none());
        assert_eq!(hash(<Plain as Encode>::FIELDS), 7);
    }

    #[test]
    fn containers_have_the_named_parts_of_what_they_hold() {
        let point = hash(Point::FIELDS);
        assert_ne!(point, 7);
        let holders = [
            <Vec<Point> as Encode>::FIELDS,
            <Option<Box<Point>> as Encode>::FIELDS,
            <[Point; 2] as Encode>::FIELDS,
        ];
        assert!(holders.into_iter().all(|holder| hash(holder) == point));
        let parts = [
            <(u8, Point) as Encode>::FIELDS,
            <(Point, u8) as Encode>::FIELDS,
            <Result<Point, u8> as Encode>::FIELDS,
            <BTreeMap<u8, Point> as Encode>::FIELDS,
        ];
        assert!(parts.into_iter().all(|holder| !holder.is_none() && hash(holder) != point));
        assert_ne!(hash(parts[0]), hash(parts[1]));
    }

    #[test]
    fn a_description_has_the_names_of_all_parts_and_their_former_ones() {
        let mut out = Buffer::new();
        Point::FIELDS.encode(&mut out);
        let expected = [&[0x92, 0xA5][..], b"Point", &[0x92, 0x93, 0xA1, b'x', 0x90, 0xC0]];
        let last = [0x93, 0xA1, b'y', 0x91, 0xA1, b'z', 0xC0];
        assert_eq!(out.as_slice(), [expected.concat(), last.to_vec()].concat());
        let mut out = Buffer::new();
        Fields::NONE.encode(&mut out);
        assert_eq!(out.as_slice(), [0xC0]);
    }
}
