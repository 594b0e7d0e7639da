//! `#[actor]` on an `impl` block: reads it, and puts beside it what makes an actor of the type.
//! A `trait` goes on to `interface`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    FnArg, Ident, ImplItem, ImplItemFn, Item, ItemImpl, PathArguments, Type, Visibility,
    parse_quote,
};

use crate::definition::Definition;
use crate::errors::Errors;
use crate::method::Method;
use crate::{handler, interface, kind, message, reference, side_by_side};

/// The item as it was, and what belongs to it, or the errors.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let custom_life = custom_life(options, &mut errors);
    let mut item = item;
    let made = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Impl(block)) => {
            let written = side_by_side::desugared(&block);
            item = written.to_token_stream();
            from_impl(&block, &written, custom_life.is_some(), &mut errors)
        }
        Ok(Item::Trait(block)) => {
            if let Some(life) = custom_life {
                errors.add(life, "an interface has no life of its own: remove `life`");
            }
            Some(interface::expand(&block, &mut errors))
        }
        Ok(_) => {
            errors.add_at(
                Span::call_site(),
                "#[wigwag::actor] stands on `impl Type { … }` or on a `trait` without code",
            );
            None
        }
        Err(error) => {
            errors.add_error(error);
            None
        }
    };
    match errors.finish() {
        Some(errors) => quote!(#item #errors),
        None => made.unwrap_or(item),
    }
}

/// The option `life`: the type implements `wigwag::Life` itself.
fn custom_life(options: TokenStream, errors: &mut Errors) -> Option<TokenTree> {
    let mut options = options.into_iter();
    let first = options.next()?;
    let rest = options.next();
    if first.to_string() != "life" || rest.is_some() {
        let wrong = if first.to_string() == "life" { rest } else { Some(first) };
        errors.add(
            wrong,
            "#[wigwag::actor] takes one option, `life`: the type then implements `wigwag::Life` \
             itself",
        );
        return None;
    }
    Some(first)
}

/// `written` is the block as it is handed on.
fn from_impl(
    block: &ItemImpl,
    written: &ItemImpl,
    custom_life: bool,
    errors: &mut Errors,
) -> Option<TokenStream> {
    if let Some((path, _)) = &block.trait_ {
        errors.add(
            path,
            "the calls of an actor are its own public methods: put #[wigwag::actor] on \
             `impl Type { … }`, without a trait",
        );
        return None;
    }
    let name = name_of(block, errors)?;
    let self_type = block.self_ty.to_token_stream();
    let methods: Vec<_> = block
        .items
        .iter()
        .filter_map(call)
        .map(|one| Method::read(&one.attrs, &one.sig, &self_type, errors))
        .collect();
    if methods.is_empty() {
        errors.add(
            &name,
            "an actor needs a call at least: write a `pub fn` that takes `&mut self` or `&self`",
        );
    }
    let visibility = parse_quote!(pub);
    let definition = Definition::new(name, visibility, self_type, methods, errors);
    let parts = [
        quote! {
            #[allow(unreachable_pub, reason = "`pub` is what makes a call of a method")]
            #written
        },
        message::expand(&definition),
        reference::expand(&definition),
        handler::interface(&definition),
        if custom_life { TokenStream::new() } else { handler::life(&definition) },
        handler::actor(&definition),
    ];
    Some(parts.into_iter().collect())
}

/// True for what [`call`] finds.
pub(crate) fn is_call(item: &ImplItem) -> bool {
    call(item).is_some()
}

/// A public method; private ones and functions without `self` are the type's own affair.
fn call(item: &ImplItem) -> Option<&ImplItemFn> {
    let ImplItem::Fn(function) = item else {
        return None;
    };
    let is_public = matches!(function.vis, Visibility::Public(_));
    let has_self = matches!(function.sig.inputs.first(), Some(FnArg::Receiver(_)));
    (is_public && has_self).then_some(function)
}

/// The last word of the type's path: `Counter` of `impl bank::Counter`.
fn name_of(block: &ItemImpl, errors: &mut Errors) -> Option<Ident> {
    const GENERIC: &str = "an actor cannot be generic, because its interface is one list of calls: \
                           wrap the type that is meant in a struct of its own";
    if let Some(first) = block.generics.params.first() {
        errors.add(first, GENERIC);
        return None;
    }
    let Type::Path(path) = kind::inner(&block.self_ty) else {
        errors.add(&block.self_ty, "an actor is a struct or an enum of your own");
        return None;
    };
    let last = path.path.segments.last()?;
    if !matches!(last.arguments, PathArguments::None) {
        errors.add(&last.arguments, GENERIC);
        return None;
    }
    Some(last.ident.clone())
}
