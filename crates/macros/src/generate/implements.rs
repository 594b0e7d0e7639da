//! Generates what connects interfaces with the actors of this process that implement them: which
//! calls there are, and the messages of one interface as those of another.
//!
//! The macro of a `trait` and that of an `impl` block do not see each other. So each call is an impl
//! of `HasCall` with the hash of its names, and an interface is implemented by whatever has all of
//! its calls. Types are arguments of the traits and no associated types, because an actor and the
//! types in its calls may be private where its reference is public.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::hygiene::{local, mixed_site_at};
use crate::parse::definition::{Definition, locals};
use crate::parse::method::Method;

/// Generates one `impl HasCall` for each call, and the way from this reference to those of the
/// interfaces.
pub(crate) fn calls(definition: &Definition) -> TokenStream {
    let (self_type, reference_type) = (&definition.self_type, &definition.reference_type);
    let through = definition.generics_and("WigwagInterface");
    let (parameters, _, conditions) = through.split_for_impl();
    let conditions = conditions.map(|conditions| &conditions.predicates);
    let calls = definition.methods.iter().map(|method| has_call(definition, method));
    quote! {
        #(#calls)*

        #[automatically_derived]
        #[allow(private_bounds, reason = "the actor's type may be private to the crate")]
        impl #parameters ::wigwag::__private::HasInterface<WigwagInterface> for #reference_type
        where
            WigwagInterface: ::wigwag::__private::ImplementedBy<#self_type>,
            #conditions
        {
            fn through(&self) -> ::wigwag::__private::Ref<WigwagInterface> {
                ::wigwag::__private::through(&self.0)
            }
        }
    }
}

/// The trait that an actor has for the call.
fn trait_of(method: &Method) -> TokenStream {
    let names = method.arguments.iter().map(|argument| &argument.name);
    let hash = hash([&method.name].into_iter().chain(names).map(|name| name.unraw().to_string()));
    let kinds = method.arguments.iter().map(|argument| &argument.kind);
    let reply = match (&method.reply, method.is_stream) {
        (reply, true) => quote!(::wigwag::__private::Items<#reply>),
        (reply, false) => reply.to_token_stream(),
    };
    // An error shows the method of the interface that an actor lacks.
    quote_spanned!(mixed_site_at(method.name.span())=> ::wigwag::__private::HasCall<#hash, (#(#kinds,)*), #reply>)
}

/// FNV-1a, 64 bits, of names that each end with a byte which no name contains.
fn hash(names: impl Iterator<Item = String>) -> Literal {
    let bytes = names.flat_map(|name| name.into_bytes().into_iter().chain([0xFF]));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Literal::u64_suffixed(hash)
}

fn has_call(definition: &Definition, method: &Method) -> TokenStream {
    let (self_type, message) = (&definition.self_type, &definition.message);
    let (variant, cfg, has_call) = (&method.variant, method.cfg(), trait_of(method));
    let names: Vec<_> = method.arguments.iter().map(|argument| &argument.name).collect();
    let kinds = method.arguments.iter().map(|argument| &argument.kind);
    let (locals, other) = (locals(method), local("other"));
    let message_type = &definition.message_type;
    let (parameters, _, conditions) = definition.generics.split_for_impl();
    let kinds = quote!((#(#kinds,)*));
    quote! {
        #cfg
        #[automatically_derived]
        impl #parameters #has_call for #self_type #conditions {
            #[inline]
            fn message((#(#locals,)*): #kinds) -> #message_type {
                #message::#variant { #(#names: #locals,)* }
            }

            #[inline]
            fn arguments(
                #other: #message_type,
            ) -> ::core::result::Result<#kinds, #message_type> {
                #[allow(unreachable_patterns, reason = "this may be the only call")]
                match #other {
                    #message::#variant { #(#names: #locals,)* } => {
                        ::core::result::Result::Ok((#(#locals,)*))
                    }
                    #other => ::core::result::Result::Err(#other),
                }
            }
        }
    }
}

/// Generates `impl ImplementedBy` for an interface, and `From` for its reference.
pub(crate) fn interface(definition: &Definition) -> TokenStream {
    let (self_type, message) = (&definition.self_type, &definition.message);
    let reference = &definition.reference;
    let given = local("message");
    let (bounds, conditional) = bounds(definition);
    let conversions = definition.methods.iter().map(|method| conversion(definition, method));
    let (adapts, restores): (Vec<_>, Vec<_>) = conversions.unzip();
    quote! {
        const _: () = {
            #(#conditional)*

            #[automatically_derived]
            #[allow(private_bounds, reason = "a type in a call may be private to the crate")]
            impl<WigwagActor> ::wigwag::__private::ImplementedBy<WigwagActor> for #self_type
            where
                WigwagActor: ::wigwag::__private::Interface #(+ #bounds)*,
            {
                fn adapt(#given: #message) -> WigwagActor::Message {
                    match #given { #(#adapts)* }
                }

                fn restore(
                    #given: WigwagActor::Message,
                ) -> ::core::option::Option<#message> {
                    #(#restores)*
                    ::core::mem::drop(#given);
                    ::core::option::Option::None
                }
            }
        };

        #[automatically_derived]
        impl<WigwagRef> ::core::convert::From<&WigwagRef> for #reference
        where
            WigwagRef: ::wigwag::__private::HasInterface<#self_type>,
        {
            fn from(#given: &WigwagRef) -> Self {
                Self(::wigwag::__private::HasInterface::through(#given))
            }
        }
    }
}

/// The requirements of an actor: a bound for each call, and the items for calls that exist in some builds
/// only. A bound has no `cfg`, so there they are traits that ask for nothing in the other builds.
fn bounds(definition: &Definition) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let (mut bounds, mut conditional) = (Vec::new(), Vec::new());
    for (at, method) in definition.methods.iter().enumerate() {
        let has_call = trait_of(method);
        let Some(condition) = method.condition() else {
            bounds.push(has_call);
            continue;
        };
        let if_built = format_ident!("WigwagCall{at}");
        conditional.push(quote! {
            #[cfg(#condition)]
            trait #if_built: #has_call {}
            #[cfg(#condition)]
            impl<WigwagActor: #has_call> #if_built for WigwagActor {}
            #[cfg(not(#condition))]
            trait #if_built {}
            #[cfg(not(#condition))]
            impl<WigwagActor> #if_built for WigwagActor {}
        });
        bounds.push(if_built.to_token_stream());
    }
    (bounds, conditional)
}

/// The arms that turn a message of the interface into the actor's, and the statements that turn one
/// back.
fn conversion(definition: &Definition, method: &Method) -> (TokenStream, TokenStream) {
    let (message, given) = (&definition.message, local("message"));
    let (variant, cfg, has_call) = (&method.variant, method.cfg(), trait_of(method));
    let names: Vec<_> = method.arguments.iter().map(|argument| &argument.name).collect();
    let locals = locals(method);
    let adapt = quote! {
        #cfg
        #message::#variant { #(#names: #locals,)* } => {
            <WigwagActor as #has_call>::message((#(#locals,)*))
        }
    };
    let restore = quote! {
        #cfg
        let #given = match <WigwagActor as #has_call>::arguments(#given) {
            ::core::result::Result::Ok((#(#locals,)*)) => {
                return ::core::option::Option::Some(
                    #message::#variant { #(#names: #locals,)* },
                );
            }
            ::core::result::Result::Err(#given) => #given,
        };
    };
    (adapt, restore)
}
