//! A call from the name of a method and arguments in JSON.

use serde_json::{Map, Value};
use wigwag_actor::schema::{FIRST_METHOD, Method, Schema};
use wigwag_actor::{Argument, CallErrorKind};

use super::failure::Failure;
use crate::access::Permitted;
use crate::json;

/// The method with this name, or with this former name, and its number, for a caller that may call it.
///
/// # Errors
/// `NoSuchMethod`, also if the caller may not call it.
pub(crate) fn method(
    schema: &'static Schema,
    permitted: &Permitted,
    name: &str,
) -> Result<(u32, &'static Method), Failure> {
    let is_it = |method: &&Method| method.name == name || method.former.contains(&name);
    let mut numbered = (FIRST_METHOD..).zip(schema.methods);
    let found = numbered.find(|(number, method)| is_it(method) && permitted.contains(*number));
    found.ok_or_else(|| {
        let text = format!("{} has no method {name:?}", schema.name);
        Failure::call(CallErrorKind::NoSuchMethod, text)
    })
}

/// The failure of a call with arguments that the method does not take.
pub(crate) fn wrong_arguments(method: &Method, wrong: &str) -> Failure {
    let text = format!("{}: {wrong}", signature(method));
    Failure::call(CallErrorKind::BadArguments, text)
}

/// A method as text, for errors.
fn signature(method: &Method) -> String {
    let parameters: Vec<String> =
        method.arguments.iter().map(|one| format!("{}: {}", one.name, one.kind)).collect();
    format!("{}({})", method.name, parameters.join(", "))
}

/// The arguments by their names, as a MessagePack array.
pub(crate) fn named(parameters: &[Argument], named: Map<String, Value>) -> Result<Vec<u8>, String> {
    let named = named.into_iter().collect();
    json::arguments::values(parameters, in_order(parameters, named, || Value::Null)?)
}

/// True if this is the name of a parameter, or one of its former names.
pub(crate) fn is_named(parameter: &Argument, name: &str) -> bool {
    name == parameter.name || parameter.former.contains(&name)
}

/// The named values in the order of the parameters; one that is missing is `none`, which the actor
/// accepts for an option only.
pub(crate) fn in_order<T>(
    parameters: &[Argument],
    mut named: Vec<(String, T)>,
    none: impl Fn() -> T,
) -> Result<Vec<T>, String> {
    let mut values = Vec::new();
    for parameter in parameters {
        let at = named.iter().position(|(name, _)| is_named(parameter, name));
        match at.map(|at| named.swap_remove(at).1) {
            Some(value) => values.push(value),
            None if parameter.kind.starts_with("Option<") => values.push(none()),
            None => return Err(format!("the argument {:?} is missing", parameter.name)),
        }
    }
    match named.first() {
        Some((name, _)) => Err(format!("it has no argument {name:?}")),
        None => Ok(values),
    }
}
