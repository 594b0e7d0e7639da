//! The options inside of `#[message(…)]`, and the discriminants of an enum.

use quote::quote;
use syn::{
    Attribute, DataEnum, DeriveInput, Expr, ExprLit, Field, Ident, Lit, LitStr, Path,
    WherePredicate, parse_quote,
};

use super::shape::MessageField;
use crate::errors::Errors;
use crate::parse::{former, kind};

/// The options of the type.
#[derive(Default)]
pub(super) struct TypeOptions {
    /// `travels`: the user declares that the type travels, and its fields are not checked.
    pub(super) travels: bool,
    /// `serde`: the type is encoded by its impls of serde.
    pub(super) serde: bool,
}

impl TypeOptions {
    pub(super) fn read(input: &DeriveInput, errors: &mut Errors) -> TypeOptions {
        let mut options = TypeOptions::default();
        for attribute in message_attributes(&input.attrs) {
            let read = attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("travels") {
                    options.travels = true;
                    return Ok(());
                }
                if meta.path.is_ident("serde") {
                    options.serde = true;
                    return require_serde(&meta.path);
                }
                Err(meta.error("the options of a type are `serde` and `travels`"))
            });
            if let Err(error) = read {
                errors.add_error(error);
            }
        }
        options
    }
}

/// How a field is encoded.
pub(super) enum FieldCodec {
    /// By the impls of its type.
    Plain,
    /// By the functions `encode` and `decode` of a module.
    Module(Path),
    /// By the module that uses the type's impls of serde.
    Serde,
}

impl FieldCodec {
    /// Reads `#[message(serde)]` and `#[message(with = "module")]`.
    pub(super) fn read(field: &Field, errors: &mut Errors) -> FieldCodec {
        let mut codec = FieldCodec::Plain;
        for attribute in message_attributes(&field.attrs) {
            let read = attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("was") {
                    // Read with the names.
                    return meta.value()?.parse::<LitStr>().map(drop);
                }
                if !codec.is_plain() {
                    return Err(meta.error("a field has one codec: remove the others"));
                }
                if meta.path.is_ident("serde") {
                    codec = FieldCodec::Serde;
                    return require_serde(&meta.path);
                }
                if meta.path.is_ident("with") {
                    let module: LitStr = meta.value()?.parse()?;
                    codec = FieldCodec::Module(module.parse()?);
                    return Ok(());
                }
                Err(meta.error(
                    "the options of a field are `serde`, `with = \"module\"` and `was = \"old\"`",
                ))
            });
            if let Err(error) = read {
                errors.add_error(error);
            }
        }
        codec
    }

    /// The module with the functions, unless it is plain.
    pub(super) fn module(&self) -> Option<Path> {
        match self {
            FieldCodec::Plain => None,
            FieldCodec::Module(path) => Some(path.clone()),
            FieldCodec::Serde => Some(serde_module()),
        }
    }

    pub(super) fn is_plain(&self) -> bool {
        matches!(self, FieldCodec::Plain)
    }
}

/// The former names of a field or a variant: `#[message(was = "old")]`.
pub(super) fn former_names(
    attributes: &[Attribute],
    name: &Ident,
    errors: &mut Errors,
) -> Vec<String> {
    let mut former = Vec::new();
    for attribute in message_attributes(attributes) {
        // The other options, and what is wrong with them, are read with the codec.
        let _ = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("was") {
                former::add(&meta.value()?.parse()?, name, &mut former, errors);
            } else if meta.path.is_ident("with") {
                meta.value()?.parse::<LitStr>()?;
            }
            Ok(())
        });
    }
    former
}

/// Checks the options of a variant, which may only have former names.
pub(super) fn check_variant(attributes: &[Attribute], errors: &mut Errors) {
    for attribute in message_attributes(attributes) {
        let read = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("was") {
                return meta.value()?.parse::<LitStr>().map(drop);
            }
            Err(meta.error("the option of a variant is `was = \"old\"`"))
        });
        if let Err(error) = read {
            errors.add_error(error);
        }
    }
}

fn message_attributes(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|one| one.path().is_ident("message"))
}

/// The module of the codec that uses serde.
pub(super) fn serde_module() -> Path {
    parse_quote!(::wigwag::codec::serde)
}

fn require_serde(option: &Path) -> syn::Result<()> {
    if cfg!(feature = "serde") {
        return Ok(());
    }
    Err(syn::Error::new_spanned(
        option,
        "this needs the feature `serde` of wigwag: write `wigwag = { features = [\"serde\"], … }` \
         in Cargo.toml",
    ))
}

/// The bounds on types with a parameter whose codec is serde, for encoding and for decoding; `None`
/// if there are no such fields.
pub(super) fn serde_bounds<'a>(
    input: &DeriveInput,
    fields: impl Iterator<Item = &'a MessageField<'a>>,
) -> Option<(Vec<WherePredicate>, Vec<WherePredicate>)> {
    let module = serde_module();
    let mut bounds = (Vec::new(), Vec::new());
    for field in fields {
        let kind = &field.written.ty;
        let tokens = quote!(#kind);
        let mut params = input.generics.type_params();
        let is_open = params.any(|param| kind::mentions(&tokens, &param.ident));
        if is_open && matches!(field.codec, FieldCodec::Serde) {
            bounds.0.push(parse_quote!(#kind: #module::Serialize));
            bounds.1.push(parse_quote!(#kind: #module::DeserializeOwned));
        }
    }
    (!bounds.0.is_empty()).then_some(bounds)
}

/// The number of each variant: its discriminant, or one more than the number before it, from 0 on.
pub(super) fn variant_numbers(data: &DataEnum, errors: &mut Errors) -> Vec<u32> {
    let mut next = Some(0_u32);
    let mut numbers = Vec::new();
    for variant in &data.variants {
        let number = match &variant.discriminant {
            Some((_, written)) => discriminant(written, errors),
            None => next.unwrap_or_else(|| {
                errors.add(&variant.ident, TOO_LARGE);
                0
            }),
        };
        numbers.push(number);
        next = number.checked_add(1);
    }
    numbers
}

const TOO_LARGE: &str = "a variant is sent as its number, which is at most 4294967295";

fn discriminant(written: &Expr, errors: &mut Errors) -> u32 {
    match written {
        Expr::Paren(inner) => return discriminant(&inner.expr, errors),
        Expr::Group(inner) => return discriminant(&inner.expr, errors),
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => match number.base10_parse() {
            Ok(number) => return number,
            Err(_) => errors.add(number, TOO_LARGE),
        },
        other => errors.add(
            other,
            "a variant is sent as its number, which the macro must know: write it as a literal \
             that is not negative",
        ),
    }
    0
}
