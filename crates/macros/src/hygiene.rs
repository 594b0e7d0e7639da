//! The spans and names of generated code.
//!
//! Generated code points at the place in the user's code that it stands for, so that the compiler
//! reports an error there. Its own names have the hygiene of the macro, and the user's code cannot
//! shadow them.

use proc_macro2::Span;
use syn::Ident;

/// The place of a written type, with the hygiene of the macro.
pub(crate) fn mixed_site_at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

/// A place in the user's code with the hygiene of the call site, for generated names that the
/// user's code refers to.
pub(crate) fn call_site_at(span: Span) -> Span {
    Span::call_site().located_at(span)
}

/// The name of a local variable in generated code, which an argument of the user's method cannot
/// shadow.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
