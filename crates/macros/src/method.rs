//! One call, parsed from the signature of a method.
//!
//! A signature that cannot become a message is refused here, at the place where it is written and
//! with advice on what to write instead.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, FnArg, GenericArgument, GenericParam, Ident, Pat, PatType, PathArguments, Receiver,
    ReceiverKind, ReturnType, Safety, Signature, Type,
};

use crate::comment;
use crate::definition::Reach;
use crate::errors::Errors;
use crate::former;
use crate::kind::{self, Unsupported};
use crate::route::{self, Route};
use crate::side_by_side::{self, SideBySide};

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

/// One argument of a call.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    /// Its names in earlier versions.
    pub(crate) former: Vec<String>,
    /// The type in the message.
    pub(crate) kind: TokenStream,
    /// Where the type is written.
    pub(crate) span: Span,
    pub(crate) form: ArgumentForm,
    /// True for an `Option`, which may be missing at the end.
    pub(crate) is_option: bool,
}

/// How the handler takes an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentForm {
    Owned,
    /// `&str`, a `String` in the message.
    Text,
    /// `&[u8]`, `Bytes` in the message.
    Bytes,
}

/// The place of a written type, with the hygiene of the macro.
pub(crate) fn mixed_site_at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

/// A type, written such that all uses of one that has no encoding are the same error, which the
/// compiler then reports once.
pub(crate) fn payload(kind: &TokenStream, span: Span) -> TokenStream {
    quote_spanned!(mixed_site_at(span)=> <#kind as ::wigwag::__private::Payload>::Value)
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

    /// The same condition as one predicate; `None` if the call always exists.
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
        payload(&self.reply, self.reply_span)
    }

    /// The number of arguments that a caller must send: options at the end may be missing.
    pub(crate) fn required(&self) -> usize {
        let last = self.arguments.iter().rposition(|one| !one.is_option);
        last.map_or(0, |last| last + 1)
    }
}

impl Argument {
    fn read(
        typed: &PatType,
        is_async: bool,
        self_type: &TokenStream,
        reach: Reach,
        errors: &mut Errors,
    ) -> Option<Argument> {
        if let Some(cfg) = typed.attrs.iter().find(|one| is_cfg(one)) {
            errors.add(cfg, CFG_REFUSED);
        }
        let mut name = match &*typed.pat {
            Pat::Ident(plain) if plain.by_ref.is_none() && plain.subpat.is_none() => {
                plain.ident.clone()
            }
            pattern => {
                errors.add(
                    pattern,
                    "an argument needs a plain name for callers and the schema: destructure it in \
                     the body with `let`",
                );
                return None;
            }
        };
        name.set_span(call_site_at(name.span()));
        let written = kind::inner(&typed.ty);
        let form = borrowed_form(written);
        if form != ArgumentForm::Owned && is_async {
            let (borrowed, owned) = match form {
                ArgumentForm::Bytes => ("&[u8]", "Bytes"),
                _ => ("&str", "String"),
            };
            errors.add(
                written,
                format!(
                    "an async handler outlives the bytes it was read from: take {owned} instead \
                     of {borrowed}"
                ),
            );
        }
        let kind = match form {
            ArgumentForm::Text => quote!(::std::string::String),
            ArgumentForm::Bytes => quote!(::wigwag::__private::Bytes),
            ArgumentForm::Owned => {
                check_owned(written, reach, errors);
                kind::without_self(written.to_token_stream(), self_type)
            }
        };
        Some(Argument {
            former: former::read(&typed.attrs, &name, errors),
            name,
            kind,
            span: written.span(),
            form,
            is_option: kind::is_option(written),
        })
    }

    /// The type in the message, where it is encoded or decoded.
    pub(crate) fn payload(&self) -> TokenStream {
        payload(&self.kind, self.span)
    }

    /// The type in the schema; it is the same for borrowed and owned texts.
    pub(crate) fn spelled(&self) -> String {
        match self.form {
            ArgumentForm::Text => "String".into(),
            ArgumentForm::Bytes => "Bytes".into(),
            ArgumentForm::Owned => kind::spelled(self.kind.clone()),
        }
    }
}

/// Returns true for `&This<…>`, the actor's access to itself.
fn is_this(written: &Type) -> bool {
    let Type::Reference(reference) = kind::inner(written) else { return false };
    let Type::Path(path) = kind::inner(&reference.elem) else { return false };
    reference.mutability.is_none()
        && path.path.segments.last().is_some_and(|last| last.ident == "This")
}

/// `Responder<R>` or `Yield<R>`: the reply as a value.
struct DeferredReply<'t> {
    name: &'static str,
    reply: &'t Type,
}

impl DeferredReply<'_> {
    fn read(written: &Type) -> Option<DeferredReply<'_>> {
        let Type::Path(path) = kind::inner(written) else { return None };
        let last = path.path.segments.last()?;
        let name = ["Responder", "Yield"].into_iter().find(|name| last.ident == name)?;
        let PathArguments::AngleBracketed(given) = &last.arguments else { return None };
        match given.args.first()? {
            GenericArgument::Type(reply) if given.args.len() == 1 => {
                Some(DeferredReply { name, reply })
            }
            _ => None,
        }
    }

    /// Refuses a second way to answer: a handler with a deferred reply returns nothing.
    fn check(&self, is_side_by_side: bool, output: &ReturnType, errors: &mut Errors) {
        let name = self.name;
        if is_side_by_side {
            errors.add(
                self.reply,
                format!(
                    "a handler that runs side by side answers when its future ends: remove \
                     `{name}<…>`, and return the answer from the future"
                ),
            );
        } else if let ReturnType::Type(_, written) = output {
            errors.add(
                written,
                format!("a handler that takes `{name}<…>` answers through it: return nothing"),
            );
        }
    }
}

/// How a plain handler takes the type: `&str` and `&[u8]` may be borrowed.
fn borrowed_form(written: &Type) -> ArgumentForm {
    let Type::Reference(reference) = written else {
        return ArgumentForm::Owned;
    };
    if reference.lifetime.is_some() || reference.mutability.is_some() {
        return ArgumentForm::Owned;
    }
    let is = |kind: &Type, name: &str| matches!(kind, Type::Path(path) if path.path.is_ident(name));
    match kind::inner(&reference.elem) {
        text if is(text, "str") => ArgumentForm::Text,
        Type::Slice(slice) if is(&slice.elem, "u8") => ArgumentForm::Bytes,
        _ => ArgumentForm::Owned,
    }
}

fn check_owned(written: &Type, reach: Reach, errors: &mut Errors) {
    match unsupported(written, reach) {
        Some(Unsupported::Borrowed) if reach == Reach::Local => errors.add(
            written,
            "an argument waits in a mailbox, so it must own its data: take an owned type, or a \
             `&'static` one (only &str and &[u8] can be lent to plain handlers)",
        ),
        Some(Unsupported::Opaque) if reach == Reach::Local => errors.add(
            written,
            "an argument needs a type that the message can name: take a `Box<dyn …>` instead of \
             an `impl …`",
        ),
        Some(Unsupported::Borrowed) => errors.add(
            written,
            "an argument waits in a mailbox and may come from another process, so it must own its \
             data: take an owned type (only &str and &[u8] can be lent to plain handlers)",
        ),
        Some(Unsupported::Opaque) => errors.add(
            written,
            "an argument needs one type that both ends know: name it instead of `impl` or `dyn`",
        ),
        None => {}
    }
}

fn unsupported(written: &Type, reach: Reach) -> Option<Unsupported> {
    match reach {
        Reach::Exportable => kind::unsupported(written.to_token_stream()),
        Reach::Local => kind::unsupported_in_process(written.to_token_stream()),
    }
}

fn read_reply(
    output: &ReturnType,
    name: &Ident,
    self_type: &TokenStream,
    reach: Reach,
    errors: &mut Errors,
) -> (TokenStream, Span) {
    match output {
        ReturnType::Type(_, written) => read_type(written, self_type, reach, errors),
        ReturnType::Default => (quote!(()), name.span()),
    }
}

fn read_type(
    written: &Type,
    self_type: &TokenStream,
    reach: Reach,
    errors: &mut Errors,
) -> (TokenStream, Span) {
    match unsupported(written, reach) {
        Some(Unsupported::Borrowed) => errors.add(
            written,
            "a reply leaves the actor, so it must own its data: return an owned type",
        ),
        Some(Unsupported::Opaque) => errors.add(
            written,
            "a reply needs one type that both ends know: name it instead of `impl` or `dyn`",
        ),
        None => {}
    }
    let reply = kind::without_self(written.to_token_stream(), self_type);
    (reply, written.span())
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

const CFG_REFUSED: &str = "a call has the same arguments in every build, because they are sent \
                           by their positions: put the `cfg` on the method, and write one method \
                           for each case";

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

fn is_cfg(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
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

/// A place in the user's code with the hygiene of the call site, for generated names that the
/// user's code refers to.
pub(crate) fn call_site_at(span: Span) -> Span {
    Span::call_site().located_at(span)
}
