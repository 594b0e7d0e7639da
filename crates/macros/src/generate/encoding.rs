//! Generates how calls are encoded and decoded.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::generate::fields::{check, read, take};
use crate::hygiene::{local, mixed_site_at};
use crate::parse::argument::{Argument, ArgumentForm};
use crate::parse::definition::{Definition, Numbers, locals};
use crate::parse::method::Method;

pub(super) fn encode(definition: &Definition) -> TokenStream {
    let (out, scratch, place) = (local("out"), local("scratch"), local("place"));
    let is_small = local("is_small");
    let small = definition.methods.iter().map(|method| {
        let (variant, cfg) = (&method.variant, method.cfg());
        let count = method.arguments.len();
        let names = method.arguments.iter().map(|argument| &argument.name);
        let locals = locals(method);
        let kinds: Vec<_> = method.arguments.iter().map(Argument::payload).collect();
        let puts = kinds.iter().zip(&locals).map(|(kind, local)| {
            quote! {
                let #place =
                    <#kind as ::wigwag::__private::Encode>::encode_small(#local, #scratch, #place);
            }
        });
        quote! {
            #cfg
            Self::#variant { #(#names: #locals,)* } => {
                let #is_small = const {
                    ::wigwag::__private::small::array(&[
                        #(<#kinds as ::wigwag::__private::Encode>::SMALL_BYTES,)*
                    ]) <= ::wigwag::__private::small::SMALL_BYTES_MAX
                };
                if !#is_small {
                    return ::core::option::Option::None;
                }
                let #place = ::wigwag::__private::small::put_array(#scratch, #place, #count);
                #(#puts)*
                ::core::option::Option::Some(#place)
            }
        }
    });
    let arms = definition.methods.iter().map(|method| {
        let (variant, cfg) = (&method.variant, method.cfg());
        let count = method.arguments.len();
        let names = method.arguments.iter().map(|argument| &argument.name);
        let locals = locals(method);
        let puts = method.arguments.iter().zip(&locals).map(|(argument, local)| {
            let kind = argument.payload();
            quote_spanned! {mixed_site_at(argument.span)=>
                <#kind as ::wigwag::__private::Encode>::encode(#local, #out);
            }
        });
        quote! {
            #cfg
            Self::#variant { #(#names: #locals,)* } => {
                ::wigwag::__private::put_array(#out, #count);
                #(#puts)*
            }
        }
    });
    let never = definition.never_arm();
    quote! {
        #[inline]
        fn encode_arguments(&self, #out: &mut ::wigwag::__private::Buffer) {
            match self { #(#arms)* #never }
        }

        #[inline(always)]
        fn encode_small(
            &self,
            #scratch: &mut ::wigwag::__private::small::Scratch,
            #place: ::core::primitive::usize,
        ) -> ::core::option::Option<::core::primitive::usize> {
            match self { #(#small)* #never }
        }
    }
}

pub(super) fn encode_fixed(definition: &Definition) -> TokenStream {
    let (scratch, place) = (local("scratch"), local("place"));
    let arms = definition.methods.iter().map(|method| {
        let (variant, cfg) = (&method.variant, method.cfg());
        let names = method.arguments.iter().map(|argument| &argument.name);
        let locals = locals(method);
        let fixed = fixed(method);
        let puts = method.arguments.iter().zip(&locals).map(|(argument, local)| {
            let kind = argument.payload();
            quote! {
                let #place =
                    <#kind as ::wigwag::__private::Encode>::put_fixed(#local, #scratch, #place);
            }
        });
        quote! {
            #cfg
            Self::#variant { #(#names: #locals,)* } => {
                if !const { #fixed.is_some() } {
                    return ::core::option::Option::None;
                }
                let #place = ::wigwag::__private::fixed::put_mark(#scratch, #place);
                #(#puts)*
                ::core::option::Option::Some(#place)
            }
        }
    });
    let never = definition.never_arm();
    quote! {
        #[inline(always)]
        fn encode_fixed(
            &self,
            #scratch: &mut ::wigwag::__private::small::Scratch,
            #place: ::core::primitive::usize,
        ) -> ::core::option::Option<::core::primitive::usize> {
            match self { #(#arms)* #never }
        }
    }
}

/// The fixed width of all arguments of a method, as a constant expression.
pub(crate) fn fixed(method: &Method) -> TokenStream {
    let kinds = method.arguments.iter().map(|argument| {
        let kind = argument.payload();
        quote_spanned!(mixed_site_at(argument.span)=> <#kind as ::wigwag::__private::Encode>::FIXED)
    });
    quote!(::wigwag::__private::fixed::FixedWidth::all(&[#(#kinds,)*]))
}

pub(super) fn decode(definition: &Definition) -> TokenStream {
    let (method, reader) = (local("method"), local("reader"));
    let Numbers { constants, values } = definition.numbers();
    let arms = definition.methods.iter().zip(&values).map(|(one, at)| {
        let variant = &one.variant;
        let names = one.arguments.iter().map(|argument| &argument.name);
        let locals = locals(one);
        let value = quote!(Self::#variant { #(#names: #locals,)* });
        arm(one, at, false, &value)
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
            #constants
            match #method.wrapping_sub(::wigwag::__private::FIRST_METHOD) {
                #(#arms)*
                _ => ::core::result::Result::Ok(::core::option::Option::None),
            }
        }
    }
}

/// The arm for method number `at`: reads its arguments into locals and evaluates `then`. `lend`:
/// texts and bytes are borrowed from the input.
pub(crate) fn arm(
    method: &Method,
    at: &TokenStream,
    lend: bool,
    then: &TokenStream,
) -> TokenStream {
    let (cfg, body) = (method.cfg(), body(method, lend, then));
    quote! {
        #cfg
        #at => ::core::result::Result::map(#body, ::core::option::Option::Some),
    }
}

/// Code that reads the arguments of a call into locals, in either encoding, and evaluates `then`;
/// its value is a `Result`.
pub(crate) fn body(method: &Method, lend: bool, then: &TokenStream) -> TokenStream {
    let (reader, count, fixed) = (local("reader"), local("count"), fixed(method));
    let required = method.required();
    let (locals, kinds) = (locals(method), kinds(method, lend));
    let takes = (0..).zip(&method.arguments).map(|(at, argument)| {
        let read = read(&reader, &read_as(argument, lend, true), argument.span);
        take(read, (at >= required).then_some((at, &count)))
    });
    let takes_fixed = takes_fixed(method, lend);
    let check = check(&count, required, "argument");
    if method.arguments.is_empty() {
        return quote! {
            ::wigwag::__private::nested(#reader, |_, _| ::core::result::Result::Ok(#then))
        };
    }
    quote! {
        {
            let (#(#locals,)*): (#(#kinds,)*) =
                if ::wigwag::__private::fixed::take_mark(#reader, const { #fixed })? {
                    #takes_fixed
                } else {
                    ::wigwag::__private::nested(#reader, |#reader, #count| {
                        let _ = #count;
                        #check
                        ::core::result::Result::Ok((#(#takes,)*))
                    })?
                };
            ::core::result::Result::Ok(#then)
        }
    }
}

/// Code that reads fixed-width arguments, whose mark was skipped, into locals and evaluates `then`;
/// its value is a `Result`.
pub(crate) fn body_fixed(method: &Method, then: &TokenStream) -> TokenStream {
    let (locals, kinds) = (locals(method), kinds(method, true));
    let takes_fixed = takes_fixed(method, true);
    quote! {
        {
            let (#(#locals,)*): (#(#kinds,)*) = #takes_fixed;
            ::core::result::Result::Ok(#then)
        }
    }
}

/// The types that the arguments are read as.
fn kinds(method: &Method, lend: bool) -> Vec<TokenStream> {
    method.arguments.iter().map(|argument| read_as(argument, lend, false)).collect()
}

/// The type that an argument is read as; `is_read`: where it is read.
fn read_as(argument: &Argument, lend: bool, is_read: bool) -> TokenStream {
    match argument.form {
        ArgumentForm::Text if lend => quote!(&::core::primitive::str),
        ArgumentForm::Bytes if lend => quote!(&[::core::primitive::u8]),
        _ if is_read => argument.payload(),
        _ => argument.kind.clone(),
    }
}

fn takes_fixed(method: &Method, lend: bool) -> TokenStream {
    let reader = local("reader");
    let takes = method.arguments.iter().map(|one| {
        let kind = read_as(one, lend, true);
        quote_spanned! {mixed_site_at(one.span)=>
            <#kind as ::wigwag::__private::Decode<'_>>::take_fixed(#reader)?
        }
    });
    quote!((#(#takes,)*))
}
