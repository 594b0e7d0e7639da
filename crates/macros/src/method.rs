//! One call, read from the signature of a method.
//!
//! Whatever cannot become a message is refused here, at the place where it is written, with what to
//! write instead.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, FnArg, GenericArgument, GenericParam, Ident, Pat, PatType, PathArguments, Receiver,
    ReceiverKind, ReturnType, Safety, Signature, Type,
};

use crate::errors::Errors;
use crate::kind::{self, Unfit};
use crate::side_by_side::{self, SideBySide};

/// Arguments of one call. More of them are better off as a struct, which has names at the caller.
const ARGUMENTS_MAX: usize = 12;

/// Names that the reference has methods of its own for.
const NAMES_TAKEN: [&str; 4] = ["call", "clone", "as_ref", "from"];

/// A method that is a call.
pub(crate) struct Method {
    pub(crate) name: Ident,
    /// Its name in the message enum.
    pub(crate) variant: Ident,
    /// Its docs, and `#[deprecated]`: what the reference's method says as well.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) runs: Runs,
    pub(crate) arguments: Vec<Argument>,
    /// Before which argument the handler takes `&This<Self>`, which no caller gives.
    pub(crate) this: Option<usize>,
    /// Before which argument the handler takes the answer that it owes, as a value.
    pub(crate) owed: Option<usize>,
    /// That answer is a stream, and `reply` the type of its items.
    pub(crate) is_stream: bool,
    /// The type of the reply; `()` if none is written.
    pub(crate) reply: TokenStream,
    pub(crate) reply_span: Span,
}

/// How the handler of a call runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// As the method that it is.
    Plain,
    /// `async`, with the actor borrowed.
    Async,
    /// Its first part with the actor, the rest side by side with others; in the order of this
    /// argument, if one is named.
    SideBySide(Option<usize>),
}

/// One argument of a call.
pub(crate) struct Argument {
    pub(crate) name: Ident,
    /// The type that the message holds.
    pub(crate) kind: TokenStream,
    /// Where the type is written.
    pub(crate) span: Span,
    pub(crate) shape: Shape,
    /// An `Option`, which may be missing at the end.
    pub(crate) is_option: bool,
}

/// How the handler takes an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Owned,
    /// `&str`, a `String` in the message.
    Text,
    /// `&[u8]`, `Bytes` in the message.
    Bytes,
}

/// Where a type is written, for code that counts as the macro's.
pub(crate) fn at(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

impl Method {
    /// Reads a method that takes `self` in some form. `whole` is what `Self` stands for.
    pub(crate) fn read(
        attributes: &[Attribute],
        signature: &Signature,
        whole: &TokenStream,
        errors: &mut Errors,
    ) -> Method {
        let name = signature.ident.clone();
        check_name(&name, errors);
        check_attributes(attributes, errors);
        check_signature(signature, errors);
        let side_by_side = SideBySide::read(attributes, signature, errors);
        let is_async = signature.asyncness.is_some();
        let mut arguments = Vec::new();
        let (mut this, mut owed) = (None, None);
        for input in &signature.inputs {
            match input {
                FnArg::Receiver(receiver) => check_receiver(receiver, errors),
                FnArg::Typed(typed) if this.is_none() && is_this(&typed.ty) => {
                    this = Some(arguments.len());
                }
                FnArg::Typed(typed) if owed.is_none() && Later::read(&typed.ty).is_some() => {
                    owed = Later::read(&typed.ty).map(|later| (arguments.len(), later));
                }
                FnArg::Typed(typed) if Later::read(&typed.ty).is_some() => errors.add(
                    &typed.ty,
                    "a call has one reply: take one `Responder<…>` or one `Yield<…>`",
                ),
                FnArg::Typed(typed) => {
                    arguments.extend(Argument::read(typed, is_async, whole, errors));
                }
            }
        }
        let own = usize::from(this.is_some()) + usize::from(owed.is_some());
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
            (Some(later), _) => read_type(later, whole, errors),
            // What is written instead was refused.
            (None, Some(_)) => (quote!(()), name.span()),
            (None, None) => read_reply(&signature.output, &name, whole, errors),
        };
        if let Some((_, later)) = &owed {
            later.check(side_by_side.is_some(), &signature.output, errors);
            (reply, reply_span) = read_type(later.reply, whole, errors);
        }
        let runs = match &side_by_side {
            Some(side_by_side) => Runs::SideBySide(side_by_side.key_at(&arguments, errors)),
            None if is_async => Runs::Async,
            None => Runs::Plain,
        };
        Method {
            variant: variant(&name, errors),
            attributes: kept(attributes),
            runs,
            arguments,
            this,
            is_stream: owed.as_ref().is_some_and(|(_, later)| later.name == "Yield"),
            owed: owed.map(|(at, _)| at),
            reply,
            reply_span,
            name,
        }
    }

    /// How many arguments a caller must send: those at the end may be missing if they are options.
    pub(crate) fn required(&self) -> usize {
        let last = self.arguments.iter().rposition(|one| !one.is_option);
        last.map_or(0, |last| last + 1)
    }
}

impl Argument {
    fn read(
        typed: &PatType,
        is_async: bool,
        whole: &TokenStream,
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
                    "an argument needs a plain name, which callers and the schema use: take it \
                     apart in the body with `let`",
                );
                return None;
            }
        };
        name.set_span(at_call(name.span()));
        let written = kind::inner(&typed.ty);
        let shape = borrowed_shape(written);
        if shape != Shape::Owned && is_async {
            let (borrowed, owned) = match shape {
                Shape::Bytes => ("&[u8]", "Bytes"),
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
        let kind = match shape {
            Shape::Text => quote!(::std::string::String),
            Shape::Bytes => quote!(::wigwag::__private::Bytes),
            Shape::Owned => {
                check_owned(written, errors);
                kind::without_self(written.to_token_stream(), whole)
            }
        };
        Some(Argument {
            name,
            kind,
            span: written.span(),
            shape,
            is_option: kind::is_option(written),
        })
    }

    /// The type in the schema: the same for a text that is lent and one that is given.
    pub(crate) fn spelled(&self) -> String {
        match self.shape {
            Shape::Text => "String".into(),
            Shape::Bytes => "Bytes".into(),
            Shape::Owned => kind::spelled(self.kind.clone()),
        }
    }
}

/// `&This<…>`: what the actor knows of itself.
fn is_this(written: &Type) -> bool {
    let Type::Reference(reference) = kind::inner(written) else { return false };
    let Type::Path(path) = kind::inner(&reference.elem) else { return false };
    reference.mutability.is_none()
        && path.path.segments.last().is_some_and(|last| last.ident == "This")
}

/// `Responder<R>` or `Yield<R>`: the reply as a value.
struct Later<'t> {
    name: &'static str,
    reply: &'t Type,
}

impl Later<'_> {
    fn read(written: &Type) -> Option<Later<'_>> {
        let Type::Path(path) = kind::inner(written) else { return None };
        let last = path.path.segments.last()?;
        let name = ["Responder", "Yield"].into_iter().find(|name| last.ident == name)?;
        let PathArguments::AngleBracketed(given) = &last.arguments else { return None };
        match given.args.first()? {
            GenericArgument::Type(reply) if given.args.len() == 1 => Some(Later { name, reply }),
            _ => None,
        }
    }

    /// Who answers through it answers in no other way.
    fn check(&self, is_side_by_side: bool, output: &ReturnType, errors: &mut Errors) {
        let name = self.name;
        if is_side_by_side {
            errors.add(
                self.reply,
                format!(
                    "a handler that runs side by side answers when its future ends: remove \
                     `{name}<…>`, and give the answer back from the future"
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

/// `&str` and `&[u8]` may be lent to a plain handler.
fn borrowed_shape(written: &Type) -> Shape {
    let Type::Reference(reference) = written else {
        return Shape::Owned;
    };
    if reference.lifetime.is_some() || reference.mutability.is_some() {
        return Shape::Owned;
    }
    let is = |kind: &Type, name: &str| matches!(kind, Type::Path(path) if path.path.is_ident(name));
    match kind::inner(&reference.elem) {
        text if is(text, "str") => Shape::Text,
        Type::Slice(slice) if is(&slice.elem, "u8") => Shape::Bytes,
        _ => Shape::Owned,
    }
}

fn check_owned(written: &Type, errors: &mut Errors) {
    match kind::unfit(written.to_token_stream()) {
        Some(Unfit::Borrow) => errors.add(
            written,
            "an argument waits in a mailbox and may come from elsewhere, so it owns what it holds: \
             take an owned type (only &str and &[u8] are lent to plain handlers)",
        ),
        Some(Unfit::Open) => errors.add(
            written,
            "an argument has one type that both ends know: name it instead of `impl` or `dyn`",
        ),
        None => {}
    }
}

fn read_reply(
    output: &ReturnType,
    name: &Ident,
    whole: &TokenStream,
    errors: &mut Errors,
) -> (TokenStream, Span) {
    match output {
        ReturnType::Type(_, written) => read_type(written, whole, errors),
        ReturnType::Default => (quote!(()), name.span()),
    }
}

fn read_type(written: &Type, whole: &TokenStream, errors: &mut Errors) -> (TokenStream, Span) {
    match kind::unfit(written.to_token_stream()) {
        Some(Unfit::Borrow) => errors.add(
            written,
            "a reply leaves the actor, so it owns what it holds: return an owned type",
        ),
        Some(Unfit::Open) => errors.add(
            written,
            "a reply has one type that both ends know: name it instead of `impl` or `dyn`",
        ),
        None => {}
    }
    let reply = kind::without_self(written.to_token_stream(), whole);
    (reply, written.span())
}

fn check_receiver(receiver: &Receiver, errors: &mut Errors) {
    let ReceiverKind::Reference(_, lifetime, _) = &receiver.kind else {
        errors.add(
            receiver,
            "an actor stays where it is, its calls only borrow it: take `&mut self` or `&self`",
        );
        return;
    };
    if let Some(lifetime) = lifetime {
        errors.add(lifetime, LIFETIME_REFUSED);
    }
}

const LIFETIME_REFUSED: &str =
    "a call takes nothing that is borrowed from its caller, so it has no lifetimes: remove it";

const CFG_REFUSED: &str = "a call is there in every build, or its number and those of the calls \
                           after it would differ between the two ends: put the `cfg` into the body";

fn check_signature(signature: &Signature, errors: &mut Errors) {
    for param in &signature.generics.params {
        let text = match param {
            GenericParam::Lifetime(_) => LIFETIME_REFUSED,
            GenericParam::Type(_) | GenericParam::Const(_) => {
                "a call cannot be generic, because a caller elsewhere sends a message and not a \
                 type: write one method for each type, or make this one private"
            }
        };
        errors.add(param, text);
    }
    if let Safety::Unsafe(token) = &signature.safety {
        errors.add(
            token,
            "a caller elsewhere cannot promise what `unsafe` asks for: make the method safe or \
             private",
        );
    }
}

fn check_name(name: &Ident, errors: &mut Errors) {
    if NAMES_TAKEN.iter().any(|taken| name == taken) {
        errors.add(
            name,
            format!("the actor's reference has a `{name}` of its own: give the call another name"),
        );
    }
}

fn check_attributes(attributes: &[Attribute], errors: &mut Errors) {
    for cfg in attributes.iter().filter(|one| is_cfg(one)) {
        errors.add(cfg, CFG_REFUSED);
    }
}

fn is_cfg(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
}

fn kept(attributes: &[Attribute]) -> Vec<Attribute> {
    let keep =
        |one: &&Attribute| ["doc", "deprecated"].iter().any(|name| one.path().is_ident(name));
    attributes.iter().filter(keep).cloned().collect()
}

/// `open_account` is the variant `OpenAccount`.
fn variant(name: &Ident, errors: &mut Errors) -> Ident {
    let mut text = String::new();
    for word in name.unraw().to_string().split('_') {
        let mut letters = word.chars();
        text.extend(letters.next().into_iter().flat_map(char::to_uppercase));
        text.push_str(letters.as_str());
    }
    if syn::parse_str::<Ident>(&text).is_err() {
        errors.add(
            name,
            format!("`{text}` cannot be a name in the message: give the call another name"),
        );
        text = "Unnamed".into();
    }
    Ident::new(&text, at_call(name.span()))
}

/// A place in the user's code, for names that others will write: they count as the macro's and can
/// be seen.
pub(crate) fn at_call(span: Span) -> Span {
    Span::call_site().located_at(span)
}
