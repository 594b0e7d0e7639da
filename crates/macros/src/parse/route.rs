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

#[cfg(test)]
mod tests {
    use quote::format_ident;
    use syn::parse_quote;

    use super::*;

    /// The routes that `attributes` give a method with the arguments `id` and `r#type`, and the errors.
    fn routes(attributes: &[Attribute]) -> (Vec<(&'static str, String)>, String) {
        let mut errors = Errors::default();
        let arguments = [format_ident!("id"), format_ident!("r#type")];
        let routes = read(attributes, arguments.iter(), &mut errors);
        let errors = errors.finish().map(|errors| errors.to_string()).unwrap_or_default();
        (routes.into_iter().map(|Route { verb, path }| (verb, path)).collect(), errors)
    }

    #[test]
    fn each_verb_is_that_of_http_and_a_method_may_have_several_routes() {
        let attributes: [Attribute; 3] = [
            parse_quote!(#[wigwag(get = "/", put = "/orders/{id}")]),
            parse_quote!(#[inline]),
            parse_quote!(#[wigwag(post = "/-._~a1", patch = "/{type}/{id}", delete = "/{id}/")]),
        ];
        let (found, errors) = routes(&attributes);
        assert_eq!(errors, "");
        let expected = [
            ("GET", "/"),
            ("PUT", "/orders/{id}"),
            ("POST", "/-._~a1"),
            ("PATCH", "/{type}/{id}"),
            ("DELETE", "/{id}/"),
        ];
        assert_eq!(found, expected.map(|(verb, path)| (verb, path.to_owned())));
    }

    #[test]
    fn malformed_routes_are_refused() {
        let long = format!("/{}", "x".repeat(PATH_BYTES_MAX));
        let longest = long[..PATH_BYTES_MAX].to_owned();
        assert_eq!(routes(&[parse_quote!(#[wigwag(get = #longest)])]).1, "");
        let cases: [(Attribute, &str); 12] = [
            (parse_quote!(#[wigwag]), "takes a verb"),
            (parse_quote!(#[wigwag(get)]), "takes a verb"),
            (parse_quote!(#[wigwag(head = "/a")]), "takes a verb"),
            (parse_quote!(#[wigwag(get = 7)]), "takes a verb"),
            (parse_quote!(#[wigwag(get = "")]), "begins with /"),
            (parse_quote!(#[wigwag(get = "orders")]), "begins with /"),
            (parse_quote!(#[wigwag(get = #long)]), "512 bytes at most"),
            (parse_quote!(#[wigwag(get = "/{number}")]), "no argument"),
            (parse_quote!(#[wigwag(get = "/{id}/{id}")]), "is in the path twice"),
            (parse_quote!(#[wigwag(get = "/a{id}")]), "is no segment of a path"),
            (parse_quote!(#[wigwag(get = "/a?b")]), "is no segment of a path"),
            (parse_quote!(#[wigwag(get = "/a", get = "/a")]), "is given already"),
        ];
        for (attribute, error) in cases {
            let text = quote!(#attribute).to_string();
            let (_, errors) = routes(&[attribute]);
            assert!(errors.contains(error), "{text}: {errors}");
        }
    }
}
