//! A method that a client calls, with arguments and replies in JSON.

use std::sync::Arc;

use hyper::StatusCode;
use serde_json::{Map, Value};
use wigwag::CallError;
use wigwag::proxy::{ProxyCall, ProxyMethod, ProxyReply};
use wigwag_describe::named::{Mismatch, Names};

use crate::http::problem::Problem;
use crate::http::{Outcome, json_response};

/// A method that a client has found.
pub(crate) struct KnownCall {
    pub(crate) method: ProxyMethod,
    /// The names of the structs and enums of the actor, if an argument has any.
    names: Option<Arc<Names>>,
    pub(crate) reply: ReplyForm,
    /// The version of the exports at that time.
    version: u64,
}

/// How the replies of a method become JSON.
#[derive(Clone)]
pub(crate) struct ReplyForm {
    /// The names of the structs and enums within it, if there are any.
    names: Option<Arc<Names>>,
    /// The type of the reply; of a stream, that of its items.
    kind: &'static str,
}

impl KnownCall {
    pub(crate) fn new(method: ProxyMethod, version: u64) -> KnownCall {
        let schema = method.schema();
        let names = Arc::new(Names::new(&method.described().types));
        let kind = match schema.is_stream {
            true => schema.reply.strip_prefix("Stream<").and_then(|rest| rest.strip_suffix('>')),
            false => None,
        };
        let kind = kind.unwrap_or(schema.reply);
        let reply = ReplyForm { names: names.differ(kind).then(|| names.clone()), kind };
        let differ = schema.arguments.iter().any(|argument| names.differ(argument.kind));
        KnownCall { method, names: differ.then_some(names), reply, version }
    }

    /// True while the path leads to the same method.
    pub(crate) fn holds(&self, version: u64) -> bool {
        self.version == version && self.method.is_running()
    }

    /// A call with arguments in JSON.
    pub(crate) fn arguments(&self, mut arguments: Value) -> Result<ProxyCall, Problem> {
        let parameters = self.method.schema().arguments;
        if let Some(names) = &self.names {
            let wrong =
                |parameter: &str, Mismatch(text)| bad_arguments(&format!("{parameter}: {text}"));
            let convert = |at: usize, value: &mut Value| match parameters.get(at) {
                Some(parameter) => {
                    let named = names.unname(parameter.kind, value.take());
                    *value = named.map_err(|mismatch| wrong(parameter.name, mismatch))?;
                    Ok::<_, Problem>(())
                }
                None => Ok(()),
            };
            let is_one = parameters.len() == 1;
            let has_its_name = |named: &Map<String, Value>| {
                named.len() == 1 && named.contains_key(parameters[0].name)
            };
            match &mut arguments {
                Value::Array(values) => {
                    values.iter_mut().enumerate().try_for_each(|(at, value)| convert(at, value))?;
                }
                Value::Object(named) if !is_one || has_its_name(named) => {
                    for (at, parameter) in parameters.iter().enumerate() {
                        if let Some(value) = named.get_mut(parameter.name) {
                            convert(at, value)?;
                        }
                    }
                }
                value if is_one => {
                    convert(0, value)?;
                    arguments = Value::Array(vec![arguments]);
                }
                _ => {}
            }
        }
        Ok(self.method.call_json(arguments)?)
    }
}

impl ReplyForm {
    /// The value as a text of JSON.
    pub(crate) fn json(&self, reply: &ProxyReply) -> Result<String, CallError> {
        match &self.names {
            None => reply.json(),
            Some(names) => Ok(names.name(self.kind, reply.value()?).to_string()),
        }
    }

    /// The answer to an ask: that of a `Result` is its value, or a problem with its error.
    pub(crate) fn answer(&self, reply: &ProxyReply) -> Outcome {
        let json = match &self.names {
            None => reply.json()?,
            Some(names) => match names.name(self.kind, reply.value()?) {
                Value::Object(mut tags) if self.kind.starts_with("Result<") && tags.len() == 1 => {
                    match (tags.remove("Ok"), tags.remove("Err")) {
                        (Some(value), _) => value.to_string(),
                        (_, Some(error)) => return Err(Problem::returned(error)),
                        _ => Value::Object(tags).to_string(),
                    }
                }
                value => value.to_string(),
            },
        };
        Ok(json_response(json))
    }
}

pub(crate) fn bad_arguments(detail: &str) -> Problem {
    let hint = "GET /{actor} has the arguments of the method";
    Problem::client(StatusCode::BAD_REQUEST, "BadArguments", detail, hint)
}
