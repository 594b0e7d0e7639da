//! Reports: what is made of the document of a run.

pub(crate) mod columns;
pub(crate) mod escape;
pub(crate) mod layout;
pub(crate) mod matrix;
pub mod text;
pub mod html;
pub mod compare;
