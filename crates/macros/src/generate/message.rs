//! Generates the message: an enum with one variant for each call, and what is known of a call without its values.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::generate::encoding::{decode, encode, encode_fixed};
use crate::hygiene::mixed_site_at;
use crate::parse::definition::{Definition, Numbers};
use crate::parse::method::Method;

/// Generates the enum and its `impl Message`.
pub(crate) fn expand(definition: &Definition) -> TokenStream {
    let (message, visibility) = (&definition.message, &definition.visibility);
    let docs = format!(" The calls of `{}`, one variant each.", definition.spelled());
    let variants = definition.methods.iter().map(|one| variant(definition, one));
    let any_call = any_call(definition);
    let method = number(definition);
    let codec = match definition.is_local() {
        true => no_codec(),
        false => {
            let parts = [travels, is_plain, encode, encode_fixed, decode];
            parts.into_iter().map(|part| part(definition)).collect()
        }
    };
    let (parameters, _, conditions) = definition.generics.split_for_impl();
    let (message_type, never) = (&definition.message_type, definition.never());
    quote! {
        #any_call

        #[doc = #docs]
        #[allow(private_interfaces, reason = "an argument's type may be private to the crate")]
        #visibility enum #message #parameters #conditions { #(#variants,)* #never }

        #[automatically_derived]
        impl #parameters ::wigwag::__private::Message for #message_type #conditions {
            #method
            #codec
        }
    }
}

/// Refuses a build in which no call exists.
fn any_call(definition: &Definition) -> Option<TokenStream> {
    let conditions: Option<Vec<_>> = definition.methods.iter().map(Method::condition).collect();
    let conditions = conditions.filter(|all| !all.is_empty())?;
    let text = format!("`{}` has no call in this build", definition.spelled());
    let span = mixed_site_at(definition.name.span());
    Some(quote_spanned! {span=>
        #[cfg(not(any(#(#conditions),*)))]
        ::core::compile_error!(#text);
    })
}

fn variant(definition: &Definition, method: &Method) -> TokenStream {
    let (variant, cfg) = (&method.variant, method.cfg());
    let docs = format!(" The call [`{}::{}`].", definition.reference, method.name);
    let fields = method.arguments.iter().map(|argument| {
        let (name, kind) = (&argument.name, &argument.kind);
        let docs = format!(" The argument `{name}`.");
        quote!(#[doc = #docs] #name: #kind)
    });
    quote!(#cfg #[doc = #docs] #variant { #(#fields,)* })
}

fn number(definition: &Definition) -> TokenStream {
    let Numbers { constants, values } = definition.numbers();
    let arms = definition.methods.iter().zip(values).map(|(method, at)| {
        let (variant, cfg) = (&method.variant, method.cfg());
        quote!(#cfg Self::#variant { .. } => ::wigwag::__private::FIRST_METHOD + #at)
    });
    let never = definition.never_arm();
    quote! {
        #[inline]
        fn method(&self) -> ::core::primitive::u32 {
            #constants
            match self { #(#arms,)* #never }
        }
    }
}

/// Generates the codec of a local actor: no call travels, so none is written or read.
fn no_codec() -> TokenStream {
    quote! {
        #[inline(always)]
        fn travels(&self) -> ::core::primitive::bool {
            false
        }

        fn encode_arguments(&self, _: &mut ::wigwag::__private::Buffer) {}

        fn decode(
            _: ::core::primitive::u32,
            _: &mut ::wigwag::__private::Reader<'_>,
        ) -> ::core::result::Result<
            ::core::option::Option<Self>,
            ::wigwag::__private::DecodeError,
        > {
            ::core::result::Result::Err(::wigwag::__private::DecodeError::NotSerializable)
        }
    }
}

/// Generates `travels`. A call that is answered with a stream travels only if its items do.
fn travels(definition: &Definition) -> TokenStream {
    of_calls(definition, &quote!(travels), |method| match method.is_stream {
        true => {
            let (arguments, item) =
                (all_arguments(method, &quote!(TRAVELS)), method.reply_payload());
            quote_spanned! {mixed_site_at(method.reply_span)=>
                #arguments && <#item as ::wigwag::__private::Encode>::TRAVELS
            }
        }
        false => all_arguments(method, &quote!(TRAVELS)),
    })
}

/// Generates `is_plain`.
fn is_plain(definition: &Definition) -> TokenStream {
    let of_method = |method: &Method| all_arguments(method, &quote!(IS_PLAIN));
    of_calls(definition, &quote!(is_plain), of_method)
}

/// An expression that is true if this constant of `Encode` is true for all arguments.
fn all_arguments(method: &Method, constant: &TokenStream) -> TokenStream {
    let kinds = method.arguments.iter().map(|argument| {
        let kind = argument.payload();
        quote_spanned! {mixed_site_at(argument.span)=>
            && <#kind as ::wigwag::__private::Encode>::#constant
        }
    });
    quote!(true #(#kinds)*)
}

/// Generates a function with one constant for each call, and a single one if it is true for all
/// calls.
fn of_calls(
    definition: &Definition,
    name: &TokenStream,
    of_method: impl Fn(&Method) -> TokenStream,
) -> TokenStream {
    let answers: Vec<_> = definition.methods.iter().map(of_method).collect();
    let arms = definition.methods.iter().zip(&answers).map(|(method, answer)| {
        let (variant, cfg) = (&method.variant, method.cfg());
        quote!(#cfg Self::#variant { .. } => const { #answer })
    });
    let (cfgs, never) = (definition.methods.iter().map(Method::cfg), definition.never_arm());
    quote! {
        #[inline(always)]
        fn #name(&self) -> ::core::primitive::bool {
            if const { ::wigwag::__private::all(&[#(#cfgs { #answers },)*]) } {
                return true;
            }
            match self { #(#arms,)* #never }
        }
    }
}
