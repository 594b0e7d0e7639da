//! The reply of a call, parsed from the return type of the method or from the parameter that answers
//! later.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{GenericArgument, Ident, PathArguments, ReturnType, Type};

use crate::errors::Errors;
use crate::parse::definition::Reach;
use crate::parse::kind::{self, Unsupported};

/// `Responder<R>` or `Yield<R>`: the reply as a value.
pub(super) struct DeferredReply<'t> {
    pub(super) name: &'static str,
    pub(super) reply: &'t Type,
}

impl DeferredReply<'_> {
    pub(super) fn read(written: &Type) -> Option<DeferredReply<'_>> {
        let Type::Path(path) = kind::inner(written) else { return None };
        let last = path.path.segments.last()?;
        let name = ["Responder", "Yield"].into_iter().find(|name| last.ident == name)?;
        let PathArguments::AngleBracketed(given) = &last.arguments else { return None };
        match given.args.first()? {
            GenericArgument::Type(reply) if given.args.len() == 1 => {
                Some(DeferredReply { name, reply })
            }
            _ => None,
        }
    }

    /// Refuses a second way to answer: a handler with a deferred reply returns nothing.
    pub(super) fn check(&self, is_side_by_side: bool, output: &ReturnType, errors: &mut Errors) {
        let name = self.name;
        if is_side_by_side {
            errors.add(
                self.reply,
                format!(
                    "a handler that runs side by side answers when its future ends: remove \
                     `{name}<…>`, and return the answer from the future"
                ),
            );
        } else if let ReturnType::Type(_, written) = output {
            errors.add(
                written,
                format!("a handler that takes `{name}<…>` answers through it: return nothing"),
            );
        }
    }
}

pub(super) fn read_reply(
    output: &ReturnType,
    name: &Ident,
    self_type: &TokenStream,
    reach: Reach,
    errors: &mut Errors,
) -> (TokenStream, Span) {
    match output {
        ReturnType::Type(_, written) => read_type(written, self_type, reach, errors),
        ReturnType::Default => (quote!(()), name.span()),
    }
}

pub(super) fn read_type(
    written: &Type,
    self_type: &TokenStream,
    reach: Reach,
    errors: &mut Errors,
) -> (TokenStream, Span) {
    match reach.unsupported(written) {
        Some(Unsupported::Borrowed) => errors.add(
            written,
            "a reply leaves the actor, so it must own its data: return an owned type",
        ),
        Some(Unsupported::Opaque) => errors.add(
            written,
            "a reply needs one type that both ends know: name it instead of `impl` or `dyn`",
        ),
        None => {}
    }
    let reply = kind::without_self(written.to_token_stream(), self_type);
    (reply, written.span())
}
