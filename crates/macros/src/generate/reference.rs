//! Generates the reference, which a caller holds: one method for each call.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse_quote;

use crate::hygiene::{call_site_at, local};
use crate::parse::argument::{Argument, ArgumentForm};
use crate::parse::definition::Definition;
use crate::parse::method::Method;

/// Generates the newtype over `Ref` and its methods.
pub(crate) fn expand(definition: &Definition) -> TokenStream {
    let (self_type, message_type) = (&definition.self_type, &definition.message_type);
    let (reference, visibility) = (&definition.reference, &definition.visibility);
    let reference_type = &definition.reference_type;
    let (parameters, _, conditions) = definition.generics.split_for_impl();
    let name = definition.spelled();
    let docs =
        format!(" A reference to an actor with the interface of `{name}`, wherever it lives.");
    let methods = definition.methods.iter().map(|method| call(definition, method));
    let (common, values) = (common(definition), value(definition));
    // Type parameters have no hygiene, so these have names that no actor has.
    quote! {
        #[doc = #docs]
        #[allow(private_interfaces, reason = "the actor's type may be private to the crate")]
        #visibility struct #reference #parameters(::wigwag::__private::Ref<#self_type>)
        #conditions;

        #[allow(dead_code, private_interfaces, reason = "generated whether used or not")]
        impl #parameters #reference_type #conditions {
            #(#methods)*

            /// Calls with a message that a refused call gave back.
            #[inline]
            pub fn call<WigwagReply>(
                &self,
                message: #message_type,
            ) -> ::wigwag::__private::Call<'_, #self_type, WigwagReply> {
                ::wigwag::__private::Call::new(&self.0, message)
            }

            /// Opens a pipeline for up to `most` asks at once, of methods that have the same reply.
            /// Each ask may carry a value, which is returned with its answer.
            pub fn pipeline<WigwagReply, WigwagValue>(
                &self,
                most: usize,
            ) -> ::core::result::Result<
                ::wigwag::Pipeline<#self_type, WigwagReply, WigwagValue>,
                ::wigwag::CallError,
            >
            where
                WigwagReply: ::wigwag::__private::Answerable<#self_type>,
            {
                self.0.pipeline(most)
            }
        }

        #common

        #values
    }
}

/// Generates the traits that all references have.
fn common(definition: &Definition) -> TokenStream {
    let (self_type, reference_type) = (&definition.self_type, &definition.reference_type);
    let (parameters, _, conditions) = definition.generics.split_for_impl();
    let (inner, f) = (local("inner"), local("f"));
    quote! {
        #[automatically_derived]
        impl #parameters ::core::clone::Clone for #reference_type #conditions {
            #[inline]
            fn clone(&self) -> Self {
                Self(::core::clone::Clone::clone(&self.0))
            }
        }

        #[automatically_derived]
        impl #parameters ::core::convert::From<::wigwag::__private::Ref<#self_type>>
            for #reference_type
        #conditions
        {
            #[inline]
            fn from(#inner: ::wigwag::__private::Ref<#self_type>) -> Self {
                Self(#inner)
            }
        }

        #[automatically_derived]
        impl #parameters ::core::convert::AsRef<::wigwag::__private::Ref<#self_type>>
            for #reference_type
        #conditions
        {
            #[inline]
            fn as_ref(&self) -> &::wigwag::__private::Ref<#self_type> {
                &self.0
            }
        }

        #[automatically_derived]
        impl #parameters ::wigwag::__private::PipedReply<#self_type> for #reference_type
        #conditions
        {
            fn into_reference(
                self,
            ) -> ::core::option::Option<::wigwag::__private::Ref<#self_type>> {
                ::core::option::Option::Some(self.0)
            }
        }

        #[automatically_derived]
        impl #parameters ::core::fmt::Debug for #reference_type #conditions {
            fn fmt(&self, #f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Debug::fmt(&self.0, #f)
            }
        }
    }
}

/// Generates `Encode` and `Decode`, so that a reference can be an argument or a reply. Whether it
/// travels is decided by `Ref`.
fn value(definition: &Definition) -> TokenStream {
    let (self_type, reference_type) = (&definition.self_type, &definition.reference_type);
    let (out, reader) = (local("out"), local("reader"));
    let (parameters, _, conditions) = definition.generics.split_for_impl();
    let mut of_reader = definition.generics.clone();
    of_reader.params.insert(0, parse_quote!('wigwag));
    let (decoded, _, _) = of_reader.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #parameters ::wigwag::__private::Encode for #reference_type #conditions {
            const TRAVELS: ::core::primitive::bool =
                <::wigwag::__private::Ref<#self_type> as ::wigwag::__private::Encode>::TRAVELS;
            #[inline]
            fn encode(&self, #out: &mut ::wigwag::__private::Buffer) {
                ::wigwag::__private::Encode::encode(&self.0, #out);
            }
        }

        #[automatically_derived]
        impl #decoded ::wigwag::__private::Decode<'wigwag> for #reference_type #conditions {
            #[inline]
            fn decode(
                #reader: &mut ::wigwag::__private::Reader<'wigwag>,
            ) -> ::core::result::Result<Self, ::wigwag::__private::DecodeError> {
                ::core::result::Result::map(::wigwag::__private::Decode::decode(#reader), Self)
            }
        }
    }
}

fn call(definition: &Definition, method: &Method) -> TokenStream {
    let (self_type, message) = (&definition.self_type, &definition.message);
    let (variant, reply) = (&method.variant, &method.reply);
    let mut name = method.name.clone();
    name.set_span(call_site_at(name.span()));
    let (cfg, attributes) = (method.cfg(), &method.attributes);
    let missing = (!attributes.iter().any(|one| one.path().is_ident("doc"))).then(|| {
        let docs = format!(" The call `{name}`.");
        quote!(#[doc = #docs])
    });
    let parameters = method.arguments.iter().map(|argument| {
        let (name, kind) = (&argument.name, &argument.kind);
        match argument.form {
            ArgumentForm::Owned => quote!(#name: #kind),
            ArgumentForm::Text => quote!(#name: &::core::primitive::str),
            ArgumentForm::Bytes => quote!(#name: &[::core::primitive::u8]),
        }
    });
    let fields = method.arguments.iter().map(field);
    let kind = match method.is_stream {
        true => quote!(::wigwag::Streaming<#self_type, #reply>),
        false => quote!(::wigwag::__private::Call<'_, #self_type, #reply>),
    };
    quote! {
        #cfg
        #missing
        #(#attributes)*
        #[inline]
        pub fn #name(&self, #(#parameters,)*) -> #kind {
            <#kind>::new(&self.0, #message::#variant { #(#fields,)* })
        }
    }
}

fn field(argument: &Argument) -> TokenStream {
    let name = &argument.name;
    match argument.form {
        ArgumentForm::Owned => quote!(#name: #name),
        ArgumentForm::Text => quote!(#name: ::std::string::String::from(#name)),
        ArgumentForm::Bytes => quote!(#name: ::wigwag::__private::Bytes::copy_from_slice(#name)),
    }
}
