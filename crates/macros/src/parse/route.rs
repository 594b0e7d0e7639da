//! `#[wigwag(get = "/orders/{id}")]`: the routes under which an HTTP gateway calls a method.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Ident, ImplItem, ItemImpl, ItemTrait, LitStr, MetaNameValue, Token, TraitItem,
};

use crate::errors::Errors;

/// The verbs, as the attribute and as HTTP spell them.
const VERBS: [(&str, &str); 5] =
    [("get", "GET"), ("post", "POST"), ("put", "PUT"), ("patch", "PATCH"), ("delete", "DELETE")];

/// Bytes of a path: far below what servers accept.
const PATH_BYTES_MAX: usize = 512;

/// A route of a method.
pub(crate) struct Route {
    verb: &'static str,
    path: String,
}

/// The routes that the attributes of a method with these arguments give.
pub(crate) fn read<'a>(
    attributes: &[Attribute],
    arguments: impl Iterator<Item = &'a Ident> + Clone,
    errors: &mut Errors,
) -> Vec<Route> {
    const USAGE: &str = "#[wigwag(get = \"/orders/{id}\")] takes a verb (get, post, put, patch or \
                         delete) and a path as a text";
    let mut routes: Vec<Route> = Vec::new();
    for attribute in attributes.iter().filter(|one| is_route(one)) {
        type Pairs = Punctuated<MetaNameValue, Token![,]>;
        let Ok(pairs) = attribute.parse_args_with(Pairs::parse_terminated) else {
            errors.add(attribute, USAGE);
            continue;
        };
        for MetaNameValue { path: verb, value, .. } in &pairs {
            let verb = VERBS.iter().find(|(name, _)| verb.is_ident(name));
            let path = syn::parse2::<LitStr>(quote!(#value)).ok();
            let (Some((_, verb)), Some(path)) = (verb, path) else {
                errors.add(attribute, USAGE);
                continue;
            };
            let text = path.value();
            if let Err(wrong) = check(&text, arguments.clone()) {
                errors.add(&path, wrong);
            } else if routes.iter().any(|known| known.verb == *verb && known.path == text) {
                errors.add(&path, "this route is given already");
            } else {
                routes.push(Route { verb, path: text });
            }
        }
    }
    routes
}

/// Checks that each `{name}` is a whole segment and names an argument, once.
fn check<'a>(path: &str, arguments: impl Iterator<Item = &'a Ident> + Clone) -> Result<(), String> {
    if !path.starts_with('/') || path.len() > PATH_BYTES_MAX {
        return Err("a path begins with / and has 512 bytes at most".into());
    }
    let mut captured = Vec::new();
    for segment in path[1..].split('/') {
        let name = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        match name {
            Some(name) if !arguments.clone().any(|known| known.unraw() == name) => {
                return Err(format!("the method has no argument {name:?}"));
            }
            Some(name) if captured.contains(&name) => {
                return Err(format!("{{{name}}} is in the path twice"));
            }
            Some(name) => captured.push(name),
            None if segment.bytes().all(is_plain) => {}
            None => {
                return Err(format!(
                    "{segment:?} is no segment of a path: one is letters, digits and -._~, or a \
                     whole {{argument}}"
                ));
            }
        }
    }
    Ok(())
}

/// The characters of a path that are never percent-encoded (RFC 3986 2.3).
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// The routes as the schema has them.
pub(crate) fn described(routes: &[Route]) -> TokenStream {
    let routes = routes.iter().map(
        |Route { verb, path }| quote!(::wigwag::__private::HttpRoute { verb: #verb, path: #path }),
    );
    quote!(&[#(#routes,)*])
}

/// The block without the attributes, which were read.
pub(crate) fn without_in_impl(mut block: ItemImpl) -> ItemImpl {
    for item in &mut block.items {
        if let ImplItem::Fn(function) = item
            && matches!(function.vis, syn::Visibility::Public(_))
        {
            function.attrs.retain(|one| !is_route(one));
        }
    }
    block
}

/// The trait without the attributes, which were read.
pub(crate) fn without_in_trait(mut block: ItemTrait) -> ItemTrait {
    for item in &mut block.items {
        if let TraitItem::Fn(function) = item {
            function.attrs.retain(|one| !is_route(one));
        }
    }
    block
}

fn is_route(attribute: &Attribute) -> bool {
    attribute.path().is_ident("wigwag")
}
