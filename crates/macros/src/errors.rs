//! Errors of one expansion, all of them: whoever mends one should not find the next one afterwards.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::Error;

/// What was found wrong so far.
#[derive(Default)]
pub(crate) struct Errors(Option<Error>);

impl Errors {
    /// Notes an error about `what`, all of it.
    pub(crate) fn add(&mut self, what: impl ToTokens, text: impl Display) {
        self.add_error(Error::new_spanned(what, text));
    }

    /// Notes an error at `span`.
    pub(crate) fn add_at(&mut self, span: Span, text: impl Display) {
        self.add_error(Error::new(span, text));
    }

    /// Notes an error of the parser's.
    pub(crate) fn add_error(&mut self, error: Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The `compile_error!`s; `None` when all is well.
    pub(crate) fn finish(self) -> Option<TokenStream> {
        self.0.map(|error| error.into_compile_error())
    }
}
