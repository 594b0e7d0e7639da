//! The description that an actor gives of itself, as it is read: with the names of the parts of
//! types, and with former names.

use wigwag_wire::collections::nested;
use wigwag_wire::skip::skip;
use wigwag_wire::{Decode, DecodeError, Reader};

use crate::send::dynamic::DescribedMethod;

/// A method of the description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MethodDescription {
    pub(crate) name: String,
    pub(crate) former: Vec<String>,
    pub(crate) arguments: Vec<ArgumentDescription>,
    pub(crate) reply: String,
    pub(crate) reply_parts: Option<Parts>,
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

/// Reads the values behind the first `known` ones, which a peer may leave out: the parts of a type,
/// and former names.
fn additions(
    reader: &mut Reader<'_>,
    known: usize,
    count: usize,
) -> Result<(Option<Parts>, Vec<String>), DecodeError> {
    let parts = if count > known { Decode::decode(reader)? } else { None };
    let former = if count > known + 1 { Decode::decode(reader)? } else { Vec::new() };
    for _ in known + 2..count {
        skip(reader)?;
    }
    Ok((parts, former))
}

fn check(count: usize, least: usize) -> Result<(), DecodeError> {
    if count >= least {
        return Ok(());
    }
    Err(DecodeError::OutOfRange { expected: "the description of a method" })
}

impl<'a> Decode<'a> for MethodDescription {
    fn decode(reader: &mut Reader<'a>) -> Result<MethodDescription, DecodeError> {
        nested(reader, |reader, count| {
            check(count, 3)?;
            let (name, arguments, reply) =
                (Decode::decode(reader)?, Decode::decode(reader)?, Decode::decode(reader)?);
            let (reply_parts, former) = additions(reader, 3, count)?;
            Ok(MethodDescription { name, former, arguments, reply, reply_parts })
        })
    }
}

impl<'a> Decode<'a> for ArgumentDescription {
    fn decode(reader: &mut Reader<'a>) -> Result<ArgumentDescription, DecodeError> {
        nested(reader, |reader, count| {
            check(count, 2)?;
            let (name, kind) = (Decode::decode(reader)?, Decode::decode(reader)?);
            let (parts, former) = additions(reader, 2, count)?;
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
