//! Checks on types as they are written in the source, and their text in a schema.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::quote_spanned;
use syn::{GenericArgument, Ident, PathArguments, Type};

use crate::hygiene::mixed_site_at;

/// Why a type can neither wait in a mailbox nor travel.
#[derive(Clone, Copy)]
pub(crate) enum Unsupported {
    /// A reference, or a lifetime.
    Borrowed,
    /// `impl Trait` or `dyn Trait`.
    Opaque,
}

/// Finds borrows and opaque types at any depth. The content of `Local<…>` does not travel, so it may
/// be any type that lives long enough, which the compiler checks.
pub(crate) fn unsupported(tokens: TokenStream) -> Option<Unsupported> {
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        if matches!(&token, TokenTree::Ident(ident) if ident == "Local") {
            skip_angles(&mut tokens);
            continue;
        }
        let found = match &token {
            TokenTree::Punct(punct) if matches!(punct.as_char(), '&' | '\'') => {
                Some(Unsupported::Borrowed)
            }
            TokenTree::Ident(ident) if ident == "impl" || ident == "dyn" => {
                Some(Unsupported::Opaque)
            }
            TokenTree::Group(group) => unsupported(group.stream()),
            _ => None,
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// Finds `impl Trait`, and borrows that are not `'static`, at any depth: a value that stays in its
/// process may be of any other type. The arguments of a function are no part of its type's value, so
/// they may be borrows.
pub(crate) fn unsupported_in_process(tokens: TokenStream) -> Option<Unsupported> {
    let mut tokens = tokens.into_iter().peekable();
    let (mut found, mut is_function) = (None, false);
    while let (None, Some(token)) = (found, tokens.next()) {
        found = match &token {
            TokenTree::Punct(sign) if sign.as_char() == '&' => {
                let next = tokens.peek();
                let is_named = |next: &TokenTree| next.to_string().starts_with('\'');
                (!next.is_some_and(is_named)).then_some(Unsupported::Borrowed)
            }
            TokenTree::Punct(sign) if sign.as_char() == '\'' => {
                let name = tokens.next().map(|name| name.to_string());
                (name.as_deref() != Some("static")).then_some(Unsupported::Borrowed)
            }
            TokenTree::Ident(ident) if ident == "impl" => Some(Unsupported::Opaque),
            TokenTree::Group(group) if !is_function => unsupported_in_process(group.stream()),
            _ => None,
        };
        is_function = matches!(
            &token,
            TokenTree::Ident(name) if ["fn", "Fn", "FnMut", "FnOnce"].iter().any(|one| name == one)
        );
    }
    found
}

/// Skips `<…>` with nested angle brackets; the `>` of an arrow closes none.
fn skip_angles(tokens: &mut impl Iterator<Item = TokenTree>) {
    let (mut depth, mut is_arrow) = (0, false);
    for token in tokens {
        let sign = match &token {
            TokenTree::Punct(punct) => punct.as_char(),
            _ => ' ',
        };
        match sign {
            '<' => depth += 1,
            '>' if !is_arrow => depth -= 1,
            _ => {}
        }
        if depth <= 0 {
            return;
        }
        is_arrow = sign == '-';
    }
}

/// Replaces every `Self` with `self_type`, because `Self` means another type in the message.
pub(crate) fn without_self(tokens: TokenStream, self_type: &TokenStream) -> TokenStream {
    let replace = |token| match token {
        TokenTree::Ident(ident) if ident == "Self" => self_type.clone(),
        TokenTree::Group(group) => {
            let inner = without_self(group.stream(), self_type);
            let mut replaced = proc_macro2::Group::new(group.delimiter(), inner);
            replaced.set_span(group.span());
            TokenTree::from(replaced).into()
        }
        other => other.into(),
    };
    tokens.into_iter().flat_map(replace).collect()
}

/// The place of the first `Self`, at any depth.
pub(crate) fn mentions_self(tokens: TokenStream) -> Option<Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(ident) if ident == "Self" => Some(ident.span()),
        TokenTree::Group(group) => mentions_self(group.stream()),
        _ => None,
    })
}

/// Returns true if a type contains `name` or `Self`, at any depth.
pub(crate) fn mentions(tokens: &TokenStream, name: &Ident) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == *name || ident == "Self",
        TokenTree::Group(group) => mentions(&group.stream(), name),
        _ => false,
    })
}

/// Returns true for `Option<…>`, the only type that may be missing at the end.
pub(crate) fn is_option(kind: &Type) -> bool {
    let Type::Path(path) = inner(kind) else {
        return false;
    };
    path.path.segments.last().is_some_and(|last| {
        let PathArguments::AngleBracketed(arguments) = &last.arguments else {
            return false;
        };
        let one = matches!(arguments.args.first(), Some(GenericArgument::Type(_)));
        last.ident == "Option" && one && arguments.args.len() == 1
    })
}

/// The type without parentheses and without the invisible groups that a `macro_rules` adds.
pub(crate) fn inner(kind: &Type) -> &Type {
    match kind {
        Type::Group(group) => inner(&group.elem),
        Type::Paren(paren) => inner(&paren.elem),
        other => other,
    }
}

/// A type with the usual spacing: `BTreeMap<String, [u8; 4]>`.
pub(crate) fn spelled(tokens: TokenStream) -> String {
    let mut text = String::new();
    spell(tokens, &mut text);
    text
}

fn spell(tokens: TokenStream, text: &mut String) {
    let mut after_word = false;
    for token in tokens {
        let is_word = matches!(token, TokenTree::Ident(_) | TokenTree::Literal(_));
        if after_word && is_word {
            text.push(' ');
        }
        after_word = is_word;
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                text.push_str(open);
                spell(group.stream(), text);
                text.push_str(close);
            }
            TokenTree::Punct(punct) => {
                text.push(punct.as_char());
                if matches!(punct.as_char(), ',' | ';') {
                    text.push(' ');
                }
            }
            word => text.push_str(&word.to_string()),
        }
    }
}

/// A type, written such that all uses of one that has no encoding are the same error, which the
/// compiler then reports once.
pub(crate) fn payload(kind: &TokenStream, span: Span) -> TokenStream {
    quote_spanned!(mixed_site_at(span)=> <#kind as ::wigwag::__private::Payload>::Value)
}

#[cfg(test)]
mod tests {
    use quote::quote;
    use syn::parse_quote;

    use super::*;

    #[test]
    fn a_type_is_printed_as_a_person_would_write_it() {
        let written = quote!(BTreeMap<String, Vec<[u8; 4]>>);
        assert_eq!(spelled(written), "BTreeMap<String, Vec<[u8; 4]>>");
        assert_eq!(spelled(quote!(std::string::String)), "std::string::String");
        assert_eq!(spelled(quote!(())), "()");
        assert_eq!(spelled(quote!(Box<dyn Any>)), "Box<dyn Any>");
    }

    #[test]
    fn self_is_replaced_at_any_depth() {
        let replaced = without_self(quote!(Vec<(Self, [Self; 2])>), &quote!(Counter));
        assert_eq!(spelled(replaced), "Vec<(Counter, [Counter; 2])>");
    }

    #[test]
    fn borrows_and_opaque_types_are_found_at_any_depth() {
        let borrow = |tokens| matches!(unsupported(tokens), Some(Unsupported::Borrowed));
        let open = |tokens| matches!(unsupported(tokens), Some(Unsupported::Opaque));
        assert!(borrow(quote!(Vec<(u8, &str)>)));
        assert!(borrow(quote!(Cow<'static, str>)));
        assert!(open(quote!(Option<(impl Copy,)>)));
        assert!(open(quote!(Box<dyn Copy>)));
        assert!(unsupported(quote!(Vec<(u8, [String; 4])>)).is_none());
    }

    #[test]
    fn local_values_may_be_of_any_type_but_not_their_neighbours() {
        let job = quote!(Local<Box<dyn Fn(Vec<u8>) -> Vec<u8> + Send>>);
        assert!(unsupported(job.clone()).is_none());
        assert!(unsupported(quote!(Vec<(wigwag::#job, u8)>)).is_none());
        assert!(matches!(unsupported(quote!((#job, &str))), Some(Unsupported::Borrowed)));
        assert!(matches!(
            unsupported(quote!(Result<#job, Box<dyn Error>>)),
            Some(Unsupported::Opaque)
        ));
    }

    #[test]
    fn in_a_process_only_borrows_and_impl_are_unsupported() {
        let free = |tokens| unsupported_in_process(tokens).is_none();
        assert!(free(quote!(Box<dyn FnOnce(u8) -> u8 + Send + 'static>)));
        assert!(free(quote!((Box<dyn FnMut(&mut [u8], &str) + Send>, fn(&u8)))));
        assert!(free(quote!(Vec<(&'static str, Cow<'static, [u8]>)>)));
        let borrow = |tokens| matches!(unsupported_in_process(tokens), Some(Unsupported::Borrowed));
        assert!(borrow(quote!(Vec<(&str, u8)>)) && borrow(quote!(Cow<'a, str>)));
        assert!(borrow(quote!(Option<&'a str>)));
        assert!(matches!(unsupported_in_process(quote!((impl Copy,))), Some(Unsupported::Opaque)));
    }

    #[test]
    fn only_an_option_of_one_type_may_be_missing() {
        assert!(is_option(&parse_quote!(Option<u64>)));
        assert!(is_option(&parse_quote!((::core::option::Option<u64>))));
        assert!(!is_option(&parse_quote!(Vec<Option<u64>>)));
        assert!(!is_option(&parse_quote!(Option)));
    }
}
