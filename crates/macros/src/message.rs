//! Writes the message: an enum with one variant for each call, and how it travels.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::definition::{Definition, local, locals};
use crate::fields::{check, take};
use crate::method::{Method, at};

/// The enum and its `impl Message`.
pub(crate) fn expand(definition: &Definition) -> TokenStream {
    let (message, visibility) = (&definition.message, &definition.visibility);
    let docs = format!(" The calls of `{}`, one variant each.", definition.spelled());
    let variants = definition.methods.iter().map(|one| variant(definition, one));
    let method = number(definition);
    let encode = encode(definition);
    let decode = decode(definition);
    quote! {
        #[doc = #docs]
        #[allow(private_interfaces, reason = "an argument's type may be the crate's own")]
        #visibility enum #message { #(#variants,)* }

        #[automatically_derived]
        impl ::wigwag::__private::Message for #message {
            #method
            #encode
            #decode
        }
    }
}

fn variant(definition: &Definition, method: &Method) -> TokenStream {
    let variant = &method.variant;
    let docs = format!(" The call [`{}::{}`].", definition.reference, method.name);
    let fields = method.arguments.iter().map(|argument| {
        let (name, kind) = (&argument.name, &argument.kind);
        let docs = format!(" The argument `{name}`.");
        quote!(#[doc = #docs] #name: #kind)
    });
    quote!(#[doc = #docs] #variant { #(#fields,)* })
}

fn number(definition: &Definition) -> TokenStream {
    let arms = definition.methods.iter().zip(0u32..).map(|(method, at)| {
        let variant = &method.variant;
        quote!(Self::#variant { .. } => ::wigwag::__private::FIRST_METHOD + #at)
    });
    quote! {
        #[inline]
        fn method(&self) -> ::core::primitive::u32 {
            match self { #(#arms,)* }
        }
    }
}

fn encode(definition: &Definition) -> TokenStream {
    let out = local("out");
    let arms = definition.methods.iter().map(|method| {
        let variant = &method.variant;
        let count = method.arguments.len();
        let names = method.arguments.iter().map(|argument| &argument.name);
        let locals = locals(method);
        let puts = method.arguments.iter().zip(&locals).map(|(argument, local)| {
            quote_spanned! {at(argument.span)=>
                ::wigwag::__private::Encode::encode(#local, #out);
            }
        });
        quote! {
            Self::#variant { #(#names: #locals,)* } => {
                ::wigwag::__private::put_array(#out, #count);
                #(#puts)*
            }
        }
    });
    quote! {
        #[inline]
        fn encode_arguments(&self, #out: &mut ::wigwag::__private::Buffer) {
            match self { #(#arms)* }
        }
    }
}

fn decode(definition: &Definition) -> TokenStream {
    let (method, reader, count) = (local("method"), local("reader"), local("count"));
    let then = local("then");
    let arms = definition.methods.iter().zip(0u32..).map(|(one, at)| {
        let variant = &one.variant;
        let names = one.arguments.iter().map(|argument| &argument.name);
        let required = one.required();
        let values = (0..).zip(&one.arguments).map(|(at, argument)| {
            take(&reader, (at >= required).then_some((at, &count)), argument.span)
        });
        let check = check(&count, required, "argument");
        quote! {
            #at => ::wigwag::__private::nested(#reader, |#reader, #count| {
                let _ = #count;
                #check
                ::core::result::Result::Ok(#then(Self::#variant { #(#names: #values,)* }))
            })
            .map(::core::option::Option::Some),
        }
    });
    quote! {
        #[inline]
        fn decode(
            #method: ::core::primitive::u32,
            #reader: &mut ::wigwag::__private::Reader<'_>,
        ) -> ::core::result::Result<
            ::core::option::Option<Self>,
            ::wigwag::__private::DecodeError,
        > {
            <Self as ::wigwag::__private::Message>::decode_with(#method, #reader, |whole| whole)
        }

        #[inline]
        fn decode_with<Then>(
            #method: ::core::primitive::u32,
            #reader: &mut ::wigwag::__private::Reader<'_>,
            #then: impl ::core::ops::FnOnce(Self) -> Then,
        ) -> ::core::result::Result<
            ::core::option::Option<Then>,
            ::wigwag::__private::DecodeError,
        > {
            match #method.wrapping_sub(::wigwag::__private::FIRST_METHOD) {
                #(#arms)*
                _ => ::core::result::Result::Ok(::core::option::Option::None),
            }
        }
    }
}
