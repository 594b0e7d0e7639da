//! Reports: what is made of the document of a run.

pub(crate) mod columns;
pub(crate) mod escape;
pub(crate) mod layout;
pub(crate) mod matrix;
pub(crate) mod behind;
pub mod text;
pub mod html;
pub mod markdown;
pub mod compare;
pub mod join;
