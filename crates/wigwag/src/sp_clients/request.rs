//! The form of a request of an SP client, and of the answer to it.
//!
//! A request is one array, as JSON or as MessagePack: the name of an actor, the name of a method,
//! and the arguments. An object alone in place of the arguments gives them by name, if the method
//! takes two or more. The answer has the form of the request: `["ok", value]`, or `["error", name,
//! text]` with the name of a code of the link protocol and a text for people.

use serde_json::Value;
use wigwag_actor::{Argument, CallErrorKind, Schema};
use wigwag_wire::msgpack::{put_array, take_array, take_map};
use wigwag_wire::skip::skip;
use wigwag_wire::{Buffer, Decode, Encode, Reader};

use crate::json;
use crate::proxy::encoding;
use crate::proxy::failure::Failure;
use crate::proxy::identity::ClientIdentity;

/// The form in which a request has come, and in which it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    MessagePack,
}

/// A request whose actor is not looked up yet.
#[derive(Debug, PartialEq)]
pub(crate) struct Request<'a> {
    pub(crate) actor: String,
    pub(crate) method: String,
    arguments: Arguments<'a>,
}

#[derive(Debug, PartialEq)]
enum Arguments<'a> {
    Json(Vec<Value>),
    /// This many values, one behind the other.
    MessagePack(usize, &'a [u8]),
}

/// Reads a request. Its form is known even if the rest is malformed; what is in no form is answered
/// as JSON, which a person can read.
pub(crate) fn read(body: &[u8]) -> (Form, Result<Request<'_>, Failure>) {
    let first = body.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    match first {
        Some(b'[') => (Form::Json, read_json(body)),
        // The marks of an array; the blanks of JSON are numbers in MessagePack, so none are skipped.
        Some(0x90..=0x9F | 0xDC | 0xDD) if first == body.first().copied() => {
            (Form::MessagePack, read_messagepack(body))
        }
        _ => (Form::Json, Err(malformed("it begins with no array"))),
    }
}

fn malformed(what: &str) -> Failure {
    let text = format!("a request is [\"actor\", \"method\", arguments...]: {what}");
    Failure::Malformed(text)
}

fn read_json(body: &[u8]) -> Result<Request<'_>, Failure> {
    let values: Vec<Value> =
        serde_json::from_slice(body).map_err(|error| malformed(&error.to_string()))?;
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (Some(Value::String(actor)), Some(Value::String(method))) => {
            Ok(Request { actor, method, arguments: Arguments::Json(values.collect()) })
        }
        _ => Err(malformed("its first two values are no names")),
    }
}

fn read_messagepack(body: &[u8]) -> Result<Request<'_>, Failure> {
    let mut reader = Reader::new(body);
    let mut names = || {
        let count = take_array(&mut reader)?.checked_sub(2);
        Ok((count, String::decode(&mut reader)?, String::decode(&mut reader)?))
    };
    let broken = |error: wigwag_wire::DecodeError| malformed(&error.to_string());
    let (count, actor, method) = names().map_err(broken)?;
    let count = count.ok_or_else(|| malformed("its first two values are no names"))?;
    let arguments = reader.rest();
    (0..count).try_for_each(|_| skip(&mut reader)).map_err(broken)?;
    if !reader.is_empty() {
        return Err(malformed("there are bytes behind the array"));
    }
    Ok(Request { actor, method, arguments: Arguments::MessagePack(count, arguments) })
}

impl Request<'_> {
    /// The number of the method in `schema`, and the arguments as one MessagePack array, for a client
    /// that may call the method.
    pub(crate) fn call(
        &self,
        schema: &'static Schema,
        client: &ClientIdentity,
    ) -> Result<(u32, Vec<u8>), Failure> {
        let permitted = client.permitted(&self.actor, schema)?;
        let (number, method) = encoding::method(schema, &permitted, &self.method)?;
        let arguments = self.arguments.encode(method.arguments);
        let arguments = arguments.map_err(|wrong| encoding::wrong_arguments(method, &wrong))?;
        client.admit()?;
        Ok((number, arguments))
    }
}

impl Arguments<'_> {
    fn encode(&self, parameters: &[Argument]) -> Result<Vec<u8>, String> {
        match self {
            Arguments::Json(values) => match &values[..] {
                [Value::Object(named)] if parameters.len() > 1 => {
                    encoding::named(parameters, named.clone())
                }
                _ => json::arguments::values(parameters, values.clone()),
            },
            &Arguments::MessagePack(count, bytes) => {
                let mut out = Buffer::new();
                match named_values(count, bytes).filter(|_| parameters.len() > 1) {
                    Some(named) => {
                        let values = encoding::in_order(parameters, named, || &[0xC0][..])?;
                        put_array(&mut out, values.len());
                        values.iter().for_each(|value| out.extend(value));
                    }
                    None => {
                        put_array(&mut out, count);
                        out.extend(bytes);
                    }
                }
                Ok(out.as_slice().to_vec())
            }
        }
    }
}

/// The pairs of a map that is the only argument. Its bytes are valid MessagePack.
fn named_values(count: usize, bytes: &[u8]) -> Option<Vec<(String, &[u8])>> {
    let mut reader = Reader::new(bytes);
    let pairs = take_map(&mut reader).ok().filter(|_| count == 1)?;
    let pair = |_| {
        let name = String::decode(&mut reader).ok()?;
        let rest = reader.rest();
        skip(&mut reader).ok()?;
        Some((name, &rest[..rest.len() - reader.rest().len()]))
    };
    (0..pairs).map(pair).collect()
}

/// The answer to a request in its form: a value, which is MessagePack, or a failure.
pub(crate) fn answer(form: Form, outcome: Result<&[u8], &Failure>) -> Vec<u8> {
    match (form, outcome) {
        (Form::Json, Ok(value)) => match json::text(value) {
            Ok(text) => format!("[\"ok\",{text}]").into_bytes(),
            Err(error) => {
                let text = format!("the reply has no form in JSON: {error}");
                answer(form, Err(&Failure::call(CallErrorKind::BadReply, text)))
            }
        },
        (Form::Json, Err(failure)) => {
            let words = ["error".to_owned(), failure.name(), failure.text()];
            Value::from(&words[..]).to_string().into_bytes()
        }
        (Form::MessagePack, outcome) => {
            let mut out = Buffer::new();
            match outcome {
                Ok(value) => {
                    put_array(&mut out, 2);
                    "ok".encode(&mut out);
                    out.extend(value);
                }
                Err(failure) => {
                    put_array(&mut out, 3);
                    "error".encode(&mut out);
                    failure.name().encode(&mut out);
                    failure.text().encode(&mut out);
                }
            }
            out.as_slice().to_vec()
        }
    }
}
