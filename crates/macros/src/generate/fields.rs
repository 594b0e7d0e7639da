//! Decoding of values in a positional array, for arguments and for fields.
//!
//! Options at the end may be missing, because the sender may be older than the receiver; any other
//! missing value is an error.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Ident;

use crate::hygiene::mixed_site_at;

/// Code that refuses an array of fewer than `required` values; empty if none is required.
pub(crate) fn check(count: &Ident, required: usize, noun: &str) -> TokenStream {
    if required == 0 {
        return TokenStream::new();
    }
    let plural = if required == 1 { "" } else { "s" };
    let expected = format!("{required} {noun}{plural}");
    quote! {
        if #count < #required {
            return ::core::result::Result::Err(::wigwag::__private::DecodeError::OutOfRange {
                expected: #expected,
            });
        }
    }
}

/// Code that reads one value with `read`. If `place` is given, the value may be missing: it is
/// `None` if the array is no longer than that.
pub(crate) fn take(read: TokenStream, place: Option<(usize, &Ident)>) -> TokenStream {
    match place {
        None => read,
        Some((at, count)) => quote! {
            if #count > #at { #read } else { ::core::option::Option::None }
        },
    }
}

/// Code that reads a value of type `kind`, which is written at `span`.
pub(crate) fn read(reader: &Ident, kind: &TokenStream, span: Span) -> TokenStream {
    quote_spanned! {mixed_site_at(span)=>
        <#kind as ::wigwag::__private::Decode<'_>>::decode(#reader)?
    }
}
