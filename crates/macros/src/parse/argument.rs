//! One argument of a call, parsed from a parameter of the method.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Ident, Pat, PatType, Type};

use crate::errors::Errors;
use crate::hygiene::call_site_at;
use crate::parse::definition::Reach;
use crate::parse::former;
use crate::parse::kind::{self, Unsupported};

const CFG_REFUSED: &str = "a call has the same arguments in every build, because they are sent \
                           by their positions: put the `cfg` on the method, and write one method \
                           for each case";

/// One argument of a call.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    /// Its names in earlier versions.
    pub(crate) former: Vec<String>,
    /// The type in the message.
    pub(crate) kind: TokenStream,
    /// Where the type is written.
    pub(crate) span: Span,
    pub(crate) form: ArgumentForm,
    /// True for an `Option`, which may be missing at the end.
    pub(crate) is_option: bool,
}

/// How the handler takes an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentForm {
    Owned,
    /// `&str`, a `String` in the message.
    Text,
    /// `&[u8]`, `Bytes` in the message.
    Bytes,
}

impl Argument {
    pub(super) fn read(
        typed: &PatType,
        is_async: bool,
        self_type: &TokenStream,
        reach: Reach,
        errors: &mut Errors,
    ) -> Option<Argument> {
        if let Some(cfg) = typed.attrs.iter().find(|one| is_cfg(one)) {
            errors.add(cfg, CFG_REFUSED);
        }
        let mut name = match &*typed.pat {
            Pat::Ident(plain) if plain.by_ref.is_none() && plain.subpat.is_none() => {
                plain.ident.clone()
            }
            pattern => {
                errors.add(
                    pattern,
                    "an argument needs a plain name for callers and the schema: destructure it in \
                     the body with `let`",
                );
                return None;
            }
        };
        name.set_span(call_site_at(name.span()));
        let written = kind::inner(&typed.ty);
        let form = borrowed_form(written);
        if form != ArgumentForm::Owned && is_async {
            let (borrowed, owned) = match form {
                ArgumentForm::Bytes => ("&[u8]", "Bytes"),
                _ => ("&str", "String"),
            };
            errors.add(
                written,
                format!(
                    "an async handler outlives the bytes it was read from: take {owned} instead \
                     of {borrowed}"
                ),
            );
        }
        let kind = match form {
            ArgumentForm::Text => quote!(::std::string::String),
            ArgumentForm::Bytes => quote!(::wigwag::__private::Bytes),
            ArgumentForm::Owned => {
                check_owned(written, reach, errors);
                kind::without_self(written.to_token_stream(), self_type)
            }
        };
        Some(Argument {
            former: former::read(&typed.attrs, &name, errors),
            name,
            kind,
            span: written.span(),
            form,
            is_option: kind::is_option(written),
        })
    }

    /// The type in the message, where it is encoded or decoded.
    pub(crate) fn payload(&self) -> TokenStream {
        kind::payload(&self.kind, self.span)
    }

    /// The type in the schema; it is the same for borrowed and owned texts.
    pub(crate) fn spelled(&self) -> String {
        match self.form {
            ArgumentForm::Text => "String".into(),
            ArgumentForm::Bytes => "Bytes".into(),
            ArgumentForm::Owned => kind::spelled(self.kind.clone()),
        }
    }
}

/// Returns true for `&This<…>`, the actor's access to itself.
pub(super) fn is_this(written: &Type) -> bool {
    let Type::Reference(reference) = kind::inner(written) else { return false };
    let Type::Path(path) = kind::inner(&reference.elem) else { return false };
    reference.mutability.is_none()
        && path.path.segments.last().is_some_and(|last| last.ident == "This")
}

/// How a plain handler takes the type: `&str` and `&[u8]` may be borrowed.
fn borrowed_form(written: &Type) -> ArgumentForm {
    let Type::Reference(reference) = written else {
        return ArgumentForm::Owned;
    };
    if reference.lifetime.is_some() || reference.mutability.is_some() {
        return ArgumentForm::Owned;
    }
    let is = |kind: &Type, name: &str| matches!(kind, Type::Path(path) if path.path.is_ident(name));
    match kind::inner(&reference.elem) {
        text if is(text, "str") => ArgumentForm::Text,
        Type::Slice(slice) if is(&slice.elem, "u8") => ArgumentForm::Bytes,
        _ => ArgumentForm::Owned,
    }
}

fn check_owned(written: &Type, reach: Reach, errors: &mut Errors) {
    match reach.unsupported(written) {
        Some(Unsupported::Borrowed) if reach == Reach::Local => errors.add(
            written,
            "an argument waits in a mailbox, so it must own its data: take an owned type, or a \
             `&'static` one (only &str and &[u8] can be lent to plain handlers)",
        ),
        Some(Unsupported::Opaque) if reach == Reach::Local => errors.add(
            written,
            "an argument needs a type that the message can name: take a `Box<dyn …>` instead of \
             an `impl …`",
        ),
        Some(Unsupported::Borrowed) => errors.add(
            written,
            "an argument waits in a mailbox and may come from another process, so it must own its \
             data: take an owned type (only &str and &[u8] can be lent to plain handlers)",
        ),
        Some(Unsupported::Opaque) => errors.add(
            written,
            "an argument needs one type that both ends know: name it instead of `impl` or `dyn`",
        ),
        None => {}
    }
}

fn is_cfg(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}
