//! A method that a client calls, with arguments and replies in JSON.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::StatusCode;
use serde_json::{Map, Value};
use wigwag::proxy::{ProxyCall, ProxyMethod, ProxyReply};
use wigwag_describe::named::{Form, Mismatch, Names, Reply};

use crate::http::problem::Problem;
use crate::http::{Outcome, json_response};

/// A method that a client has found.
pub(crate) struct KnownCall {
    pub(crate) method: ProxyMethod,
    pub(crate) forms: Arc<Forms>,
    /// The version of the exports at that time.
    version: u64,
}

/// How the values of a method are written in JSON.
pub(crate) struct Forms {
    /// The names of the structs and enums of the actor, if an argument has any.
    arguments: Option<Arc<Names>>,
    /// Of the reply; of a stream, that of its items.
    reply: Form,
}

/// The forms of all methods that were called, by the addresses of their schemas: as many as the program
/// has methods. To read those of an actor costs far more than a call.
#[derive(Default)]
pub(crate) struct FormsTable(Mutex<HashMap<usize, Arc<Forms>>>);

impl FormsTable {
    fn of(&self, method: &ProxyMethod) -> Arc<Forms> {
        let address = std::ptr::from_ref(method.schema()).addr();
        // Complete between two calls, so a panic elsewhere has broken nothing.
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.entry(address).or_insert_with(|| Arc::new(Forms::new(method))).clone()
    }
}

impl Forms {
    fn new(method: &ProxyMethod) -> Forms {
        let schema = method.schema();
        // The client may call the method, so its types are described.
        let names = Arc::new(Names::new(&method.described().types));
        let item = schema.reply.strip_prefix("Stream<").and_then(|rest| rest.strip_suffix('>'));
        let kind = item.filter(|_| schema.is_stream).unwrap_or(schema.reply);
        let reply = names.form(kind);
        let differ = schema.arguments.iter().any(|argument| names.differ(argument.kind));
        Forms { arguments: differ.then_some(names), reply }
    }

    /// The answer to an ask: that of a `Result` is its value, or a problem with its error.
    pub(crate) fn answer(&self, reply: &ProxyReply) -> Outcome {
        match self.reply.reply(reply.message_pack()).map_err(no_json)? {
            Reply::Value(json) => Ok(json_response(json)),
            // The text was written as JSON.
            Reply::Error(json) => {
                Err(Problem::returned(serde_json::from_str(&json).unwrap_or_default()))
            }
        }
    }

    /// An item of a stream as a text of JSON.
    pub(crate) fn item(&self, item: &ProxyReply) -> Result<String, Problem> {
        self.reply.text(item.message_pack()).map_err(no_json)
    }
}

impl KnownCall {
    pub(crate) fn new(method: ProxyMethod, version: u64, forms: &FormsTable) -> KnownCall {
        let forms = forms.of(&method);
        KnownCall { method, forms, version }
    }

    /// True while the path leads to the same method.
    pub(crate) fn holds(&self, version: u64) -> bool {
        self.version == version && self.method.is_running()
    }

    /// A call with arguments in JSON.
    pub(crate) fn arguments(&self, arguments: Value) -> Result<ProxyCall, Problem> {
        self.ordered(self.method.in_order(arguments)?)
    }

    /// A call with arguments by their names, none of which is the argument itself.
    pub(crate) fn named(&self, arguments: Map<String, Value>) -> Result<ProxyCall, Problem> {
        self.ordered(self.method.by_name(arguments)?)
    }

    fn ordered(&self, mut values: Vec<Value>) -> Result<ProxyCall, Problem> {
        if let Some(names) = &self.forms.arguments {
            for (value, parameter) in values.iter_mut().zip(self.method.schema().arguments) {
                let unnamed = names.unname(parameter.kind, value.take());
                *value = unnamed.map_err(|Mismatch(text)| {
                    bad_arguments(&format!("{}: {text}", parameter.name))
                })?;
            }
        }
        Ok(self.method.call_values(values)?)
    }
}

/// The problem of a reply that cannot be written, with the reason in words.
fn no_json(why: String) -> Problem {
    Problem::service("BadReply", &format!("the reply has no form in JSON: {why}"))
}

pub(crate) fn bad_arguments(detail: &str) -> Problem {
    let hint = "GET /{actor} has the arguments of the method";
    Problem::client(StatusCode::BAD_REQUEST, "BadArguments", detail, hint)
}
