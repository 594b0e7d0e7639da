//! Writes what ties message and actor together: the schema, and the way from a message to the
//! method.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::definition::{Definition, local, locals};
use crate::kind;
use crate::message::{arm, body, body_fixed, fixed, only_here};
use crate::method::{Method, Runs, Shape, at};

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
    let mut reply = kind::spelled(method.reply.clone());
    if method.is_stream {
        reply = format!("Stream<{reply}>");
    }
    let arguments = method.arguments.iter().map(|argument| {
        let (name, kind) = (argument.name.unraw().to_string(), argument.spelled());
        let held = &argument.kind;
        quote_spanned! {at(argument.span)=>
            ::wigwag::__private::Argument {
                name: #name,
                kind: #kind,
                fixed: <#held as ::wigwag::__private::Encode>::FIXED,
            }
        }
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
    let (plain, other): (Vec<_>, Vec<_>) =
        definition.methods.iter().partition(|method| method.runs == Runs::Plain);
    let later: Vec<_> = other.iter().filter(|method| method.runs == Runs::Async).collect();
    let done = quote!(::wigwag::__private::Handled::Done);
    let run_now = plain.iter().map(|method| run(definition, method, &done));
    let hand_back = other.iter().map(|method| {
        let (variant, handled) = (&method.variant, handed_back(method, &given.to_token_stream()));
        quote!(#given @ #message::#variant { .. } => { #handled })
    });
    let encoded = handle_encoded(definition);
    let side_by_side = side_by_side(definition);
    let same = handle_run(definition);
    let nothing = TokenStream::new();
    let run_later = later.iter().map(|method| run(definition, method, &nothing));
    // The worker hands over only what `handle` gave back, so the rest is never taken.
    let rest = (later.len() < definition.methods.len()).then(|| {
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
            #side_by_side

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

/// What is done with a call whose handler may wait.
fn handed_back(method: &Method, given: &TokenStream) -> TokenStream {
    match method.runs {
        Runs::SideBySide(_) => quote!(::wigwag::__private::Handled::SideBySide(#given)),
        Runs::Plain | Runs::Async => quote!(::wigwag::__private::Handled::Later(#given)),
    }
}

/// The first parts of handlers that run side by side, and the keys of their calls.
fn side_by_side(definition: &Definition) -> TokenStream {
    let (whole, message) = (&definition.whole, &definition.message);
    let (given_message, value) = (local("message"), local("value"));
    let (owned, keys) = (local("owned"), local("keys"));
    let mut firsts = Vec::new();
    let mut hashes = Vec::new();
    for method in &definition.methods {
        let Runs::SideBySide(key) = method.runs else { continue };
        let (variant, name, locals) = (&method.variant, &method.name, locals(method));
        let names: Vec<_> = method.arguments.iter().map(|argument| &argument.name).collect();
        let given = given(definition, method, false);
        let work = quote_spanned! {at(method.reply_span)=>
            ::wigwag::__private::work(#owned, #value)
        };
        firsts.push(quote! {
            #message::#variant { #(#names: #locals,)* } => {
                let #value = <#whole>::#name(self, #(#given,)*);
                ::core::option::Option::Some(#work)
            }
        });
        let Some((key, at_key)) = key.map(|key| (key, at(method.arguments[key].span))) else {
            continue;
        };
        let (name, mut local) = (names[key], locals[key].clone());
        local.set_span(at_key);
        let hash = quote_spanned! {at_key=> ::core::hash::BuildHasher::hash_one(#keys, #local) };
        hashes.push(quote! {
            #message::#variant { #name: #local, .. } => ::core::option::Option::Some(#hash),
        });
    }
    if firsts.is_empty() {
        return TokenStream::new();
    }
    let none = |arms: &[TokenStream]| {
        (arms.len() < definition.methods.len()).then(|| quote!(_ => ::core::option::Option::None,))
    };
    let (no_first, no_key) = (none(&firsts), none(&hashes));
    quote! {
        const SIDE_BY_SIDE: ::core::primitive::bool = true;

        fn handle_side_by_side(
            &mut self,
            #given_message: #message,
            #owned: ::wigwag::__private::Reply<'static>,
        ) -> ::core::option::Option<::wigwag::__private::Work> {
            match #given_message {
                #(#firsts)*
                #no_first
            }
        }

        fn serial_key(
            #given_message: &#message,
            #keys: &::std::hash::RandomState,
        ) -> ::core::option::Option<::core::primitive::u64> {
            match #given_message {
                #(#hashes)*
                #no_key
            }
        }
    }
}

/// From the bytes to the handler: the arguments never meet in a message.
fn handle_encoded(definition: &Definition) -> TokenStream {
    let (method, reader, reply) = (local("method"), local("reader"), local("reply"));
    let message = &definition.message;
    let arms = definition.methods.iter().zip(0u32..).map(|(one, at)| {
        if one.is_stream {
            return only_here(at);
        }
        let is_plain = one.runs == Runs::Plain;
        let then = if is_plain {
            let run = call(definition, one, true);
            quote!({ #run ::wigwag::__private::Handled::Done })
        } else {
            let variant = &one.variant;
            let names = one.arguments.iter().map(|argument| &argument.name);
            let locals = locals(one);
            handed_back(one, &quote!(#message::#variant { #(#names: #locals,)* }))
        };
        arm(one, at, is_plain, &then)
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

/// The same for calls of one method that follow each other. Those whose handlers may wait and those
/// that answer with streams go one by one.
fn handle_run(definition: &Definition) -> TokenStream {
    let (method, reader, reply) = (local("method"), local("reader"), local("reply"));
    let (calls, message) = (local("calls"), &definition.message);
    let fixed_width = local("fixed");
    let arms = definition.methods.iter().zip(0u32..);
    let arms = arms.filter(|(one, _)| one.runs == Runs::Plain && !one.is_stream);
    let arms = arms.map(|(one, at)| {
        let run = call(definition, one, true);
        let body = body(one, true, &quote!({ #run }));
        let each = quote!(#calls.each(#reply, |#reader, #reply| #body));
        if one.arguments.is_empty() {
            return quote!(#at => #each,);
        }
        let (fixed, body) = (fixed(one), body_fixed(one, &quote!({ #run })));
        let handle = quote!(|#reader, #reply| #body);
        // What has no reply is told as a rule, and what has one is asked. The handler is there once
        // more for that; what is not the rule goes with the rest.
        let fast = if one.reply.to_string() == "()" {
            quote!(#calls.tells_fixed(#fixed_width, #handle)?;)
        } else {
            quote!(#calls.asks_fixed(#reply, #fixed_width, #handle)?;)
        };
        quote! {
            #at => {
                if const { #fixed.is_some() } {
                    let #fixed_width = const { #fixed };
                    #fast
                }
                #each
            }
        }
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
    let given = given(definition, method, lent);
    let wait = (method.runs == Runs::Async).then(|| quote!(.await));
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

/// What the method is called with, behind `self`.
fn given(definition: &Definition, method: &Method, lent: bool) -> Vec<TokenStream> {
    let (whole, reply, locals) = (&definition.whole, local("reply"), locals(method));
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
    let owed = method.owed.map(|at| {
        let kind = if method.is_stream { quote!(Yield) } else { quote!(Responder) };
        (at, quote!(::wigwag::#kind::new(#reply)))
    });
    let mut own: Vec<_> = this.into_iter().chain(owed).collect();
    own.sort_by_key(|(at, _)| *at);
    for (at, value) in own.into_iter().rev() {
        given.insert(at, value);
    }
    given
}
