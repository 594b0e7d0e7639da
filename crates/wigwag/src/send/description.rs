//! The description that an actor gives of itself, as it is read: with the names of the parts of
//! types, with former names, and with the types that methods use.

use wigwag_wire::collections::nested;
use wigwag_wire::skip::skip;
use wigwag_wire::{Decode, DecodeError, Reader};

use crate::send::described::{DescribedMethod, DescribedPart, DescribedType};

/// The whole answer of method 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InterfaceDescription {
    pub(crate) name: String,
    pub(crate) hash: u64,
    pub(crate) methods: Vec<MethodDescription>,
    pub(crate) comment: String,
}

/// A method of the description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MethodDescription {
    pub(crate) name: String,
    pub(crate) former: Vec<String>,
    pub(crate) arguments: Vec<ArgumentDescription>,
    pub(crate) reply: String,
    pub(crate) reply_parts: Option<Parts>,
    /// The structs and enums that the method uses, and, for a peer of this release, no method before
    /// it.
    pub(crate) types: Vec<DescribedType>,
    pub(crate) comment: String,
    pub(crate) is_stream: bool,
}

/// An argument of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentDescription {
    pub(crate) name: String,
    pub(crate) former: Vec<String>,
    pub(crate) kind: String,
    pub(crate) parts: Option<Parts>,
}

/// The named parts of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) parts: Vec<Part>,
}

/// One named part of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) former: Vec<String>,
    pub(crate) parts: Option<Parts>,
}

impl MethodDescription {
    /// The part that programs see.
    pub(crate) fn public(&self) -> DescribedMethod {
        let arguments = self.arguments.iter().map(|one| (one.name.clone(), one.kind.clone()));
        (self.name.clone(), arguments.collect(), self.reply.clone())
    }
}

/// The parts that a peer may leave out: those of a type, former names, and for a method the types that it
/// uses, its comment, and whether its reply is a stream.
#[derive(Default)]
struct Additions {
    parts: Option<Parts>,
    former: Vec<String>,
    types: Vec<DescribedType>,
    comment: String,
    is_stream: bool,
}

/// Reads the values behind the first `known` ones.
fn additions(
    reader: &mut Reader<'_>,
    known: usize,
    count: usize,
) -> Result<Additions, DecodeError> {
    let mut read = Additions::default();
    if count > known {
        read.parts = Decode::decode(reader)?;
    }
    if count > known + 1 {
        read.former = Decode::decode(reader)?;
    }
    if count > known + 2 {
        read.types = Decode::decode(reader)?;
    }
    if count > known + 3 {
        read.comment = Decode::decode(reader)?;
    }
    if count > known + 4 {
        read.is_stream = Decode::decode(reader)?;
    }
    skip_rest(reader, known + 5, count)?;
    Ok(read)
}

/// Skips what a later release has behind the first `known` values of an array.
fn skip_rest(reader: &mut Reader<'_>, known: usize, count: usize) -> Result<(), DecodeError> {
    (known..count).try_for_each(|_| skip(reader))
}

fn check(count: usize, least: usize) -> Result<(), DecodeError> {
    if count >= least {
        return Ok(());
    }
    Err(DecodeError::OutOfRange { expected: "the description of a method" })
}

impl<'a> Decode<'a> for InterfaceDescription {
    fn decode(reader: &mut Reader<'a>) -> Result<InterfaceDescription, DecodeError> {
        nested(reader, |reader, count| {
            check(count, 3)?;
            let (name, hash) = (Decode::decode(reader)?, Decode::decode(reader)?);
            let methods = Decode::decode(reader)?;
            let comment = optional(reader, count > 3)?.unwrap_or_default();
            skip_rest(reader, 4, count)?;
            Ok(InterfaceDescription { name, hash, methods, comment })
        })
    }
}

/// Reads a value that a peer may leave out.
fn optional<'a, T: Decode<'a>>(
    reader: &mut Reader<'a>,
    is_there: bool,
) -> Result<Option<T>, DecodeError> {
    is_there.then(|| T::decode(reader)).transpose()
}

impl<'a> Decode<'a> for DescribedType {
    fn decode(reader: &mut Reader<'a>) -> Result<DescribedType, DecodeError> {
        nested(reader, |reader, count| {
            check(count, 2)?;
            let (name, parts): (_, Vec<DescribedPart>) =
                (Decode::decode(reader)?, Decode::decode(reader)?);
            let comment = optional(reader, count > 2)?.unwrap_or_default();
            skip_rest(reader, 3, count)?;
            // The number of a variant is its place, unless the peer says another one.
            let mut parts = parts;
            for (at, part) in parts.iter_mut().enumerate() {
                part.number =
                    part.number.or(u32::try_from(at).ok()).filter(|_| part.kind.is_none());
            }
            Ok(DescribedType { name, parts, comment })
        })
    }
}

impl<'a> Decode<'a> for DescribedPart {
    fn decode(reader: &mut Reader<'a>) -> Result<DescribedPart, DecodeError> {
        nested(reader, |reader, count| {
            check(count, 3)?;
            let (name, kind): (_, String) = (Decode::decode(reader)?, Decode::decode(reader)?);
            let fields: Vec<VariantField> = Decode::decode(reader)?;
            let (comment, form) = comment_and_form(reader, 3, count)?;
            let kind = Some(kind).filter(|kind| !kind.is_empty());
            let fields = fields.into_iter().map(|VariantField(field)| field).collect();
            Ok(DescribedPart { name, kind, fields, comment, ..form })
        })
    }
}

/// A field of a variant, which has no fields that a description lists.
struct VariantField(DescribedPart);

impl<'a> Decode<'a> for VariantField {
    fn decode(reader: &mut Reader<'a>) -> Result<VariantField, DecodeError> {
        nested(reader, |reader, count| {
            check(count, 2)?;
            let (name, kind) = (Decode::decode(reader)?, Some(Decode::decode(reader)?));
            let (comment, form) = comment_and_form(reader, 2, count)?;
            Ok(VariantField(DescribedPart { name, kind, comment, number: None, ..form }))
        })
    }
}

/// Reads a comment and a form behind the first `known` values, and skips the rest. The form is a part
/// with nothing else.
fn comment_and_form(
    reader: &mut Reader<'_>,
    known: usize,
    count: usize,
) -> Result<(String, DescribedPart), DecodeError> {
    let comment = optional(reader, count > known)?.unwrap_or_default();
    let mut form = DescribedPart {
        name: String::new(),
        kind: None,
        fields: Vec::new(),
        comment: String::new(),
        number: None,
        has_own_codec: false,
    };
    if count > known + 1 {
        match reader.peek() {
            Some(0xC2 | 0xC3) => form.has_own_codec = Decode::decode(reader)?,
            Some(0x00..=0x7F | 0xCC..=0xCF) => form.number = Some(Decode::decode(reader)?),
            // Nil, or a form of a later release.
            _ => skip(reader)?,
        }
    }
    skip_rest(reader, known + 2, count)?;
    Ok((comment, form))
}

impl<'a> Decode<'a> for MethodDescription {
    fn decode(reader: &mut Reader<'a>) -> Result<MethodDescription, DecodeError> {
        nested(reader, |reader, count| {
            check(count, 3)?;
            let (name, arguments, reply) =
                (Decode::decode(reader)?, Decode::decode(reader)?, Decode::decode(reader)?);
            let Additions { parts: reply_parts, former, types, comment, is_stream } =
                additions(reader, 3, count)?;
            Ok(MethodDescription {
                name,
                former,
                arguments,
                reply,
                reply_parts,
                types,
                comment,
                is_stream,
            })
        })
    }
}

impl<'a> Decode<'a> for ArgumentDescription {
    fn decode(reader: &mut Reader<'a>) -> Result<ArgumentDescription, DecodeError> {
        nested(reader, |reader, count| {
            check(count, 2)?;
            let (name, kind) = (Decode::decode(reader)?, Decode::decode(reader)?);
            let Additions { parts, former, .. } = additions(reader, 2, count)?;
            Ok(ArgumentDescription { name, former, kind, parts })
        })
    }
}

impl<'a> Decode<'a> for Parts {
    fn decode(reader: &mut Reader<'a>) -> Result<Parts, DecodeError> {
        let (name, parts) = Decode::decode(reader)?;
        Ok(Parts { name, parts })
    }
}

impl<'a> Decode<'a> for Part {
    fn decode(reader: &mut Reader<'a>) -> Result<Part, DecodeError> {
        let (name, former, parts) = Decode::decode(reader)?;
        Ok(Part { name, former, parts })
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use wigwag_wire::{Buffer, Encode};

    use super::*;

    fn read<T: for<'a> Decode<'a>>(value: impl Encode) -> T {
        let mut out = Buffer::new();
        value.encode(&mut out);
        let mut reader = Reader::new(out.as_slice());
        let read = T::decode(&mut reader).expect("a description");
        assert!(reader.rest().is_empty(), "the next value begins elsewhere");
        read
    }

    #[test]
    fn missing_fields_are_empty_and_unknown_fields_are_skipped() {
        let none: Vec<(&str, &str)> = Vec::new();
        let short: MethodDescription = read(("get", none.clone(), "Point"));
        assert!(short.types.is_empty() && short.reply_parts.is_none());
        assert!(short.comment.is_empty() && !short.is_stream);
        let part = ("x", "u8", none.clone(), "across", true, "more");
        let types = vec![("Point", vec![part], "a place", "more")];
        let long: MethodDescription =
            read(("get", none, "Point", None::<u8>, vec!["was"], types, "gets", true, "more"));
        let [point] = &long.types[..] else { panic!("{long:?}") };
        assert_eq!((&*point.name, &*point.comment), ("Point", "a place"));
        let [x] = &point.parts[..] else { panic!("{point:?}") };
        assert_eq!((x.kind.as_deref(), &*x.comment, x.has_own_codec), (Some("u8"), "across", true));
        assert_eq!((&*long.comment, long.is_stream), ("gets", true));
        assert_eq!(long.former, ["was"]);
    }

    #[test]
    fn a_variant_has_the_number_that_the_peer_says_or_that_of_its_place() {
        let none: Vec<(&str, &str)> = Vec::new();
        let first = ("A", "", vec![("a", "u8", "one", "more")]);
        // A tuple is an array too.
        let parts = (first, ("B", "", none.clone(), "", 7), ("C", "", none));
        let read: DescribedType = read(("Kind", parts));
        let numbers: Vec<_> = read.parts.iter().map(|part| part.number).collect();
        assert_eq!(numbers, [Some(0), Some(7), Some(2)]);
        assert_eq!(read.parts[0].fields[0].comment, "one");
        assert!(read.is_enum());
    }
}
