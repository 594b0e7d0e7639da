//! The attribute macros `#[actor]`, `#[handler]` and `#[main]`, and the derive `Message`.
//!
//! Use them through the crate `wigwag`; the generated code refers to it.
//!
//! Reading order of the modules: `errors` and `hygiene` are tools, `parse` reads what the user has
//! written, and `generate` has a module for each kind of generated code. `actor` and `interface` are
//! the two forms of `#[actor]`, `derive` and `entry` the other two macros. The documentation of
//! each macro is a page in `docs`.
//!
//! Generated code names all types by absolute paths through `::wigwag::__private`. Its spans are
//! those of the user's code, but with the hygiene of the macro, so the lints of the user's crate do
//! not apply to it.
#![forbid(unsafe_code)]

mod errors;
mod hygiene;
mod parse;
mod generate;
mod interface;
mod actor;
mod derive;
mod entry;

use proc_macro::TokenStream;

#[doc = include_str!("../docs/actor.md")]
#[proc_macro_attribute]
pub fn actor(options: TokenStream, item: TokenStream) -> TokenStream {
    actor::expand(options.into(), item.into()).into()
}

#[doc = include_str!("../docs/handler.md")]
#[proc_macro_attribute]
pub fn handler(_: TokenStream, item: TokenStream) -> TokenStream {
    parse::side_by_side::misplaced(item.into()).into()
}

#[doc = include_str!("../docs/was.md")]
#[proc_macro_attribute]
pub fn was(_: TokenStream, item: TokenStream) -> TokenStream {
    parse::former::misplaced(item.into()).into()
}

#[doc = include_str!("../docs/main.md")]
#[proc_macro_attribute]
pub fn main(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::expand(options.into(), item.into()).into()
}

#[doc = include_str!("../docs/message.md")]
#[proc_macro_derive(Message, attributes(message))]
pub fn message_derive(item: TokenStream) -> TokenStream {
    derive::expand(item.into()).into()
}
