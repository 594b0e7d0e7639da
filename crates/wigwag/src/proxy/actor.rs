//! An exported actor, and its methods, as a client without a session sees them.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use wigwag_actor::reply::owner::CallGate;
use wigwag_actor::schema::Description;
use wigwag_actor::{CallError, Exported, Method};
use wigwag_wire::{Buffer, Encode};

use super::call::ProxyCall;
use super::{Proxy, encoding};
use crate::access::Permitted;
use crate::json;
use crate::send::described::Described;

/// An exported actor as the client of a [`Proxy`] sees it.
// One count for all of it: calls clone it, and only the counts of the client's own are not shared with
// other processors.
#[derive(Clone)]
pub struct ProxyActor(pub(super) Arc<FoundActor>);

pub(super) struct FoundActor {
    pub(super) proxy: Proxy,
    pub(super) actor: Arc<dyn Exported>,
    pub(super) target: Arc<str>,
    pub(super) permitted: Permitted,
}

impl ProxyActor {
    /// The name under which it is exported.
    pub fn name(&self) -> &str {
        &self.0.target
    }

    /// False if the actor has stopped: the name may lead to another one since.
    pub fn is_running(&self) -> bool {
        !self.0.actor.is_stopped()
    }

    /// The interface of the actor, without the methods that the client may not call.
    pub fn described(&self) -> Described {
        let mut out = Buffer::new();
        let gate = PermittedGate(&self.0.permitted);
        let schema = self.0.actor.schema();
        Description { schema, with_comments: true, gate: Some(&gate) }.encode(&mut out);
        Described::read(out.as_slice()).expect("a description of this release is readable")
    }

    /// The methods that the client may call.
    pub fn methods(&self) -> impl Iterator<Item = ProxyMethod> {
        let schema = self.0.actor.schema();
        let names = schema.methods.iter().map(|method| method.name);
        names.filter_map(|name| self.method(name).ok())
    }

    /// The method with this name, or with this name in an earlier version.
    ///
    /// # Errors
    /// [`NoSuchMethod`](crate::CallErrorKind::NoSuchMethod), also if the client may not call it.
    pub fn method(&self, name: &str) -> Result<ProxyMethod, CallError> {
        let found = encoding::method(self.0.actor.schema(), &self.0.permitted, name);
        let (number, method) = found.map_err(|failure| failure.into_error(&self.0.target))?;
        Ok(ProxyMethod { actor: self.clone(), number, method })
    }
}

impl fmt::Debug for ProxyActor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyActor").field("name", &self.0.target).finish_non_exhaustive()
    }
}

/// Lets the methods through that the client may call.
struct PermittedGate<'a>(&'a Permitted);

impl CallGate for PermittedGate<'_> {
    fn permits(&self, method: u32) -> bool {
        self.0.contains(method)
    }

    fn admits(&self) -> bool {
        true
    }

    fn is_counting(&self) -> bool {
        false
    }
}

/// A method of a [`ProxyActor`].
#[derive(Clone, Debug)]
pub struct ProxyMethod {
    pub(super) actor: ProxyActor,
    pub(super) number: u32,
    pub(super) method: &'static Method,
}

impl ProxyMethod {
    /// The interface of its actor.
    pub fn described(&self) -> Described {
        self.actor.described()
    }

    /// False if its actor has stopped.
    pub fn is_running(&self) -> bool {
        self.actor.is_running()
    }

    /// The method as its actor's schema has it.
    pub fn schema(&self) -> &'static Method {
        self.method
    }

    /// The values of the arguments, in their order: an array has them so. An object has them by their
    /// names, where one for an [`Option`] may be missing; for a method with one argument, an object that
    /// does not have exactly its name is the argument itself, and so is every other value.
    ///
    /// # Errors
    /// [`BadArguments`](crate::CallErrorKind::BadArguments), which names what is missing or unknown.
    pub fn in_order(&self, arguments: Value) -> Result<Vec<Value>, CallError> {
        let parameters = self.method.arguments;
        let is_one = parameters.len() == 1;
        let has_its_name = |named: &Map<String, Value>| {
            named.len() == 1 && named.keys().all(|name| encoding::is_named(&parameters[0], name))
        };
        match arguments {
            Value::Array(values) => Ok(values),
            Value::Object(named) if parameters.is_empty() && named.is_empty() => Ok(Vec::new()),
            Value::Object(named) if !is_one || has_its_name(&named) => self.by_name(named),
            Value::Null if parameters.is_empty() => Ok(Vec::new()),
            value => Ok(vec![value]),
        }
    }

    /// The values of the arguments, in their order, where all of them have names, as in a query: also the
    /// only argument of a method. One for an [`Option`] may be missing.
    ///
    /// # Errors
    /// [`BadArguments`](crate::CallErrorKind::BadArguments), which names what is missing or unknown.
    pub fn by_name(&self, named: Map<String, Value>) -> Result<Vec<Value>, CallError> {
        if named.is_empty() && self.method.arguments.is_empty() {
            return Ok(Vec::new());
        }
        let named = named.into_iter().collect();
        let ordered = encoding::in_order(self.method.arguments, named, || Value::Null);
        ordered.map_err(|wrong| self.wrong(&wrong))
    }

    /// A call with the values of its arguments [in order](Self::in_order).
    ///
    /// # Errors
    /// [`BadArguments`](crate::CallErrorKind::BadArguments), which says what is wrong.
    pub fn call_values(&self, values: Vec<Value>) -> Result<ProxyCall, CallError> {
        let encoded = json::arguments::values(self.method.arguments, values);
        let arguments = encoded.map_err(|wrong| self.wrong(&wrong))?;
        Ok(ProxyCall { actor: self.actor.clone(), number: self.number, arguments })
    }

    /// A call with arguments in JSON, by their names or [in order](Self::in_order).
    ///
    /// # Errors
    /// [`BadArguments`](crate::CallErrorKind::BadArguments), which says what is wrong.
    pub fn call_json(&self, arguments: Value) -> Result<ProxyCall, CallError> {
        self.call_values(self.in_order(arguments)?)
    }

    /// The value of an argument that is given as a text, as in the query of a URL: a `String`, a `char`,
    /// a `Box<str>`, `Arc<str>` or `Cow<str>`, and an `Option` of one, is the text as it is; others are
    /// JSON.
    pub fn value_of_text(&self, argument: &str, text: &str) -> Value {
        let mut parameters = self.method.arguments.iter();
        let found = parameters.find(|one| encoding::is_named(one, argument));
        let kind = found.map_or("", |one| one.kind);
        match json::arguments::is_text_or_option(kind) {
            true => Value::String(text.to_owned()),
            false => json::arguments::word_value(kind, text),
        }
    }

    fn wrong(&self, what: &str) -> CallError {
        encoding::wrong_arguments(self.method, what).into_error(&self.actor.0.target)
    }
}
