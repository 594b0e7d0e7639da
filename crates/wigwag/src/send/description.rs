//! The description that an actor gives of itself, as it is read: with the names of the parts of
//! types, with former names, and with the types that methods use.

use wigwag_wire::collections::nested;
use wigwag_wire::skip::skip;
use wigwag_wire::{Decode, DecodeError, Reader};

use crate::send::dynamic::{DescribedMethod, DescribedPart, DescribedType};

/// A method of the description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MethodDescription {
    pub(crate) name: String,
    pub(crate) former: Vec<String>,
    pub(crate) arguments: Vec<ArgumentDescription>,
    pub(crate) reply: String,
    pub(crate) reply_parts: Option<Parts>,
    /// The structs and enums that the method uses.
    pub(crate) types: Vec<DescribedType>,
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

/// What a peer may leave out: the parts of a type, former names, and for a method the types that it
/// uses.
#[derive(Default)]
struct Additions {
    parts: Option<Parts>,
    former: Vec<String>,
    types: Vec<DescribedType>,
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
    skip_rest(reader, known + 3, count)?;

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

impl<'a> Decode<'a> for DescribedType {
    fn decode(reader: &mut Reader<'a>) -> Result<DescribedType, DecodeError> {
        nested(reader, |reader, count| {
            check(count, 2)?;
            let (name, parts) = (Decode::decode(reader)?, Decode::decode(reader)?);
            skip_rest(reader, 2, count)?;
            Ok(DescribedType { name, parts })
        })
    }
}

impl<'a> Decode<'a> for DescribedPart {
    fn decode(reader: &mut Reader<'a>) -> Result<DescribedPart, DecodeError> {
        nested(reader, |reader, count| {
            check(count, 3)?;
            let (name, kind): (_, String) = (Decode::decode(reader)?, Decode::decode(reader)?);
            let fields = Decode::decode(reader)?;
            skip_rest(reader, 3, count)?;
            let kind = Some(kind).filter(|kind| !kind.is_empty());
            Ok(DescribedPart { name, kind, fields })
        })
    }
}

impl<'a> Decode<'a> for MethodDescription {
    fn decode(reader: &mut Reader<'a>) -> Result<MethodDescription, DecodeError> {
        nested(reader, |reader, count| {
            check(count, 3)?;
            let (name, arguments, reply) =
                (Decode::decode(reader)?, Decode::decode(reader)?, Decode::decode(reader)?);
            let Additions { parts: reply_parts, former, types } = additions(reader, 3, count)?;
            Ok(MethodDescription { name, former, arguments, reply, reply_parts, types })
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
    fn what_a_peer_leaves_out_is_empty_and_what_a_later_one_adds_is_skipped() {
        let none: Vec<(&str, &str)> = Vec::new();
        let short: MethodDescription = read(("get", none.clone(), "Point"));
        assert!(short.types.is_empty() && short.reply_parts.is_none());
        let part = ("x", "u8", none.clone(), "more");
        let types = vec![("Point", vec![part], 7)];
        let long: MethodDescription =
            read(("get", none, "Point", None::<u8>, vec!["was"], types, 7, "more"));
        let fields = Vec::new();
        let part = DescribedPart { name: "x".into(), kind: Some("u8".into()), fields };
        let point = DescribedType { name: "Point".into(), parts: vec![part] };
        assert_eq!(
            long,
            MethodDescription { former: vec!["was".into()], types: vec![point], ..short }
        );
    }
}
