//! `#[actor]` on a `trait`: an interface without code, for callers that do not have the actor's
//! type.
//!
//! A trait is not a type, so a generated type stands for it: `BankInterface`. An actor with the
//! same calls has the same schema hash, and a `BankRef` reaches it.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{FnArg, Generics, Ident, ItemTrait, ReturnType, TraitItem, TraitItemFn};

use crate::errors::Errors;
use crate::generate::{implements, message, reference, schema};
use crate::hygiene::call_site_at;
use crate::parse::definition::{Definition, Reach};
use crate::parse::method::Method;
use crate::parse::{comment, former, kind, route, side_by_side};

/// Returns the trait unchanged and the code that callers need.
pub(crate) fn expand(block: &ItemTrait, errors: &mut Errors) -> TokenStream {
    if let Some(first) = block.generics.params.first() {
        errors.add(
            first,
            "an interface cannot be generic, because it is one list of calls: write one trait for \
             each type",
        );
    }
    let (name, visibility) = (&block.ident, &block.vis);
    let interface = Ident::new(&format!("{}Interface", name.unraw()), call_site_at(name.span()));
    let self_type = interface.to_token_stream();
    let calls: Vec<_> = block.items.iter().filter_map(|item| call(item, errors)).collect();
    let mut read = |one: &TraitItemFn| {
        Method::read(
            &side_by_side::without(&one.attrs),
            &one.sig,
            &self_type,
            Reach::Exportable,
            errors,
        )
    };
    let methods: Vec<_> = calls.iter().map(|one| read(one)).collect();
    if block.items.is_empty() {
        errors.add(name, "an interface needs at least one call");
    }
    let definition = Definition::new(
        name.clone(),
        visibility.clone(),
        self_type,
        Generics::default(),
        Reach::Exportable,
        methods,
        errors,
    )
    .with_comment(comment::read(&block.attrs));
    let docs = format!(" Stands for the interface `{name}`, which is a trait and no type.");
    let message = message::expand(&definition);
    let reference = reference::expand(&definition);
    let described = schema::interface(&definition);
    let calls = implements::calls(&definition);
    let implemented = implements::interface(&definition);
    let block = route::without_in_trait(former::without_in_trait(block.clone()));
    quote! {
        #[allow(async_fn_in_trait, dead_code, reason = "a list of calls without implementations")]
        #block

        #[doc = #docs]
        #[allow(dead_code, reason = "a reference is enough to call")]
        #visibility struct #interface;

        #message
        #reference
        #described
        #calls
        #implemented
    }
}

fn call<'a>(item: &'a TraitItem, errors: &mut Errors) -> Option<&'a TraitItemFn> {
    let TraitItem::Fn(function) = item else {
        errors.add(item, "an interface may only contain calls: remove this item");
        return None;
    };
    if let Some(body) = &function.default {
        errors.add(
            body,
            "an interface has no code: end the signature with `;` and write the body in the \
             actor",
        );
    }
    if !matches!(function.sig.inputs.first(), Some(FnArg::Receiver(_))) {
        errors.add(&function.sig.ident, "a call is made to an actor: take `&mut self` or `&self`");
    }
    let written = function.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed.ty.to_token_stream()),
        FnArg::Receiver(_) => None,
    });
    let reply = match &function.sig.output {
        ReturnType::Type(_, written) => written.to_token_stream(),
        ReturnType::Default => TokenStream::new(),
    };
    if let Some(span) = written.chain([reply]).find_map(kind::mentions_self) {
        errors.add_at(
            span,
            "a caller does not know the type of `Self`: name a type that both ends know",
        );
    }
    Some(function)
}
