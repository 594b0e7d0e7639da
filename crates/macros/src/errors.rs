//! Collects all errors of one expansion, so that the user sees them together instead of one after
//! the other.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::Error;

/// The errors found so far.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    /// Adds an error that spans all of `what`.
    pub(crate) fn add(&mut self, what: impl ToTokens, text: impl Display) {
        self.add_error(Error::new_spanned(what, text));
    }

    /// Adds an error at `span`.
    pub(crate) fn add_at(&mut self, span: Span, text: impl Display) {
        self.add_error(Error::new(span, text));
    }

    /// Adds an error of the parser.
    pub(crate) fn add_error(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The `compile_error!`s, or `None` if there are no errors.
    pub(crate) fn finish(self) -> Option<TokenStream> {
        self.0.map(|error| error.into_compile_error())
    }
}
