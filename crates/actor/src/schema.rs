//! The schema of an actor: names, order and types of its methods, as data.
//!
//! Two ends whose schema hashes are equal use the same numbers and encodings. Method 0 of every
//! actor is *describe*: it answers with the schema, from which numbers are mapped by name.

use wigwag_wire::fields::{Fields, TypeInWords};
use wigwag_wire::fixed::FixedWidth;
use wigwag_wire::msgpack::put_array;
use wigwag_wire::{Buffer, Encode};

/// The number of an actor's first own method; method 0 is *describe*.
pub const FIRST_METHOD: u32 = 1;

/// The schema of an actor: its type's name and its methods. The macros generate it.
#[derive(Debug)]
pub struct Schema {
    /// The actor's type.
    pub name: &'static str,
    /// Its methods; the first one has number [`FIRST_METHOD`].
    pub methods: &'static [Method],
    /// Hash of names, order and types, with the names of their parts; documentation and former names
    /// do not count.
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
        Schema { name, methods, hash }
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

impl Method {
    /// The structs and enums that the arguments and the reply consist of, each once.
    fn types(&self) -> Vec<TypeInWords> {
        let mut types = Vec::new();
        for argument in self.arguments {
            argument.fields.add_types(&mut types);
        }
        self.reply_fields.add_types(&mut types);
        types.into_iter().map(TypeInWords).collect()
    }
}

/// The answer of method 0: `[name, hash, [[method, [[argument, type]*], reply type]*]]`. An argument
/// and a method are followed by the parts of the type and by the former names, and a method by the
/// structs and enums that it uses, if there are any.
impl Encode for Schema {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        put_array(out, 3);
        self.name.encode(out);
        self.hash.encode(out);
        put_array(out, self.methods.len());
        for method in self.methods {
            let types = method.types();
            let more = Additions { fields: method.reply_fields, former: method.former, types };
            put_array(out, 3 + more.count());
            method.name.encode(out);
            put_array(out, method.arguments.len());
            for argument in method.arguments {
                let (fields, former) = (argument.fields, argument.former);
                let more = Additions { fields, former, types: Vec::new() };
                put_array(out, 2 + more.count());
                argument.name.encode(out);
                argument.kind.encode(out);
                more.put(out);
            }
            method.reply.encode(out);
            more.put(out);
        }
    }
}

/// What a description has only where there is something to say, so that it stays readable for peers
/// that do not know it.
struct Additions {
    fields: &'static Fields,
    former: &'static [&'static str],
    types: Vec<TypeInWords>,
}

impl Additions {
    fn count(&self) -> usize {
        match (self.fields.is_none(), self.former.is_empty(), self.types.is_empty()) {
            (_, _, false) => 3,
            (_, false, true) => 2,
            (false, true, true) => 1,
            (true, true, true) => 0,
        }
    }

    fn put(&self, out: &mut Buffer) {
        if self.count() > 0 {
            self.fields.encode(out);
        }
        if self.count() > 1 {
            self.former.encode(out);
        }
        if self.count() > 2 {
            self.types.encode(out);
        }
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

    const fn argument(kind: &'static str, fixed: FixedWidth) -> Argument {
        Argument { name: "n", former: &[], kind, fields: Fields::NONE, fixed }
    }

    const ADD: Method = Method {
        name: "add",
        former: &[],
        reply_fields: Fields::NONE,
        arguments: &[argument("u64", FixedWidth::NONE)],
        reply: "()",
    };
    const GET: Method = Method {
        name: "get",
        former: &[],
        reply_fields: Fields::NONE,
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
            Method { name: "add", former: &[], reply_fields: Fields::NONE, arguments, reply: "()" }
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
