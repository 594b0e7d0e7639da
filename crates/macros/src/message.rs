//! Generates the message: an enum with one variant for each call, and its encoding.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::definition::{Definition, Numbers, local, locals};
use crate::fields::{check, read, take};
use crate::method::{Argument, ArgumentForm, Method, mixed_site_at};

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

fn encode(definition: &Definition) -> TokenStream {
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

fn encode_fixed(definition: &Definition) -> TokenStream {
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

fn decode(definition: &Definition) -> TokenStream {
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
