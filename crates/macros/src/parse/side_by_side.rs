//! `#[wigwag::handler(side_by_side)]` on a call: its handler has a first part with the actor's
//! state, and a future that owns its data.
//!
//! The future must not borrow the actor. Editions differ in what `impl Future` captures by default,
//! so the macro adds the bounds that prevent the capture where the user has left them out.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{
    Attribute, GenericArgument, GenericParam, Ident, ImplItem, ItemImpl, Meta, Path, PathArguments,
    ReturnType, Signature, Type, TypeParamBound, parse_quote,
};

use crate::errors::Errors;
use crate::parse::argument::Argument;
use crate::parse::{kind, method};

const OPTIONS: &str = "#[wigwag::handler] takes `side_by_side` and optionally `cancellable` and \
                       `serial_by = argument`";

/// The options of the attribute.
pub(crate) struct SideBySide {
    /// The argument named as the key.
    key: Option<Ident>,
    /// The future is dropped when the caller waits no longer.
    pub(crate) is_cancellable: bool,
}

impl SideBySide {
    /// Reads the attribute and checks the signature against it. After an error it still returns a
    /// value, because further errors about the signature would hide the first.
    pub(crate) fn read(
        attributes: &[Attribute],
        signature: &Signature,
        errors: &mut Errors,
    ) -> Option<SideBySide> {
        let mut all = attributes.iter().filter(|one| is_handler(one.path()));
        let attribute = all.next()?;
        if let Some(second) = all.next() {
            errors.add(second, "a method takes one #[wigwag::handler]: combine the two");
        }
        if let Meta::Path(_) = &attribute.meta {
            errors.add(attribute, OPTIONS);
            return Some(SideBySide { key: None, is_cancellable: false });
        }
        let (mut found, mut key, mut is_cancellable) = (false, None, false);
        let read = attribute.parse_nested_meta(|option| {
            if option.path.is_ident("side_by_side") && !found {
                found = true;
                return Ok(());
            }
            if option.path.is_ident("cancellable") && !is_cancellable {
                is_cancellable = true;
                return Ok(());
            }
            if option.path.is_ident("serial_by") && key.is_none() {
                key = Some(option.value()?.parse::<Ident>()?);
                return Ok(());
            }
            Err(option.error(OPTIONS))
        });
        if let Err(error) = read {
            errors.add_error(error);
            return Some(SideBySide { key: None, is_cancellable });
        }
        match (found, &key) {
            (true, _) => {}
            (false, None) => errors.add(attribute, OPTIONS),
            (false, Some(key)) => errors.add(
                key,
                "`serial_by` orders calls that otherwise run side by side: write \
                 `side_by_side, serial_by = …`",
            ),
        }
        check(signature, errors);
        Some(SideBySide { key, is_cancellable })
    }

    /// The position of the key among the arguments.
    pub(crate) fn key_at(&self, arguments: &[Argument], errors: &mut Errors) -> Option<usize> {
        let key = self.key.as_ref()?;
        let at = arguments.iter().position(|argument| argument.name == *key);
        if at.is_none() {
            errors.add(
                key,
                format!(
                    "the call has no argument `{key}`: `serial_by` must name one of its arguments"
                ),
            );
        }
        at
    }
}

/// The attributes without this one, which is refused separately on the methods of a trait.
pub(crate) fn without(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes.iter().filter(|one| !is_handler(one.path())).cloned().collect()
}

/// Reports an attribute that `#[wigwag::actor]` did not read.
pub(crate) fn misplaced(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    errors.add_at(
        Span::call_site(),
        "#[wigwag::handler] belongs on a `pub fn` with `self` in an \
         `#[wigwag::actor] impl Type { … }`",
    );
    let errors = errors.finish();
    quote!(#item #errors)
}

fn check(signature: &Signature, errors: &mut Errors) {
    if let Some(word) = &signature.asyncness {
        errors.add(
            word,
            "an `async fn` borrows the actor until it ends: write `fn` with \
             `-> impl Future<Output = …>`, and return `async move { … }`",
        );
        return;
    }
    if awaited(&signature.output).is_some() {
        return;
    }
    const WRONG: &str = "a handler that runs side by side returns a future: write \
                         `-> impl Future<Output = …>`, and return `async move { … }`";
    match &signature.output {
        ReturnType::Type(_, written) => errors.add(written, WRONG),
        ReturnType::Default => errors.add(&signature.ident, WRONG),
    }
}

/// The `R` of `impl Future<Output = R>`.
pub(crate) fn awaited(output: &ReturnType) -> Option<&Type> {
    let ReturnType::Type(_, written) = output else { return None };
    let Type::ImplTrait(open) = kind::inner(written) else { return None };
    open.bounds.iter().find_map(|bound| {
        let TypeParamBound::Trait(bound) = bound else { return None };
        let last = bound.path.segments.last().filter(|last| last.ident == "Future")?;
        let PathArguments::AngleBracketed(given) = &last.arguments else { return None };
        given.args.iter().find_map(|one| match one {
            GenericArgument::AssocType(one) if one.ident == "Output" => Some(&one.ty),
            _ => None,
        })
    })
}

/// The block without the attribute, which was read, and with all bounds on the returned future.
pub(crate) fn desugared(block: &ItemImpl) -> ItemImpl {
    let mut block = block.clone();
    let parameters: Vec<_> = block.generics.params.iter().filter_map(parameter).collect();
    for item in &mut block.items {
        if method::call(item).is_none() {
            continue;
        }
        let ImplItem::Fn(function) = item else { continue };
        let before = function.attrs.len();
        function.attrs.retain(|one| !is_handler(one.path()));
        if function.attrs.len() < before {
            complete(&mut function.sig.output, &parameters);
            function.attrs.push(parse_quote! {
                #[allow(clippy::manual_async_fn, reason = "the future must not borrow the actor")]
            });
        }
    }
    block
}

/// The name of a parameter of a generic type. The compiler wants all of them in `use<…>`, and none of
/// them borrows the actor.
fn parameter(parameter: &GenericParam) -> Option<Ident> {
    match parameter {
        GenericParam::Type(one) => Some(one.ident.clone()),
        GenericParam::Const(one) => Some(one.ident.clone()),
        GenericParam::Lifetime(_) => None,
    }
}

fn complete(output: &mut ReturnType, parameters: &[Ident]) {
    if awaited(output).is_none() {
        return;
    }
    let ReturnType::Type(_, written) = output else { return };
    let Some(open) = open(written) else { return };
    let is_send = |bound: &TypeParamBound| matches!(bound, TypeParamBound::Trait(one) if one.path.is_ident("Send"));
    let (mut sends, mut captures) = (false, false);
    for bound in &open.bounds {
        sends |= is_send(bound);
        captures |= matches!(bound, TypeParamBound::PreciseCapture(_));
    }
    let here = Span::call_site();
    if !sends {
        open.bounds.push(syn::parse_quote_spanned!(here=> ::core::marker::Send));
    }
    if !captures {
        let captured = syn::parse_quote_spanned!(here=> use<#(#parameters),*>);
        open.bounds.push(TypeParamBound::PreciseCapture(captured));
    }
}

/// The `impl …` in a return type.
fn open(written: &mut Type) -> Option<&mut syn::TypeImplTrait> {
    match written {
        Type::Group(group) => open(&mut group.elem),
        Type::Paren(paren) => open(&mut paren.elem),
        Type::ImplTrait(open) => Some(open),
        _ => None,
    }
}

/// Returns true for `handler` and `wigwag::handler`.
fn is_handler(path: &Path) -> bool {
    let names: Vec<_> = path.segments.iter().map(|one| one.ident.to_string()).collect();
    matches!(
        names.iter().map(String::as_str).collect::<Vec<_>>()[..],
        ["handler"] | ["wigwag", "handler"]
    )
}
