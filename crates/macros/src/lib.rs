//! The attribute macros `#[actor]` and `#[main]`, and the derive `Message`.

use proc_macro::TokenStream;

/// Placeholder until written.
#[proc_macro_attribute]
pub fn actor(_attributes: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// Placeholder until written.
#[proc_macro_attribute]
pub fn main(_attributes: TokenStream, item: TokenStream) -> TokenStream {
    item
}

/// Placeholder until written.
#[proc_macro_derive(Message)]
pub fn message(_item: TokenStream) -> TokenStream {
    TokenStream::new()
}
