//! Generates `impl Interface`: the types that belong to an actor, and the schema of its calls.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;

use crate::hygiene::{local, mixed_site_at};
use crate::parse::definition::Definition;
use crate::parse::method::Method;
use crate::parse::{kind, route};

/// Generates `impl Interface`.
pub(crate) fn interface(definition: &Definition) -> TokenStream {
    let (self_type, message_type) = (&definition.self_type, &definition.message_type);
    let reference_type = &definition.reference_type;
    let (parameters, _, conditions) = definition.generics.split_for_impl();
    let (name, comment) = (definition.spelled(), &definition.comment);
    let methods = definition.methods.iter().map(|method| described(definition, method));
    let codec = definition.codec();
    let references = (!definition.is_local()).then(references);
    // The values of a local actor stay in their process.
    let answered = definition.methods.iter().filter(|_| !definition.is_local());
    let replies = answered.map(|method| {
        let (cfg, reply) = (method.cfg(), method.reply_payload());
        quote_spanned!(mixed_site_at(method.reply_span)=> #cfg reply::<#reply>();)
    });
    // A constant knows no parameters; of a generic type, the impls that need the reply are checked.
    let check = definition.generics.params.is_empty().then(|| {
        quote! {
            // Checks that both ends can handle each reply, which `Payload` requires. Without it, only
            // a caller's code would fail to compile.
            const _: () = {
                const fn reply<WigwagReply>()
                where
                    WigwagReply: ::core::marker::Send + 'static,
                {
                }
                #(#replies)*
            };
        }
    });
    quote! {
        #[automatically_derived]
        impl #parameters ::wigwag::__private::Interface for #self_type #conditions {
            type Message = #message_type;
            type Ref = #reference_type;
            type Codec = #codec;
            const SCHEMA: &'static ::wigwag::__private::Schema =
                &::wigwag::__private::Schema::new(#name, &[#(#methods,)*]).with_comment(#comment);
            #references
        }

        #check
    }
}

/// Generates what sends a reference to another process, and reads it there.
fn references() -> TokenStream {
    let (reference, out, reader) = (local("reference"), local("out"), local("reader"));
    let (channel, answer) = (local("channel"), local("answer"));
    quote! {
        const IS_REFERABLE: ::core::primitive::bool = true;

        fn encode_reference(
            #reference: &::wigwag::__private::Ref<Self>,
            #out: &mut ::wigwag::__private::Buffer,
        ) {
            ::wigwag::__private::encode_reference(#reference, #out);
        }

        fn decode_reference(
            #reader: &mut ::wigwag::__private::Reader<'_>,
        ) -> ::core::result::Result<
            ::wigwag::__private::Ref<Self>,
            ::wigwag::__private::DecodeError,
        > {
            ::wigwag::__private::decode_reference(#reader)
        }

        fn piped_reference(
            #channel: ::std::boxed::Box<dyn ::core::any::Any + ::core::marker::Send>,
            #answer: ::std::boxed::Box<
                dyn ::core::any::Any + ::core::marker::Send + ::core::marker::Sync,
            >,
        ) -> ::core::option::Option<::wigwag::__private::Ref<Self>> {
            ::wigwag::__private::piped_reference(#channel, #answer)
        }
    }
}

fn described(definition: &Definition, method: &Method) -> TokenStream {
    let name = method.name.unraw().to_string();
    let mut reply = kind::spelled(method.reply.clone());
    if method.is_stream {
        reply = format!("Stream<{reply}>");
    }
    let arguments = method.arguments.iter().map(|argument| {
        let (name, kind) = (argument.name.unraw().to_string(), argument.spelled());
        let former = &argument.former;
        let (fields, fixed) = if definition.is_local() {
            (
                quote!(::wigwag::__private::fields::Fields::NONE),
                quote!(::wigwag::__private::fixed::FixedWidth::NONE),
            )
        } else {
            let (span, held) = (mixed_site_at(argument.span), argument.payload());
            (
                quote_spanned!(span=> <#held as ::wigwag::__private::Encode>::FIELDS),
                quote_spanned!(span=> <#held as ::wigwag::__private::Encode>::FIXED),
            )
        };
        quote! {
            ::wigwag::__private::Argument {
                name: #name,
                former: &[#(#former,)*],
                kind: #kind,
                fields: #fields,
                fixed: #fixed,
            }
        }
    });
    let (cfg, former) = (method.cfg(), &method.former);
    let (is_stream, comment) = (method.is_stream, &method.comment);
    let routes = route::described(&method.routes);
    let reply_fields = if definition.is_local() {
        quote!(::wigwag::__private::fields::Fields::NONE)
    } else {
        let replied = method.reply_payload();
        quote_spanned! {mixed_site_at(method.reply_span)=>
            <#replied as ::wigwag::__private::Encode>::FIELDS
        }
    };
    quote! {
        #cfg
        ::wigwag::__private::Method {
            name: #name,
            former: &[#(#former,)*],
            arguments: &[#(#arguments,)*],
            reply: #reply,
            reply_fields: #reply_fields,
            is_stream: #is_stream,
            comment: #comment,
            routes: #routes,
        }
    }
}
