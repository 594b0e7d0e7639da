//! `#[actor]` on an `impl` block: reads the block and adds the code that makes the type an actor. A
//! `trait` is passed on to `interface`.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    FnArg, Ident, ImplItem, ImplItemFn, Item, ItemImpl, PathArguments, Type, Visibility,
    parse_quote,
};

use crate::definition::Definition;
use crate::errors::Errors;
use crate::method::Method;
use crate::{former, handler, interface, kind, message, reference, side_by_side};

/// Returns the item unchanged and the code that belongs to it, or the errors.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let custom_life = custom_life(options, &mut errors);
    let mut item = item;
    let made = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Impl(block)) => {
            let written = former::without_in_impl(side_by_side::desugared(&block));
            item = written.to_token_stream();
            from_impl(&block, &written, custom_life.is_some(), &mut errors)
        }
        Ok(Item::Trait(block)) => {
            if let Some(life) = custom_life {
                errors.add(life, "an interface does not implement `Life`: remove `life`");
            }
            Some(interface::expand(&block, &mut errors))
        }
        Ok(_) => {
            errors.add_at(
                Span::call_site(),
                "#[wigwag::actor] belongs on an `impl Type { … }` or on a `trait` without code",
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

/// Expands an `impl` block; `written` is the block as it is passed on.
fn from_impl(
    block: &ItemImpl,
    written: &ItemImpl,
    custom_life: bool,
    errors: &mut Errors,
) -> Option<TokenStream> {
    if let Some((path, _)) = &block.trait_ {
        errors.add(
            path,
            "the calls of an actor are its inherent public methods: put #[wigwag::actor] on \
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
            "an actor needs at least one call: write a `pub fn` that takes `&mut self` or \
             `&self`",
        );
    }
    let visibility = parse_quote!(pub);
    let definition = Definition::new(name, visibility, self_type, methods, errors);
    let parts = [
        quote! {
            #[allow(unreachable_pub, reason = "`pub` makes a method a call")]
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

/// Returns true if [`call`] finds a call.
pub(crate) fn is_call(item: &ImplItem) -> bool {
    call(item).is_some()
}

/// A public method with `self`. Private methods and functions without `self` are not calls.
fn call(item: &ImplItem) -> Option<&ImplItemFn> {
    let ImplItem::Fn(function) = item else {
        return None;
    };
    let is_public = matches!(function.vis, Visibility::Public(_));
    let has_self = matches!(function.sig.inputs.first(), Some(FnArg::Receiver(_)));
    (is_public && has_self).then_some(function)
}

/// The last segment of the type's path: `Counter` of `impl bank::Counter`.
fn name_of(block: &ItemImpl, errors: &mut Errors) -> Option<Ident> {
    const GENERIC: &str = "an actor cannot be generic, because its interface is one list of \
                           calls: wrap the concrete type in a struct of its own";
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
