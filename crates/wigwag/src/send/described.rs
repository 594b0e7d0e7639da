//! The interface of an actor as data, as programs see it.

use std::collections::HashSet;

use wigwag_actor::schema::{Description, FIRST_METHOD};
use wigwag_actor::{Exportable, Interface};
use wigwag_wire::{Buffer, Decode, DecodeError, Encode, Reader};

use crate::send::description::{InterfaceDescription, MethodDescription};

/// One method of [`Described`]: its name, the name and type of each argument in order, and the type
/// of its reply.
pub type DescribedMethod = (String, Vec<(String, String)>, String);

/// The description of an interface: what an actor says of itself, see the example at
/// [`Dynamic`](crate::dynamic::Dynamic), or [that of an interface](Described::of) of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The name of the actor's type.
    pub name: String,
    /// A hash over names, order and types. Two actors with the same hash have the same interface.
    pub hash: u64,
    /// The doc comment of the `impl` block or the trait; empty if it has none. Comments are cut after
    /// 1,024 bytes each, and 64 KiB are in one description; a peer of an earlier release sends none.
    pub comment: String,
    /// The methods in order; those that this node may not call are left out.
    pub methods: Vec<DescribedMethod>,
    /// The structs and enums that the methods use, each once, also those inside of others, to six
    /// levels. A type with an encoding of its own and one that contains itself are not described
    /// further, and a peer of an earlier release describes none.
    pub types: Vec<DescribedType>,
    /// The methods with all that is needed to match two versions. A method that may not be called has no
    /// name, and keeps its place.
    pub(crate) details: Vec<MethodDescription>,
}

/// A struct or an enum of [`Described`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DescribedType {
    /// Its name.
    pub name: String,
    /// Its doc comment; empty if it has none.
    pub comment: String,
    /// The fields of the struct or the variants of the enum, in order; those of a tuple are named by
    /// their numbers.
    pub parts: Vec<DescribedPart>,
}

/// A field of a struct or of a variant, or a variant of an enum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DescribedPart {
    /// Its name.
    pub name: String,
    /// The type of a field, as written in the source; `None` for a variant.
    pub kind: Option<String>,
    /// The fields of a variant.
    pub fields: Vec<DescribedPart>,
    /// Its doc comment; empty if it has none.
    pub comment: String,
    /// The number of a variant, which stands for it in its encoding; `None` for a field.
    pub number: Option<u32>,
    /// A codec of its own encodes the field, so the form of its type says nothing.
    pub has_own_codec: bool,
}

impl DescribedType {
    /// True for an enum, whose parts are variants.
    pub fn is_enum(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.kind.is_none())
    }
}

impl Described {
    /// The description of an interface of this program, as an actor that has it describes itself.
    ///
    /// ```
    /// use wigwag::dynamic::Described;
    ///
    /// struct Sum;
    ///
    /// /// Adds.
    /// #[wigwag::actor]
    /// impl Sum {
    ///     /// The sum of both.
    ///     pub fn add(&mut self, a: i64, b: i64) -> i64 {
    ///         a + b
    ///     }
    /// }
    ///
    /// # fn main() {
    /// let described = Described::of::<Sum>();
    /// assert_eq!((&*described.comment, described.comment_of("add")), ("Adds.", "The sum of both."));
    /// # }
    /// ```
    pub fn of<I: Interface>() -> Described
    where
        I::Codec: Exportable,
    {
        let mut out = Buffer::new();
        Description { schema: I::SCHEMA, with_comments: true, gate: None }.encode(&mut out);
        Described::read(out.as_slice()).expect("a description of this release is readable")
    }

    /// The number of the method with this name; `None` if there is none.
    pub fn number(&self, name: &str) -> Option<u32> {
        let at = self.details.iter().position(|method| method.name == name)?;
        let number = u32::try_from(at).ok()?.checked_add(FIRST_METHOD);
        number.filter(|_| !name.is_empty())
    }

    /// The doc comment of the method with this name; empty if it has none.
    pub fn comment_of(&self, method: &str) -> &str {
        self.detail(method).map_or("", |method| &method.comment)
    }

    /// True if the method replies with a stream of values. The type of its reply is then `Stream<T>`. False for a peer of an earlier
    /// release.
    pub fn is_stream(&self, method: &str) -> bool {
        self.detail(method).is_some_and(|method| method.is_stream)
    }

    fn detail(&self, name: &str) -> Option<&MethodDescription> {
        self.details.iter().find(|method| method.name == name)
    }

    /// Reads the answer of method 0.
    pub(crate) fn read(answer: &[u8]) -> Result<Described, DecodeError> {
        let read = InterfaceDescription::decode(&mut Reader::new(answer))?;
        let InterfaceDescription { name, hash, methods: details, comment } = read;
        let shown = details.iter().filter(|method| !method.name.is_empty());
        let methods = shown.map(MethodDescription::public).collect();
        let types = used_types(&details);
        Ok(Described { name, hash, comment, methods, types, details })
    }
}

/// The types of all methods, each once.
fn used_types(methods: &[MethodDescription]) -> Vec<DescribedType> {
    let mut types: Vec<DescribedType> = Vec::new();
    let mut known = HashSet::new();
    for described in methods.iter().flat_map(|method| &method.types) {
        if known.insert(described) {
            types.push(described.clone());
        }
    }
    types
}
