//! `#[wigwag::was("old")]`: the former names of a method or an argument, for callers and actors of
//! earlier versions. Fields and variants of a derived type have `#[message(was = "old")]`.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{Attribute, FnArg, Ident, ImplItem, ItemImpl, ItemTrait, LitStr, Path, Token, TraitItem};

use crate::errors::Errors;

/// The former names that the attributes of a method or an argument give; `name` is the present one.
pub(crate) fn read(attributes: &[Attribute], name: &Ident, errors: &mut Errors) -> Vec<String> {
    const USAGE: &str = "#[wigwag::was(\"old\")] takes the former names as texts";
    let mut former = Vec::new();
    for attribute in attributes.iter().filter(|one| is_was(one.path())) {
        let names = attribute.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated);
        match names {
            Ok(names) if !names.is_empty() => {
                names.iter().for_each(|old| add(old, name, &mut former, errors));
            }
            _ => errors.add(attribute, USAGE),
        }
    }
    former
}

/// Adds one former name of `name`, unless it cannot have been one.
pub(crate) fn add(old: &LitStr, name: &Ident, former: &mut Vec<String>, errors: &mut Errors) {
    let text = old.value();
    if syn::parse_str::<Ident>(&text).is_err() {
        errors.add(old, "a former name is an identifier");
    } else if name.unraw() == text || former.contains(&text) {
        errors.add(old, "this name is given already: a former name is another one, given once");
    } else {
        former.push(text);
    }
}

/// The block without the attributes, which were read.
pub(crate) fn without_in_impl(mut block: ItemImpl) -> ItemImpl {
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item
            && matches!(function.vis, syn::Visibility::Public(_))
        {
            strip(&mut function.attrs, function.sig.inputs.iter_mut());
        }
    }
    block
}

/// The trait without the attributes, which were read.
pub(crate) fn without_in_trait(mut block: ItemTrait) -> ItemTrait {
    for item in &mut block.items {
        if let TraitItem::Fn(function) = item {
            strip(&mut function.attrs, function.sig.inputs.iter_mut());
        }
    }
    block
}

fn strip<'a>(attributes: &mut Vec<Attribute>, inputs: impl Iterator<Item = &'a mut FnArg>) {
    attributes.retain(|one| !is_was(one.path()));
    for input in inputs {
        if let FnArg::Typed(typed) = input {
            typed.attrs.retain(|one| !is_was(one.path()));
        }
    }
}

/// Reports an attribute that `#[wigwag::actor]` did not read.
pub(crate) fn misplaced(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    errors.add_at(
        Span::call_site(),
        "#[wigwag::was] belongs on a call of an `#[wigwag::actor]`, or on an argument of one; a \
         field has #[message(was = \"old\")]",
    );
    let errors = errors.finish();
    quote!(#item #errors)
}

/// Returns true for `was` and `wigwag::was`.
fn is_was(path: &Path) -> bool {
    let names: Vec<_> = path.segments.iter().map(|one| one.ident.to_string()).collect();
    matches!(names.iter().map(String::as_str).collect::<Vec<_>>()[..], ["was"] | ["wigwag", "was"])
}
