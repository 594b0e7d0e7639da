//! Generates `impl Actor`: the dispatch from a message, or from its bytes, to the method.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};

use crate::generate::encoding::{arm, body, body_fixed, fixed};
use crate::hygiene::{local, mixed_site_at};
use crate::parse::argument::ArgumentForm;
use crate::parse::definition::{Definition, Numbers, locals};
use crate::parse::method::{Execution, Method};

/// The function that sends a reply.
fn send(definition: &Definition, method: &Method) -> TokenStream {
    let span = mixed_site_at(method.reply_span);
    if definition.is_local() {
        let reply = &method.reply;
        return quote_spanned!(span=> ::wigwag::__private::Reply::send_in_process::<#reply>);
    }
    let reply = method.reply_payload();
    quote_spanned!(span=> ::wigwag::__private::Reply::send::<#reply>)
}

/// Generates `impl Life` with the defaults only.
pub(crate) fn life(definition: &Definition) -> TokenStream {
    let self_type = &definition.self_type;
    let (parameters, _, conditions) = definition.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #parameters ::wigwag::Life for #self_type #conditions {
            const HAS_HOOKS: ::core::primitive::bool = false;
        }
    }
}

/// Generates `impl Actor`: plain methods run where the message is destructured, async ones later.
pub(crate) fn actor(definition: &Definition) -> TokenStream {
    let (self_type, message) = (&definition.self_type, &definition.message);
    let message_type = &definition.message_type;
    let (parameters, _, conditions) = definition.generics.split_for_impl();
    let (given, reply, owned) = (local("message"), local("reply"), local("owned"));
    let (plain, other): (Vec<_>, Vec<_>) =
        definition.methods.iter().partition(|method| method.execution == Execution::Plain);
    let later: Vec<_> =
        other.iter().filter(|method| method.execution == Execution::Async).collect();
    let done = quote!(::wigwag::__private::Handled::Done);
    let run_now = plain.iter().map(|method| run(definition, method, &done));
    let hand_back = other.iter().map(|method| {
        let (variant, handled) = (&method.variant, handled_later(method, &given.to_token_stream()));
        let cfg = method.cfg();
        quote!(#cfg #given @ #message::#variant { .. } => { #handled })
    });
    let side_by_side = side_by_side(definition);
    // A local actor gets no calls as bytes, and the defaults refuse them.
    let (encoded, same) = match definition.is_local() {
        true => (None, None),
        false => (Some(handle_encoded(definition)), Some(handle_run(definition))),
    };
    let nothing = TokenStream::new();
    let run_later = later.iter().map(|method| run(definition, method, &nothing));
    // The worker passes on only the messages that `handle` returned, so this arm is never taken.
    let rest = (later.len() < definition.methods.len()).then(|| {
        quote! {
            #[allow(unreachable_patterns, reason = "a `cfg` may leave no other call")]
            #given => {
                let _ = ::wigwag::__private::Actor::handle(self, #given, #reply);
            }
        }
    });
    quote! {
        #[automatically_derived]
        #[allow(deprecated, reason = "a deprecated call is still answered")]
        impl #parameters ::wigwag::__private::Actor for #self_type #conditions {
            #side_by_side

            #[inline]
            fn handle(
                &mut self,
                #given: #message_type,
                #reply: &mut ::wigwag::__private::Reply<'_>,
            ) -> ::wigwag::__private::Handled<#message_type> {
                match #given {
                    #(#run_now)*
                    #(#hand_back)*
                }
            }

            #encoded

            #same

            async fn handle_later(
                &mut self,
                #given: #message_type,
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

/// The value that `handle` returns for a call whose handler may wait.
fn handled_later(method: &Method, given: &TokenStream) -> TokenStream {
    match method.execution {
        Execution::SideBySide { .. } => quote!(::wigwag::__private::Handled::SideBySide(#given)),
        Execution::Plain | Execution::Async => quote!(::wigwag::__private::Handled::Later(#given)),
    }
}

/// Generates the entry of handlers that run side by side, and the keys of their calls.
fn side_by_side(definition: &Definition) -> TokenStream {
    let (self_type, message) = (&definition.self_type, &definition.message);
    let message_type = &definition.message_type;
    let (given_message, value) = (local("message"), local("value"));
    let (owned, keys) = (local("owned"), local("keys"));
    let mut firsts = Vec::new();
    let mut hashes = Vec::new();
    for method in &definition.methods {
        let Execution::SideBySide { key, is_cancellable } = method.execution else { continue };
        let (variant, name, locals) = (&method.variant, &method.name, locals(method));
        let names: Vec<_> = method.arguments.iter().map(|argument| &argument.name).collect();
        let given = given(definition, method, false);
        let send = send(definition, method);
        let make = if is_cancellable { quote!(cancellable_work) } else { quote!(work) };
        let work = quote_spanned! {mixed_site_at(method.reply_span)=>
            ::wigwag::__private::#make(#owned, #value, #send)
        };
        let cfg = method.cfg();
        firsts.push(quote! {
            #cfg
            #message::#variant { #(#names: #locals,)* } => {
                let #value = <#self_type>::#name(self, #(#given,)*);
                ::core::option::Option::Some(#work)
            }
        });
        let Some((key, at_key)) = key.map(|key| (key, mixed_site_at(method.arguments[key].span)))
        else {
            continue;
        };
        let (name, mut local) = (names[key], locals[key].clone());
        local.set_span(at_key);
        let hash = quote_spanned! {at_key=> ::core::hash::BuildHasher::hash_one(#keys, #local) };
        hashes.push(quote! {
            #cfg
            #message::#variant { #name: #local, .. } => ::core::option::Option::Some(#hash),
        });
    }
    if firsts.is_empty() {
        return TokenStream::new();
    }
    let none = |arms: &[TokenStream]| {
        (arms.len() < definition.methods.len()).then(|| {
            quote! {
                #[allow(unreachable_patterns, reason = "a `cfg` may leave no other call")]
                _ => ::core::option::Option::None,
            }
        })
    };
    let (no_first, no_key) = (none(&firsts), none(&hashes));
    quote! {
        const SIDE_BY_SIDE: ::core::primitive::bool = true;

        fn handle_side_by_side(
            &mut self,
            #given_message: #message_type,
            #owned: ::wigwag::__private::Reply<'static>,
        ) -> ::core::option::Option<::wigwag::__private::Work> {
            match #given_message {
                #(#firsts)*
                #no_first
            }
        }

        fn serial_key(
            #given_message: &#message_type,
            #keys: &::std::hash::RandomState,
        ) -> ::core::option::Option<::core::primitive::u64> {
            match #given_message {
                #(#hashes)*
                #no_key
            }
        }
    }
}

/// Generates the dispatch from bytes to the handler, without building a message.
fn handle_encoded(definition: &Definition) -> TokenStream {
    let (reader, message) = (local("reader"), &definition.message);
    let Numbers { constants, values } = definition.numbers();
    let arms = definition.methods.iter().zip(&values).map(|(one, at)| {
        let is_plain = one.execution == Execution::Plain;
        let then = if is_plain {
            let run = call(definition, one, true);
            quote!({ #run ::wigwag::__private::Handled::Done })
        } else {
            let variant = &one.variant;
            let names = one.arguments.iter().map(|argument| &argument.name);
            let locals = locals(one);
            handled_later(one, &quote!(#message::#variant { #(#names: #locals,)* }))
        };
        arm(one, at, is_plain, &then)
    });
    // It has two callers: a loop that must not leave it, and a function of its own.
    let head = quote!(#[inline(always)] fn handle_encoded);
    let input = quote!(#reader: &mut ::wigwag::__private::Reader<'_>);
    let rest = quote!(::core::result::Result::Ok(::core::option::Option::None));
    by_number(definition, &head, &input, &constants, &quote!(#(#arms)* _ => #rest,))
}

/// Generates the dispatch for consecutive calls of one method. Methods whose handlers may wait or
/// that answer with streams are handled one by one.
fn handle_run(definition: &Definition) -> TokenStream {
    let (method, reader, reply) = (local("method"), local("reader"), local("reply"));
    let (calls, fixed_width) = (local("calls"), local("fixed"));
    let Numbers { constants, values } = definition.numbers();
    let arms = definition.methods.iter().zip(values);
    let arms = arms.filter(|(one, _)| one.execution == Execution::Plain && !one.is_stream);
    let arms = arms.map(|(one, at)| {
        let (cfg, run) = (one.cfg(), call(definition, one, true));
        let body = body(one, true, &quote!({ #run }));
        let each = quote!(#calls.each(#reply, |#reader, #reply| #body));
        // Methods without a reply are usually told. For these, the handler is instantiated a second
        // time.
        if one.arguments.is_empty() || one.reply.to_string() != "()" {
            return quote!(#cfg #at => #each,);
        }
        let (fixed, body) = (fixed(one), body_fixed(one, &quote!({ #run })));
        quote! {
            #cfg
            #at => {
                if const { #fixed.is_some() } {
                    let #fixed_width = const { #fixed };
                    #calls.tells_fixed(#fixed_width, |#reader, #reply| #body)?;
                }
                #each
            }
        }
    });
    let head = quote!(#[inline] fn handle_run);
    let input = quote!(#calls: &mut ::wigwag::__private::SameCalls<'_, '_>);
    let rest = quote!(::wigwag::__private::one_by_one(self, #method, #calls, #reply));
    by_number(definition, &head, &input, &constants, &quote!(#(#arms)* _ => #rest,))
}

/// Generates a function that takes the method's number, `input`, and the reply, and dispatches by the
/// number, counted from the first one of the actor's own methods.
fn by_number(
    definition: &Definition,
    head: &TokenStream,
    input: &TokenStream,
    constants: &TokenStream,
    arms: &TokenStream,
) -> TokenStream {
    let (method, reply) = (local("method"), local("reply"));
    let message_type = &definition.message_type;
    quote! {
        #head(
            &mut self,
            #method: ::core::primitive::u32,
            #input,
            #reply: &mut ::wigwag::__private::Reply<'_>,
        ) -> ::core::result::Result<
            ::core::option::Option<::wigwag::__private::Handled<#message_type>>,
            ::wigwag::__private::DecodeError,
        > {
            #constants
            match #method.wrapping_sub(::wigwag::__private::FIRST_METHOD) {
                #arms
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
    let (cfg, call) = (method.cfg(), call(definition, method, false));
    quote! {
        #cfg
        #message::#variant { #(#names: #locals,)* } => {
            #call
            #done
        }
    }
}

/// Code that calls the method with the locals, and answers. `lent`: texts and bytes are borrowed
/// already.
fn call(definition: &Definition, method: &Method, lent: bool) -> TokenStream {
    let (self_type, name) = (&definition.self_type, &method.name);
    let (value, reply) = (local("value"), local("reply"));
    let given = given(definition, method, lent);
    let wait = (method.execution == Execution::Async).then(|| quote!(.await));
    if method.deferred.is_some() {
        return quote!(<#self_type>::#name(self, #(#given,)*) #wait;);
    }
    let send = send(definition, method);
    let send = quote_spanned!(mixed_site_at(method.reply_span)=> #send(#reply, #value););
    quote! {
        let #value = <#self_type>::#name(self, #(#given,)*) #wait;
        #send
    }
}

/// The arguments that the method is called with, after `self`.
fn given(definition: &Definition, method: &Method, lent: bool) -> Vec<TokenStream> {
    let (self_type, reply, locals) = (&definition.self_type, local("reply"), locals(method));
    let mut given: Vec<_> = method
        .arguments
        .iter()
        .zip(&locals)
        .map(|(argument, local)| match argument.form {
            ArgumentForm::Owned => quote!(#local),
            ArgumentForm::Text | ArgumentForm::Bytes if lent => quote!(#local),
            ArgumentForm::Text | ArgumentForm::Bytes => quote!(&#local),
        })
        .collect();
    // Insert from the back, so that one insertion does not shift the position of the other.
    let this = method.this.map(|at| (at, quote!(&::wigwag::__private::this::<#self_type>())));
    let deferred = method.deferred.map(|at| {
        let made = if method.is_stream {
            match definition.is_local() {
                true => quote!(::wigwag::Yield::in_process(#reply)),
                false => quote!(::wigwag::Yield::new(#reply)),
            }
        } else {
            let send = send(definition, method);
            quote!(::wigwag::Responder::new(#reply, #send))
        };
        (at, made)
    });
    let mut own: Vec<_> = this.into_iter().chain(deferred).collect();
    own.sort_by_key(|(at, _)| *at);
    for (at, value) in own.into_iter().rev() {
        given.insert(at, value);
    }
    given
}
