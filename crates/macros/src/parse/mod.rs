//! The parser: from the code of the user to the parts of a [`Definition`](definition::Definition).
//!
//! Reading order: `kind` and `comment` are tools, `method` parses one call from a signature, with
//! its `argument`s, its `reply` and its attributes (`former`, `route`, `side_by_side`), and
//! `definition` holds the result.

pub(crate) mod kind;
pub(crate) mod comment;
pub(crate) mod argument;
mod reply;
pub(crate) mod former;
pub(crate) mod route;
pub(crate) mod side_by_side;
pub(crate) mod method;
pub(crate) mod definition;
