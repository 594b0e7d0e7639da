//! `#[derive(Message)]`: the user's own types as arguments and replies.
//!
//! A struct is encoded as the array of its fields, an enum as the array of its variant's number and
//! the fields. Both can grow at the end: an older receiver skips unknown fields, and a newer one
//! reads a missing `Option` as `None`. The number of a variant is its discriminant, or one more than
//! that of the variant before it.

mod names;
mod options;
mod shape;

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{Data, DeriveInput, GenericParam, Generics, Ident, Type, WherePredicate, parse_quote};

use crate::errors::Errors;
use crate::hygiene::local;
use crate::parse::kind;
use options::TypeOptions;
use shape::{FixedForm, StructLike};

/// Returns `impl Encode` and `impl Decode`, or the errors.
pub(crate) fn expand(item: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Errors::default();
    for param in input.generics.lifetimes() {
        errors.add(
            param,
            "arguments and replies must own their data, because they wait and travel: use owned \
             fields instead of a lifetime",
        );
    }
    let options = TypeOptions::read(&input, &mut errors);
    let written = match options.serde {
        true => Some(by_serde(&input)),
        false => by_fields(&input, &options, &mut errors),
    };
    match (errors.finish(), written) {
        (None, Some(written)) => written,
        (errors, _) => errors.unwrap_or_default(),
    }
}

/// The impls of a type whose serde impls encode it.
fn by_serde(input: &DeriveInput) -> TokenStream {
    let (out, reader) = (local("out"), local("reader"));
    let module = options::serde_module();
    // Serde may write nil for a value, so `Some` of it must be told from `None`.
    let may_be_nil = quote!(
        const MAY_BE_NIL: ::core::primitive::bool = true;
    );
    let encode = Body {
        items: may_be_nil.clone(),
        code: quote!(#module::encode(self, #out)),
        bounds: bounds(input, |_| true, &quote!(#module::Serialize)),
    };
    let decode = Body {
        items: may_be_nil,
        code: quote!(#module::decode(#reader)),
        bounds: bounds(input, |_| true, &quote!(#module::DeserializeOwned)),
    };
    impls(input, encode, decode)
}

/// The impls of a type that is encoded field by field.
fn by_fields(
    input: &DeriveInput,
    options: &TypeOptions,
    errors: &mut Errors,
) -> Option<TokenStream> {
    let (encode, decode, fixed, shapes) = match &input.data {
        Data::Struct(data) => {
            let shape = StructLike::new(quote!(Self), &data.fields, &input.generics, None, errors);
            (
                shape::encode_struct(&shape),
                shape::decode_struct(&shape),
                shape::fixed(&shape),
                vec![shape],
            )
        }
        Data::Enum(data) => {
            let numbers = options::variant_numbers(data, errors);
            let shapes: Vec<_> = data
                .variants
                .iter()
                .zip(numbers)
                .map(|(variant, number)| {
                    let name = &variant.ident;
                    let (path, number) = (quote!(Self::#name), Some(number));
                    StructLike::new(path, &variant.fields, &input.generics, number, errors)
                })
                .collect();
            let (encode, decode) = (shape::encode_enum(&shapes), shape::decode_enum(&shapes));
            (encode, decode, FixedForm::default(), shapes)
        }
        Data::Union(data) => {
            errors.add(data.union_token, "the active field of a union is unknown: use an enum");
            return None;
        }
    };
    let names = names::names(input, options.travels, errors);
    let travels = if options.travels { quote!(true) } else { travels(input, &shapes) };
    let is_plain = is_plain(input, options, &shapes);
    let FixedForm { put, take } = fixed;
    let by_modules =
        || shapes.iter().flat_map(|shape| &shape.fields).filter(|field| !field.codec.is_plain());
    // A parameter that occurs only in fields with a codec of their own needs no codec itself.
    let needs_codec = |param: &Ident| {
        let is_in = |kind: &Type| kind::mentions(&kind.to_token_stream(), param);
        let mut plain = shapes.iter().flat_map(|shape| &shape.fields);
        plain.any(|field| field.codec.is_plain() && is_in(&field.written.ty))
            || !by_modules().any(|field| is_in(&field.written.ty))
    };
    let encode = Body {
        items: quote! {
            const TRAVELS: ::core::primitive::bool = #travels;
            const IS_PLAIN: ::core::primitive::bool = #is_plain;
            const FIELDS: &'static ::wigwag::__private::fields::Fields = #names;
            #put
        },
        code: encode,
        bounds: bounds(input, needs_codec, &quote!(::wigwag::__private::Encode)),
    };
    let decode = Body {
        items: take,
        code: decode,
        bounds: bounds(input, needs_codec, &quote!(::wigwag::__private::Decode<'wigwag>)),
    };
    let (encode, decode) = match options::serde_bounds(input, by_modules()) {
        Some((serialize, deserialize)) => (encode.bound(serialize), decode.bound(deserialize)),
        None => (encode, decode),
    };
    Some(impls(input, encode, decode))
}

/// An expression that is true if all fields travel. A field whose type names the derived type is
/// left out, because the constant would depend on itself.
fn travels(input: &DeriveInput, shapes: &[StructLike<'_>]) -> TokenStream {
    let fields = shapes.iter().flat_map(|shape| &shape.fields);
    let asked = fields.filter(|field| {
        let kind = field.written.ty.to_token_stream();
        field.codec.is_plain() && !kind::mentions(&kind, &input.ident)
    });
    let answers = asked.map(|field| {
        let kind = &field.kind;
        quote_spanned! {field.span()=> && <#kind as ::wigwag::__private::Encode>::TRAVELS }
    });
    quote!(true #(#answers)*)
}

/// An expression that is true if the encoding runs no code of the program: each field is plain and
/// has no codec of its own. Fields that cannot be asked, as for [`travels`], count as not plain,
/// except that a type of fixed width has plain fields only.
fn is_plain(input: &DeriveInput, options: &TypeOptions, shapes: &[StructLike<'_>]) -> TokenStream {
    let mut answers = Vec::new();
    for field in shapes.iter().flat_map(|shape| &shape.fields) {
        let tokens = field.written.ty.to_token_stream();
        if options.travels || !field.codec.is_plain() || kind::mentions(&tokens, &input.ident) {
            return quote!(<Self as ::wigwag::__private::Encode>::FIXED.is_some());
        }
        let kind = &field.kind;
        answers.push(quote_spanned! {field.span()=>
            && <#kind as ::wigwag::__private::Encode>::IS_PLAIN
        });
    }
    quote!(true #(#answers)*)
}

/// The content of one impl.
struct Body {
    /// Associated items and further methods.
    items: TokenStream,
    /// The content of `encode` or of `decode`.
    code: TokenStream,
    bounds: Vec<WherePredicate>,
}

impl Body {
    fn bound(mut self, more: Vec<WherePredicate>) -> Body {
        self.bounds.extend(more);
        self
    }
}

fn impls(input: &DeriveInput, encode: Body, decode: Body) -> TokenStream {
    let name = &input.ident;
    let (_, types, _) = input.generics.split_for_impl();
    let encoded = with_bounds(&input.generics, encode.bounds);
    let (encode_params, _, encode_where) = encoded.split_for_impl();
    let mut decoded = with_bounds(&input.generics, decode.bounds);
    decoded.params.insert(0, parse_quote!('wigwag));
    let (decode_params, _, decode_where) = decoded.split_for_impl();
    let (out, reader) = (local("out"), local("reader"));
    let (encode_items, decode_items) = (encode.items, decode.items);
    let (encode, decode) = (encode.code, decode.code);
    quote! {
        #[automatically_derived]
        impl #encode_params ::wigwag::__private::Encode for #name #types #encode_where {
            #[inline]
            fn encode(&self, #out: &mut ::wigwag::__private::Buffer) { #encode }

            #encode_items
        }

        #[automatically_derived]
        impl #decode_params ::wigwag::__private::Decode<'wigwag> for #name #types #decode_where {
            #[inline]
            fn decode(
                #reader: &mut ::wigwag::__private::Reader<'wigwag>,
            ) -> ::core::result::Result<Self, ::wigwag::__private::DecodeError> { #decode }

            #decode_items
        }
    }
}

/// The bound `limit` on each type parameter for which `applies` is true.
fn bounds(
    input: &DeriveInput,
    applies: impl Fn(&Ident) -> bool,
    limit: &TokenStream,
) -> Vec<WherePredicate> {
    let params = input.generics.type_params().map(|param| &param.ident);
    params.filter(|param| applies(param)).map(|name| parse_quote!(#name: #limit)).collect()
}

/// The parameters without their defaults, and with more bounds.
fn with_bounds(generics: &Generics, bounds: Vec<WherePredicate>) -> Generics {
    let mut bound = generics.clone();
    if !bounds.is_empty() {
        bound.make_where_clause().predicates.extend(bounds);
    }
    for param in &mut bound.params {
        if let GenericParam::Type(param) = param {
            param.default = None;
        }
    }
    bound
}
