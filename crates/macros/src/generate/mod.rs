//! The generated code, a module for each kind.

pub(crate) mod fields;
pub(crate) mod message;
mod encoding;
pub(crate) mod reference;
pub(crate) mod schema;
pub(crate) mod handler;
pub(crate) mod implements;
