//! The interface of an actor as documents for other programs, and its values as JSON with names.
//!
//! Everything is made of what an actor says of itself, a [`Described`](wigwag::dynamic::Described):
//! the command `wigwag describe` prints [JSON Schema](json_schema) and [AsyncAPI](asyncapi), and the
//! HTTP gateway serves [OpenAPI](openapi) and values in their [named](named::Names) form.
#![forbid(unsafe_code)]

pub mod kind;
pub mod forms;
pub mod definitions;
pub mod json_schema;
pub mod asyncapi;
pub mod openapi;
pub mod named;

/// The signature of a method as text.
pub fn signature(method: &str, parameters: &[(String, String)]) -> String {
    let parameters: Vec<String> =
        parameters.iter().map(|(name, kind)| format!("{name}: {kind}")).collect();
    format!("{method}({})", parameters.join(", "))
}
