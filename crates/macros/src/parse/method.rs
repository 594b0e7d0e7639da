//! One call, parsed from the signature of a method.
//!
//! A signature that cannot become a message is refused here, at the place where it is written and
//! with advice on what to write instead.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt;
use syn::{
    Attribute, FnArg, GenericParam, Ident, ImplItem, ImplItemFn, Receiver, ReceiverKind, Safety,
    Signature, Visibility,
};

use crate::errors::Errors;
use crate::hygiene::call_site_at;
use crate::parse::argument::{Argument, is_this};
use crate::parse::definition::Reach;
use crate::parse::reply::{DeferredReply, read_reply, read_type};
use crate::parse::route::{self, Route};
use crate::parse::side_by_side::{self, SideBySide};
use crate::parse::{comment, former, kind};

/// Most arguments of one call. More of them are better put into a struct, whose fields have names
/// at the caller.
const ARGUMENTS_MAX: usize = 12;

/// Names of the reference's own methods.
const NAMES_TAKEN: [&str; 5] = ["call", "pipeline", "clone", "as_ref", "from"];

/// A method that is a call.
pub(crate) struct Method {
    pub(crate) name: Ident,
    /// Its names in earlier versions.
    pub(crate) former: Vec<String>,
    /// The routes under which an HTTP gateway calls it.
    pub(crate) routes: Vec<Route>,
    /// The name of its variant in the message enum.
    pub(crate) variant: Ident,
    /// The text of its doc comment.
    pub(crate) comment: String,
    /// Its docs and `#[deprecated]`, which the reference's method repeats.
    pub(crate) attributes: Vec<Attribute>,
    /// Its `#[cfg(…)]`, which every item that is generated for it repeats.
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) execution: Execution,
    pub(crate) arguments: Vec<Argument>,
    /// The argument before which the handler takes `&This<Self>`, which is not part of the call.
    pub(crate) this: Option<usize>,
    /// The argument before which the handler takes its deferred reply.
    pub(crate) deferred: Option<usize>,
    /// The deferred reply is a stream, and `reply` is the type of its items.
    pub(crate) is_stream: bool,
    /// The type of the reply; `()` if none is written.
    pub(crate) reply: TokenStream,
    pub(crate) reply_span: Span,
}

/// How the handler of a call runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Execution {
    /// As a plain method.
    Plain,
    /// As an `async` method, which borrows the actor.
    Async,
    /// Its first part with the actor, the rest side by side with others.
    SideBySide {
        /// The argument by which calls run in order, if one is named.
        key: Option<usize>,
        /// The rest ends when the caller waits no longer.
        is_cancellable: bool,
    },
}

impl Method {
    /// Parses a method that takes `self` in some form. `self_type` is the type that `Self` stands
    /// for.
    pub(crate) fn read(
        attributes: &[Attribute],
        signature: &Signature,
        self_type: &TokenStream,
        reach: Reach,
        errors: &mut Errors,
    ) -> Method {
        let name = signature.ident.clone();
        check_name(&name, errors);
        check_signature(signature, errors);
        let side_by_side = SideBySide::read(attributes, signature, errors);
        let is_async = signature.asyncness.is_some();
        let (mut arguments, mut this, mut deferred) = (Vec::new(), None, None);
        for input in &signature.inputs {
            match input {
                FnArg::Receiver(receiver) => check_receiver(receiver, errors),
                FnArg::Typed(typed) if this.is_none() && is_this(&typed.ty) => {
                    this = Some(arguments.len());
                }
                FnArg::Typed(typed)
                    if deferred.is_none() && DeferredReply::read(&typed.ty).is_some() =>
                {
                    deferred = DeferredReply::read(&typed.ty).map(|later| (arguments.len(), later));
                }
                FnArg::Typed(typed) if DeferredReply::read(&typed.ty).is_some() => errors.add(
                    &typed.ty,
                    "a call has one reply: take one `Responder<…>` or one `Yield<…>`",
                ),
                FnArg::Typed(typed) => {
                    arguments.extend(Argument::read(typed, is_async, self_type, reach, errors));
                }
            }
        }
        let own = usize::from(this.is_some()) + usize::from(deferred.is_some());
        if let Some(first_too_many) = signature.inputs.iter().nth(ARGUMENTS_MAX + 1 + own) {
            errors.add(
                first_too_many,
                format!(
                    "a call takes at most {ARGUMENTS_MAX} arguments: put them into a struct with \
                     #[derive(wigwag::Message)] and take that"
                ),
            );
        }
        let later = side_by_side.as_ref().and_then(|_| side_by_side::awaited(&signature.output));
        let (mut reply, mut reply_span) = match (later, &side_by_side) {
            (Some(later), _) => read_type(later, self_type, reach, errors),
            // Another return type was already refused.
            (None, Some(_)) => (quote!(()), name.span()),
            (None, None) => read_reply(&signature.output, &name, self_type, reach, errors),
        };
        if let Some((_, later)) = &deferred {
            later.check(side_by_side.is_some(), &signature.output, errors);
            (reply, reply_span) = read_type(later.reply, self_type, reach, errors);
        }
        let execution = match &side_by_side {
            Some(side_by_side) => Execution::SideBySide {
                key: side_by_side.key_at(&arguments, errors),
                is_cancellable: side_by_side.is_cancellable,
            },
            None if is_async => Execution::Async,
            None => Execution::Plain,
        };
        Method {
            former: former::read(attributes, &name, errors),
            routes: route::read(attributes, arguments.iter().map(|one| &one.name), errors),
            variant: variant(&name, errors),
            comment: comment::read(attributes),
            attributes: kept(attributes, &["doc", "deprecated"]),
            cfgs: kept(attributes, &["cfg"]),
            execution,
            arguments,
            this,
            is_stream: deferred.as_ref().is_some_and(|(_, later)| later.name == "Yield"),
            deferred: deferred.map(|(at, _)| at),
            reply,
            reply_span,
            name,
        }
    }

    /// The condition under which the call exists, as attributes before each generated item.
    pub(crate) fn cfg(&self) -> TokenStream {
        let cfgs = &self.cfgs;
        quote!(#(#cfgs)*)
    }

    /// The condition as one predicate; `None` if the call always exists.
    pub(crate) fn condition(&self) -> Option<TokenStream> {
        let predicates: Vec<_> = self
            .cfgs
            .iter()
            .filter_map(|one| Some(&one.meta.require_list().ok()?.tokens))
            .collect();
        (!self.cfgs.is_empty()).then(|| quote!(all(#(#predicates),*)))
    }

    /// The type of the reply where it is encoded or decoded.
    pub(crate) fn reply_payload(&self) -> TokenStream {
        kind::payload(&self.reply, self.reply_span)
    }

    /// The number of arguments that a caller must send: options at the end may be missing.
    pub(crate) fn required(&self) -> usize {
        let last = self.arguments.iter().rposition(|one| !one.is_option);
        last.map_or(0, |last| last + 1)
    }
}

fn check_receiver(receiver: &Receiver, errors: &mut Errors) {
    let ReceiverKind::Reference(_, lifetime, _) = &receiver.kind else {
        errors.add(receiver, "a call can only borrow its actor: take `&mut self` or `&self`");
        return;
    };
    if let Some(lifetime) = lifetime {
        errors.add(lifetime, LIFETIME_REFUSED);
    }
}

const LIFETIME_REFUSED: &str =
    "a call cannot borrow from its caller, so it has no lifetimes: remove the lifetime";

fn check_signature(signature: &Signature, errors: &mut Errors) {
    for param in &signature.generics.params {
        let text = match param {
            GenericParam::Lifetime(_) => LIFETIME_REFUSED,
            GenericParam::Type(_) | GenericParam::Const(_) => {
                "a call cannot be generic, because a remote caller sends a message and not a \
                 type: write one method for each type, or make this one private"
            }
        };
        errors.add(param, text);
    }
    if let Safety::Unsafe(token) = &signature.safety {
        errors.add(
            token,
            "a remote caller cannot uphold the contract of an `unsafe` method: make the method \
             safe or private",
        );
    }
}

fn check_name(name: &Ident, errors: &mut Errors) {
    if NAMES_TAKEN.iter().any(|taken| name == taken) {
        errors.add(
            name,
            format!("the actor's reference already has a method `{name}`: rename the call"),
        );
    }
}

fn kept(attributes: &[Attribute], names: &[&str]) -> Vec<Attribute> {
    let keep = |one: &&Attribute| names.iter().any(|name| one.path().is_ident(name));
    attributes.iter().filter(keep).cloned().collect()
}

/// The variant's name: `OpenAccount` for `open_account`.
fn variant(name: &Ident, errors: &mut Errors) -> Ident {
    let mut text = String::new();
    for word in name.unraw().to_string().split('_') {
        let mut letters = word.chars();
        text.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        text.push_str(letters.as_str());
    }
    if syn::parse_str::<Ident>(&text).is_err() {
        errors.add(name, format!("`{text}` is not a valid name in the message: rename the call"));
        text = "Unnamed".into();
    }
    Ident::new(&text, call_site_at(name.span()))
}

/// A public method with `self`. Private methods and functions without `self` are not calls.
pub(crate) fn call(item: &ImplItem) -> Option<&ImplItemFn> {
    let ImplItem::Fn(function) = item else {
        return None;
    };
    let is_public = matches!(function.vis, Visibility::Public(_));
    let has_self = matches!(function.sig.inputs.first(), Some(FnArg::Receiver(_)));
    (is_public && has_self).then_some(function)
}
