//! The schema of an actor: names, order and types of its methods, as data.
//!
//! Two ends whose schema hashes are equal use the same numbers and encodings. Method 0 of every
//! actor is *describe*: it answers with the schema, from which numbers are mapped by name.

mod description;

use wigwag_wire::fields::Fields;
use wigwag_wire::fixed::FixedWidth;

pub use description::Description;

/// The number of an actor's first own method; method 0 is *describe*.
pub const FIRST_METHOD: u32 = 1;

/// The schema of an actor: its type's name and its methods. The macros generate it.
#[derive(Debug)]
pub struct Schema {
    /// The actor's type.
    pub name: &'static str,
    /// Its methods; the first one has number [`FIRST_METHOD`].
    pub methods: &'static [Method],
    /// The doc comment of the interface; empty if it has none.
    pub comment: &'static str,
    /// Hash of names, order and types, with the names of their parts; comments and former names do
    /// not count.
    pub hash: u64,
}

/// One method of a [`Schema`].
#[derive(Debug)]
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Its names in earlier versions.
    pub former: &'static [&'static str],
    /// Its arguments in order.
    pub arguments: &'static [Argument],
    /// The type of its reply.
    pub reply: &'static str,
    /// The names of the parts of that type.
    pub reply_fields: &'static Fields,
    /// The reply is a stream of values.
    pub is_stream: bool,
    /// Its doc comment; empty if it has none.
    pub comment: &'static str,
    /// The routes under which an HTTP gateway calls it.
    pub routes: &'static [HttpRoute],
}

/// A route of a [`Method`], for HTTP gateways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpRoute {
    /// The method of HTTP, in capitals.
    pub verb: &'static str,
    /// The path. A segment `{name}` is the argument of that name.
    pub path: &'static str,
}

/// One argument of a [`Method`].
#[derive(Debug)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Its names in earlier versions.
    pub former: &'static [&'static str],
    /// Its type, as written in the source.
    pub kind: &'static str,
    /// The names of the parts of its type.
    pub fields: &'static Fields,
    /// The width of its values, if all have the same width.
    pub fixed: FixedWidth,
}

impl Schema {
    /// Creates a schema and computes its hash, at compile time.
    pub const fn new(name: &'static str, methods: &'static [Method]) -> Schema {
        let mut hash = FNV_START;
        let mut m = 0;
        while m < methods.len() {
            let method = &methods[m];
            hash = fnv(hash, method.name);
            let mut a = 0;
            while a < method.arguments.len() {
                hash = fnv(hash, method.arguments[a].name);
                hash = fnv(hash, method.arguments[a].kind);
                hash = printed(hash, method.arguments[a].fixed);
                hash = method.arguments[a].fields.add_to(hash);
                a += 1;
            }
            hash = method.reply_fields.add_to(fnv(fnv(hash, "->"), method.reply));
            m += 1;
        }
        Schema { name, methods, hash, comment: "" }
    }

    /// This schema with a doc comment.
    pub const fn with_comment(mut self, comment: &'static str) -> Schema {
        self.comment = comment;
        self
    }

    /// The number of the method named `name`.
    pub fn number(&self, name: &str) -> Option<u32> {
        let at = self.methods.iter().position(|method| method.name == name)?;
        Some(FIRST_METHOD + at as u32)
    }

    /// The name of the method with number `number`.
    pub fn method_name(&self, number: u32) -> &'static str {
        let at = number.checked_sub(FIRST_METHOD).map(|at| at as usize);
        at.and_then(|at| self.methods.get(at)).map_or("?", |method| method.name)
    }
}

/// FNV-1a, 64 bits: small enough to run at compile time, and a collision gains a stranger nothing,
/// because arguments are checked again when they are read.
const FNV_START: u64 = 0xCBF2_9CE4_8422_2325;

/// Hashes a text without its blanks: the macro and a person may space a type differently.
const fn fnv(mut hash: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b' ' {
            hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01B3);
        }
        at += 1;
    }
    // A separator, so that ("ab", "c") and ("a", "bc") differ.
    (hash ^ 0xFF).wrapping_mul(0x0100_0000_01B3)
}

/// Hashes the width of a type: a name does not determine the type, and values of fixed width are
/// not checked again when they are read. A type without a fixed width counts by its name alone.
const fn printed(mut hash: u64, fixed: FixedWidth) -> u64 {
    if !fixed.is_some() {
        return hash;
    }
    let bytes = fixed.fingerprint().to_le_bytes();
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01B3);
        at += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;
    use wigwag_wire::Encode;

    const fn argument(kind: &'static str, fixed: FixedWidth) -> Argument {
        Argument { name: "n", former: &[], kind, fields: Fields::NONE, fixed }
    }

    const ADD: Method = Method {
        name: "add",
        former: &[],
        reply_fields: Fields::NONE,
        is_stream: false,
        comment: "",
        routes: &[],
        arguments: &[argument("u64", FixedWidth::NONE)],
        reply: "()",
    };
    const GET: Method = Method {
        name: "get",
        former: &[],
        reply_fields: Fields::NONE,
        is_stream: false,
        comment: "",
        routes: &[],
        arguments: &[],
        reply: "u64",
    };

    #[test]
    fn the_hash_follows_names_order_and_types_and_not_the_actors_name() {
        let hash = |methods: &'static [Method]| Schema::new("A", methods).hash;
        assert_eq!(hash(&[ADD, GET]), Schema::new("B", &[ADD, GET]).hash);
        assert_ne!(hash(&[ADD, GET]), hash(&[GET, ADD]));
        const ADD32: Method = Method {
            name: "add",
            former: &[],
            reply_fields: Fields::NONE,
            is_stream: false,
            comment: "",
            routes: &[],
            arguments: &[argument("u32", FixedWidth::NONE)],
            reply: "()",
        };
        assert_ne!(hash(&[ADD, GET]), hash(&[ADD32, GET]));
    }

    /// The hashes from the protocol's documentation.
    #[test]
    fn the_hash_is_as_it_is_written_down() {
        const WITH_WIDTH: Method = Method {
            name: "add",
            former: &[],
            reply_fields: Fields::NONE,
            is_stream: false,
            comment: "",
            routes: &[],
            arguments: &[argument("u64", u64::FIXED)],
            reply: "()",
        };
        assert_eq!(u64::FIXED.fingerprint(), 0xC4A4_009C_ED04_C858);
        assert_eq!(Schema::new("Counter", &[WITH_WIDTH, GET]).hash, 0xD84B_48C4_630B_0824);
    }

    /// One name may stand for two types: `Id` is a `u32` at one end and a `u64` at the other.
    #[test]
    fn the_hash_follows_the_widths_behind_a_name() {
        const HASHES: [u64; 4] = [
            Schema::new("A", const { &[one(FixedWidth::NONE)] }).hash,
            Schema::new("A", const { &[one(u32::FIXED)] }).hash,
            Schema::new("A", const { &[one(u64::FIXED)] }).hash,
            Schema::new("A", const { &[one(i64::FIXED)] }).hash,
        ];
        const fn one(fixed: FixedWidth) -> Method {
            let arguments = match fixed.bytes() {
                4 => const { &[argument("Id", u32::FIXED)] },
                8 if fixed.fingerprint() == u64::FIXED.fingerprint() => {
                    const { &[argument("Id", u64::FIXED)] }
                }
                8 => const { &[argument("Id", i64::FIXED)] },
                _ => const { &[argument("Id", FixedWidth::NONE)] },
            };
            Method { arguments, ..ADD }
        }
        for (at, hash) in HASHES.iter().enumerate() {
            assert!(!HASHES[..at].contains(hash), "{at}");
        }
    }

    #[test]
    fn methods_are_found_by_name_and_number() {
        let schema = Schema::new("A", &[ADD, GET]);
        assert_eq!(schema.number("get"), Some(2));
        assert_eq!(schema.number("describe"), None);
        assert_eq!((schema.method_name(1), schema.method_name(9)), ("add", "?"));
    }
}
