//! The content of an `impl` block or a `trait`, and the names and numbers derived from it.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::{Generics, Ident, Type, Visibility, parse_quote};

use crate::errors::Errors;
use crate::hygiene::{call_site_at, local};
use crate::parse::kind::{self, Unsupported};
use crate::parse::method::Method;

/// Whence an actor can be called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// From every process, once it is exported. Its arguments and replies have an encoding.
    Exportable,
    /// From its own process only.
    Local,
}

impl Reach {
    /// Why a type cannot be in a call with this reach.
    pub(super) fn unsupported(self, written: &Type) -> Option<Unsupported> {
        match self {
            Reach::Exportable => kind::unsupported(written.to_token_stream()),
            Reach::Local => kind::unsupported_in_process(written.to_token_stream()),
        }
    }
}

/// An interface: its calls in order.
pub(crate) struct Definition {
    /// The name from which all others are derived: `Counter`.
    pub(crate) name: Ident,
    /// The visibility of the generated items: that of a trait; `pub` for an `impl` block, which
    /// does not state the visibility of its type.
    pub(crate) visibility: Visibility,
    /// The type that has the interface.
    pub(crate) self_type: TokenStream,
    /// The parameters of a generic type, with their bounds.
    pub(crate) generics: Generics,
    pub(crate) reach: Reach,
    /// The generated `CounterMessage`.
    pub(crate) message: Ident,
    /// The message as a type, with the parameters: `StoreMessage<T>`.
    pub(crate) message_type: TokenStream,
    /// The generated `CounterRef`.
    pub(crate) reference: Ident,
    /// The reference as a type, with the parameters.
    pub(crate) reference_type: TokenStream,
    pub(crate) methods: Vec<Method>,
    /// The text of the doc comment of the block or the trait.
    pub(crate) comment: String,
}

impl Definition {
    pub(crate) fn new(
        name: Ident,
        visibility: Visibility,
        self_type: TokenStream,
        generics: Generics,
        reach: Reach,
        methods: Vec<Method>,
        errors: &mut Errors,
    ) -> Definition {
        check_variants(&methods, errors);
        check_routes(&methods, errors);
        let made =
            |end: &str| Ident::new(&format!("{}{end}", name.unraw()), call_site_at(name.span()));
        let (message, reference) = (made("Message"), made("Ref"));
        let (_, arguments, _) = generics.split_for_impl();
        Definition {
            message_type: quote!(#message #arguments),
            reference_type: quote!(#reference #arguments),
            message,
            reference,
            name,
            visibility,
            self_type,
            generics,
            reach,
            methods,
            comment: String::new(),
        }
    }

    /// Sets the comment.
    pub(crate) fn with_comment(mut self, comment: String) -> Definition {
        self.comment = comment;
        self
    }

    /// The parameters and one type more.
    pub(crate) fn generics_and(&self, parameter: &str) -> Generics {
        let mut generics = self.generics.clone();
        let parameter = Ident::new(parameter, Span::call_site());
        generics.params.push(parse_quote!(#parameter));
        generics
    }

    /// The variant of the message that uses the parameters of a generic type, since not every one is
    /// in an argument. It has no value.
    pub(crate) fn never(&self) -> Option<TokenStream> {
        (!self.generics.params.is_empty()).then(|| {
            let self_type = &self.self_type;
            quote! {
                #[doc(hidden)]
                WigwagNever(
                    ::core::convert::Infallible,
                    ::core::marker::PhantomData<fn() -> #self_type>,
                ),
            }
        })
    }

    /// The arm for that variant where a message is matched by reference.
    pub(crate) fn never_arm(&self) -> Option<TokenStream> {
        self.never().map(|_| quote!(Self::WigwagNever(never, _) => match *never {},))
    }

    pub(crate) fn is_local(&self) -> bool {
        self.reach == Reach::Local
    }

    /// The codec of the replies.
    pub(crate) fn codec(&self) -> TokenStream {
        match self.reach {
            Reach::Exportable => quote!(::wigwag::__private::Encoded),
            Reach::Local => quote!(::wigwag::__private::InProcess),
        }
    }

    /// The numbers of the calls.
    pub(crate) fn numbers(&self) -> Numbers {
        let (mut constants, mut values) = (Vec::new(), Vec::new());
        let (mut before, mut conditions) = (0_u32, Vec::new());
        for (at, method) in self.methods.iter().enumerate() {
            if conditions.is_empty() {
                values.push(before.to_token_stream());
            } else {
                let (cfg, name) = (method.cfg(), local(&format!("WIGWAG_METHOD_{at}")));
                constants.push(quote! {
                    #cfg
                    const #name: ::core::primitive::u32 =
                        #before #(+ ::core::cfg!(#conditions) as ::core::primitive::u32)*;
                });
                values.push(name.to_token_stream());
            }
            match method.condition() {
                Some(condition) => conditions.push(condition),
                None => before += 1,
            }
        }
        Numbers { constants: quote!(#(#constants)*), values }
    }

    /// The actor's name in the schema.
    pub(crate) fn spelled(&self) -> String {
        self.name.unraw().to_string()
    }
}

/// The number of each call: the number of calls before it that exist in the build.
pub(crate) struct Numbers {
    /// Items that the values refer to; empty if no call has a `cfg`.
    pub(crate) constants: TokenStream,
    /// One for each call, as an expression and as a pattern.
    pub(crate) values: Vec<TokenStream>,
}

fn check_variants(methods: &[Method], errors: &mut Errors) {
    for (at, method) in methods.iter().enumerate() {
        // Of two with a `cfg`, only one may exist; if both do, the compiler says so.
        let mut before = methods[..at].iter().filter(|one| one.cfgs.is_empty());
        let first = before.find(|one| one.variant == method.variant && method.cfgs.is_empty());
        if let Some(first) = first {
            errors.add(
                &method.name,
                format!(
                    "`{}` and `{}` would both be `{}` in the message: rename one of them",
                    first.name, method.name, method.variant
                ),
            );
        }
    }
}

/// A route is answered with one reply, which a stream does not have.
fn check_routes(methods: &[Method], errors: &mut Errors) {
    for method in methods.iter().filter(|one| one.is_stream && !one.routes.is_empty()) {
        errors.add(
            &method.name,
            format!(
                "a route is answered with one reply, and `{}` sends a stream: remove the route; a \
                 gateway has the stream at /{{actor}}/stream/{{method}}",
                method.name
            ),
        );
    }
}

/// Names for the arguments of `method` where generated code destructures them.
pub(crate) fn locals(method: &Method) -> Vec<Ident> {
    let count = method.arguments.len();
    (0..count).map(|at| local(&format!("argument_{at}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_sends_a_stream_has_no_route() {
        for (route, is_refused) in [(quote!(#[wigwag(get = "/a")]), true), (quote!(), false)] {
            let block = quote! {
                impl Shop {
                    #route
                    pub fn items(&self, items: wigwag::Yield<u8>) {}
                }
            };
            let expanded = crate::actor::expand(TokenStream::new(), block).to_string();
            assert_eq!(expanded.contains("`items` sends a stream"), is_refused, "{expanded}");
        }
    }
}
