//! Writes what ties message and actor together: the schema, and the way from a message to the
//! method.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;

use crate::definition::{Definition, local, locals};
use crate::kind;
use crate::message::{arm, body};
use crate::method::{Method, Shape, at};

/// `impl Interface`.
pub(crate) fn interface(definition: &Definition) -> TokenStream {
    let (whole, message) = (&definition.whole, &definition.message);
    let reference = &definition.reference;
    let name = definition.spelled();
    let methods = definition.methods.iter().map(described);
    let replies = definition.methods.iter().map(|method| {
        let reply = &method.reply;
        quote_spanned!(at(method.reply_span)=> reply::<#reply>();)
    });
    quote! {
        #[automatically_derived]
        impl ::wigwag::__private::Interface for #whole {
            type Message = #message;
            type Ref = #reference;
            const SCHEMA: &'static ::wigwag::__private::Schema =
                &::wigwag::__private::Schema::new(#name, &[#(#methods,)*]);
        }

        // Both ends can handle each reply; said here, because only a caller would find out.
        const _: () = {
            const fn reply<R>()
            where
                R: ::wigwag::__private::Encode
                    + for<'wigwag> ::wigwag::__private::Decode<'wigwag>
                    + ::core::marker::Send
                    + 'static,
            {
            }
            #(#replies)*
        };
    }
}

fn described(method: &Method) -> TokenStream {
    let name = method.name.unraw().to_string();
    let reply = kind::spelled(method.reply.clone());
    let arguments = method.arguments.iter().map(|argument| {
        let (name, kind) = (argument.name.unraw().to_string(), argument.spelled());
        quote!(::wigwag::__private::Argument { name: #name, kind: #kind })
    });
    quote! {
        ::wigwag::__private::Method {
            name: #name,
            arguments: &[#(#arguments,)*],
            reply: #reply,
        }
    }
}

/// `impl Life` with nothing but defaults.
pub(crate) fn life(definition: &Definition) -> TokenStream {
    let whole = &definition.whole;
    quote! {
        #[automatically_derived]
        impl ::wigwag::Life for #whole {
            const HAS_HOOKS: ::core::primitive::bool = false;
        }
    }
}

/// `impl Actor`: plain methods run where the message is taken apart, async ones later.
pub(crate) fn actor(definition: &Definition) -> TokenStream {
    let (whole, message) = (&definition.whole, &definition.message);
    let (given, reply, owned) = (local("message"), local("reply"), local("owned"));
    let (plain, later): (Vec<_>, Vec<_>) =
        definition.methods.iter().partition(|method| !method.is_async);
    let done = quote!(::wigwag::__private::Handled::Done);
    let run_now = plain.iter().map(|method| run(definition, method, &done));
    let hand_back = later.iter().map(|method| {
        let variant = &method.variant;
        quote! {
            #given @ #message::#variant { .. } => {
                ::wigwag::__private::Handled::Later(#given)
            }
        }
    });
    let encoded = handle_encoded(definition);
    let same = handle_run(definition);
    let nothing = TokenStream::new();
    let run_later = later.iter().map(|method| run(definition, method, &nothing));
    // The worker hands over only what `handle` gave back, so the rest is never taken.
    let rest = (!plain.is_empty()).then(|| {
        quote! {
            #given => {
                let _ = ::wigwag::__private::Actor::handle(self, #given, #reply);
            }
        }
    });
    quote! {
        #[automatically_derived]
        #[allow(deprecated, reason = "a deprecated call is still answered")]
        impl ::wigwag::__private::Actor for #whole {
            #[inline]
            fn handle(
                &mut self,
                #given: #message,
                #reply: &mut ::wigwag::__private::Reply<'_>,
            ) -> ::wigwag::__private::Handled<#message> {
                match #given {
                    #(#run_now)*
                    #(#hand_back)*
                }
            }

            #encoded

            #same

            async fn handle_later(
                &mut self,
                #given: #message,
                mut #owned: ::wigwag::__private::Reply<'static>,
            ) {
                let #reply = &mut #owned;
                match #given {
                    #(#run_later)*
                    #rest
                }
            }
        }
    }
}

/// From the bytes to the handler: the arguments never meet in a message.
fn handle_encoded(definition: &Definition) -> TokenStream {
    let (method, reader, reply) = (local("method"), local("reader"), local("reply"));
    let message = &definition.message;
    let arms = definition.methods.iter().zip(0u32..).map(|(one, at)| {
        let then = if one.is_async {
            let variant = &one.variant;
            let names = one.arguments.iter().map(|argument| &argument.name);
            let locals = locals(one);
            quote! {
                ::wigwag::__private::Handled::Later(#message::#variant { #(#names: #locals,)* })
            }
        } else {
            let run = call(definition, one, true);
            quote!({ #run ::wigwag::__private::Handled::Done })
        };
        arm(one, at, !one.is_async, &then)
    });
    quote! {
        #[inline]
        fn handle_encoded(
            &mut self,
            #method: ::core::primitive::u32,
            #reader: &mut ::wigwag::__private::Reader<'_>,
            #reply: &mut ::wigwag::__private::Reply<'_>,
        ) -> ::core::result::Result<
            ::core::option::Option<::wigwag::__private::Handled<#message>>,
            ::wigwag::__private::DecodeError,
        > {
            match #method.wrapping_sub(::wigwag::__private::FIRST_METHOD) {
                #(#arms)*
                _ => ::core::result::Result::Ok(::core::option::Option::None),
            }
        }
    }
}

/// The same for calls of one method that follow each other. Those with `async` handlers go one by
/// one.
fn handle_run(definition: &Definition) -> TokenStream {
    let (method, reader, reply) = (local("method"), local("reader"), local("reply"));
    let (calls, message) = (local("calls"), &definition.message);
    let arms = definition.methods.iter().zip(0u32..).filter(|(one, _)| !one.is_async);
    let arms = arms.map(|(one, at)| {
        let run = call(definition, one, true);
        let body = body(one, true, &quote!({ #run }));
        quote!(#at => #calls.each(#reply, |#reader, #reply| #body),)
    });
    quote! {
        #[inline]
        fn handle_run(
            &mut self,
            #method: ::core::primitive::u32,
            #calls: &mut ::wigwag::__private::SameCalls<'_, '_>,
            #reply: &mut ::wigwag::__private::Reply<'_>,
        ) -> ::core::result::Result<
            ::core::option::Option<::wigwag::__private::Handled<#message>>,
            ::wigwag::__private::DecodeError,
        > {
            match #method.wrapping_sub(::wigwag::__private::FIRST_METHOD) {
                #(#arms)*
                _ => ::wigwag::__private::one_by_one(self, #method, #calls, #reply),
            }
        }
    }
}

/// The arm that calls the method and answers; `done` is its value.
fn run(definition: &Definition, method: &Method, done: &TokenStream) -> TokenStream {
    let message = &definition.message;
    let variant = &method.variant;
    let names = method.arguments.iter().map(|argument| &argument.name);
    let locals = locals(method);
    let call = call(definition, method, false);
    quote! {
        #message::#variant { #(#names: #locals,)* } => {
            #call
            #done
        }
    }
}

/// Calls the method with the locals, and answers. `lent`: texts and bytes are borrowed already.
fn call(definition: &Definition, method: &Method, lent: bool) -> TokenStream {
    let (whole, name) = (&definition.whole, &method.name);
    let (value, reply) = (local("value"), local("reply"));
    let locals = locals(method);
    let mut given: Vec<_> = method
        .arguments
        .iter()
        .zip(&locals)
        .map(|(argument, local)| match argument.shape {
            Shape::Owned => quote!(#local),
            Shape::Text | Shape::Bytes if lent => quote!(#local),
            Shape::Text | Shape::Bytes => quote!(&#local),
        })
        .collect();
    // What stands further back is put in first, so that it does not move the other.
    let this = method.this.map(|at| (at, quote!(&::wigwag::__private::this::<#whole>())));
    let owed = method.owed.map(|at| (at, quote!(::wigwag::Owed::new(#reply))));
    let mut own: Vec<_> = this.into_iter().chain(owed).collect();
    own.sort_by_key(|(at, _)| *at);
    for (at, value) in own.into_iter().rev() {
        given.insert(at, value);
    }
    let wait = method.is_async.then(|| quote!(.await));
    if method.owed.is_some() {
        return quote!(<#whole>::#name(self, #(#given,)*) #wait;);
    }
    let send = quote_spanned! {at(method.reply_span)=>
        ::wigwag::__private::Reply::send(#reply, #value);
    };
    quote! {
        let #value = <#whole>::#name(self, #(#given,)*) #wait;
        #send
    }
}
