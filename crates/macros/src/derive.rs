//! `#[derive(Message)]`: the user's own types as arguments and replies.
//!
//! A struct is encoded as the array of its fields, an enum as the array of its variant's number and
//! the fields. Both can grow at the end: an older receiver skips unknown fields, and a newer one
//! reads a missing `Option` as `None`. The number of a variant is its position, so new variants go
//! last.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Field, Fields, GenericParam, Generics, Ident, Path};
use syn::{WherePredicate, parse_quote};

use crate::definition::local;
use crate::errors::Errors;
use crate::fields::{check, take};
use crate::method::mixed_site_at;
use crate::{former, kind};

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
    let is_declared = declares_travels(&input, &mut errors);
    let bodies = match &input.data {
        Data::Struct(data) => {
            let shape = StructLike::new(quote!(Self), &data.fields, 0);
            Some((encode_struct(&shape), decode_struct(&shape), fixed(&shape)))
        }
        Data::Enum(data) => {
            let shapes: Vec<_> = data
                .variants
                .iter()
                .map(|variant| {
                    let name = &variant.ident;
                    StructLike::new(quote!(Self::#name), &variant.fields, 1)
                })
                .collect();
            Some((encode_enum(&shapes), decode_enum(&shapes), FixedForm::default()))
        }
        Data::Union(data) => {
            errors.add(data.union_token, "the active field of a union is unknown: use an enum");
            None
        }
    };
    let names = names(&input, is_declared, &mut errors);
    match (errors.finish(), bodies) {
        (None, Some((encode, decode, fixed))) => {
            let travels = if is_declared { quote!(true) } else { travels(&input) };
            impls(&input, &travels, &names, &encode, &decode, &fixed)
        }
        (errors, _) => errors.unwrap_or_default(),
    }
}

/// `#[message(travels)]`: the user declares that the type travels, and its fields are not checked.
fn declares_travels(input: &DeriveInput, errors: &mut Errors) -> bool {
    let mut is_declared = false;
    for attribute in input.attrs.iter().filter(|one| one.path().is_ident("message")) {
        let read = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("travels") {
                is_declared = true;
                return Ok(());
            }
            Err(meta.error("the option is `travels`"))
        });
        if let Err(error) = read {
            errors.add_error(error);
        }
    }
    is_declared
}

/// An expression that is true if all fields travel. A field whose type names the derived type is
/// left out, because the constant would depend on itself.
fn travels(input: &DeriveInput) -> TokenStream {
    let fields: Vec<&Field> = match &input.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.fields).collect(),
        Data::Union(_) => Vec::new(),
    };
    let asked = fields.into_iter().filter(|field| {
        let kind = field.ty.to_token_stream();
        !kind::mentions(&kind, &input.ident)
    });
    let answers = asked.map(|field| {
        let kind = &field.ty;
        quote_spanned! {mixed_site_at(kind.span())=> && <#kind as ::wigwag::__private::Encode>::TRAVELS }
    });
    quote!(true #(#answers)*)
}

/// The names of the fields or variants. Types that contain each other, for which the constant would
/// depend on itself, have the names of one level only.
fn names(input: &DeriveInput, is_cyclic: bool, errors: &mut Errors) -> TokenStream {
    let name = input.ident.unraw().to_string();
    match &input.data {
        Data::Struct(data) => names_of(input, &name, &data.fields, is_cyclic, errors),
        Data::Enum(data) => {
            let variants: Vec<_> = data
                .variants
                .iter()
                .map(|variant| {
                    let text = variant.ident.unraw().to_string();
                    let whole = format!("{name}::{text}");
                    let former = former_names(&variant.attrs, &variant.ident, errors);
                    let fields = names_of(input, &whole, &variant.fields, is_cyclic, errors);
                    named(&text, &former, &fields)
                })
                .collect();
            quote! {
                &::wigwag::__private::fields::Fields { name: #name, fields: &[#(#variants,)*] }
            }
        }
        Data::Union(_) => TokenStream::new(),
    }
}

fn names_of(
    input: &DeriveInput,
    name: &str,
    fields: &Fields,
    is_cyclic: bool,
    errors: &mut Errors,
) -> TokenStream {
    // The fields of a tuple have no names of their own.
    let name = if matches!(fields, Fields::Named(_)) { name } else { "" };
    let each: Vec<_> = fields
        .iter()
        .enumerate()
        .map(|(at, field)| {
            let (text, former) = match &field.ident {
                Some(ident) => {
                    (ident.unraw().to_string(), former_names(&field.attrs, ident, errors))
                }
                None => (at.to_string(), Vec::new()),
            };
            let kind = &field.ty;
            let is_own = is_cyclic || kind::mentions(&kind.to_token_stream(), &input.ident);
            let parts = if is_own {
                quote!(::wigwag::__private::fields::Fields::NONE)
            } else {
                quote_spanned! {mixed_site_at(kind.span())=>
                    <#kind as ::wigwag::__private::Encode>::FIELDS
                }
            };
            named(&text, &former, &parts)
        })
        .collect();
    quote!(&::wigwag::__private::fields::Fields { name: #name, fields: &[#(#each,)*] })
}

fn named(name: &str, former: &[String], fields: &TokenStream) -> TokenStream {
    quote! {
        ::wigwag::__private::fields::Field {
            name: #name,
            former: &[#(#former,)*],
            fields: #fields,
        }
    }
}

/// The former names of a field or a variant: `#[message(was = "old")]`.
fn former_names(attributes: &[Attribute], name: &Ident, errors: &mut Errors) -> Vec<String> {
    let mut former = Vec::new();
    for attribute in attributes.iter().filter(|one| one.path().is_ident("message")) {
        let read = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("was") {
                former::add(&meta.value()?.parse()?, name, &mut former, errors);
                return Ok(());
            }
            Err(meta.error("the option is `was = \"old\"`"))
        });
        if let Err(error) = read {
            errors.add_error(error);
        }
    }
    former
}

fn impls(
    input: &DeriveInput,
    travels: &TokenStream,
    names: &TokenStream,
    encode: &TokenStream,
    decode: &TokenStream,
    fixed: &FixedForm,
) -> TokenStream {
    let name = &input.ident;
    let (_, types, _) = input.generics.split_for_impl();
    let encoded = bound(&input.generics, &parse_quote!(::wigwag::__private::Encode));
    let (encode_params, _, encode_where) = encoded.split_for_impl();
    let mut decoded = bound(&input.generics, &parse_quote!(::wigwag::__private::Decode<'wigwag>));
    decoded.params.insert(0, parse_quote!('wigwag));
    let (decode_params, _, decode_where) = decoded.split_for_impl();
    let (out, reader) = (local("out"), local("reader"));
    let FixedForm { put, take } = fixed;
    quote! {
        #[automatically_derived]
        impl #encode_params ::wigwag::__private::Encode for #name #types #encode_where {
            const TRAVELS: ::core::primitive::bool = #travels;
            const FIELDS: &'static ::wigwag::__private::fields::Fields = #names;

            #[inline]
            fn encode(&self, #out: &mut ::wigwag::__private::Buffer) { #encode }

            #put
        }

        #[automatically_derived]
        impl #decode_params ::wigwag::__private::Decode<'wigwag> for #name #types #decode_where {
            #[inline]
            fn decode(
                #reader: &mut ::wigwag::__private::Reader<'wigwag>,
            ) -> ::core::result::Result<Self, ::wigwag::__private::DecodeError> { #decode }

            #take
        }
    }
}

/// Adds the bound `limit` to each type parameter.
fn bound(generics: &Generics, limit: &Path) -> Generics {
    let mut bound = generics.clone();
    let limits: Vec<WherePredicate> = generics
        .type_params()
        .map(|param| {
            let name = &param.ident;
            parse_quote!(#name: #limit)
        })
        .collect();
    if !limits.is_empty() {
        bound.make_where_clause().predicates.extend(limits);
    }
    for param in &mut bound.params {
        if let GenericParam::Type(param) = param {
            param.default = None;
        }
    }
    bound
}

/// A struct, or one variant of an enum.
struct StructLike<'a> {
    path: TokenStream,
    fields: Vec<&'a Field>,
    /// Names for the values where generated code destructures it.
    locals: Vec<Ident>,
    /// Number of values before the fields: 1 for the number of a variant.
    before: usize,
}

impl<'a> StructLike<'a> {
    fn new(path: TokenStream, fields: &'a Fields, before: usize) -> StructLike<'a> {
        let fields: Vec<_> = fields.iter().collect();
        let locals = (0..fields.len()).map(|at| local(&format!("field_{at}"))).collect();
        StructLike { path, fields, locals, before }
    }

    /// `Self::Open { name: field_0 }`; the fields of a tuple are named by their numbers.
    fn pattern(&self, values: impl Iterator<Item = TokenStream>) -> TokenStream {
        let path = &self.path;
        let names = self.fields.iter().enumerate().map(|(at, field)| match &field.ident {
            Some(name) => name.to_token_stream(),
            None => syn::Index::from(at).to_token_stream(),
        });
        quote!(#path { #(#names: #values,)* })
    }

    fn destructured(&self) -> TokenStream {
        self.pattern(self.locals.iter().map(ToTokens::to_token_stream))
    }

    fn encode_fields(&self) -> TokenStream {
        let out = local("out");
        let puts = self.fields.iter().zip(&self.locals).map(|(field, local)| {
            quote_spanned! {mixed_site_at(field.ty.span())=>
                ::wigwag::__private::Encode::encode(#local, #out);
            }
        });
        quote!(#(#puts)*)
    }

    /// Code that checks the length, reads the fields and skips unknown ones; its value is a
    /// `Result`.
    fn decode_fields(&self, noun: &str) -> TokenStream {
        let (reader, count, value) = (local("reader"), local("count"), local("value"));
        let optional = self.fields.iter().rev();
        let optional = optional.take_while(|field| kind::is_option(&field.ty)).count();
        let total = self.before + self.fields.len();
        let required = total - optional;
        let check = check(&count, required, noun);
        let values = (self.before..).zip(&self.fields).map(|(at, field)| {
            take(&reader, (at >= required).then_some((at, &count)), field.ty.span())
        });
        let made = self.pattern(values);
        quote! {
            #check
            let #value = #made;
            for _ in #total..#count {
                ::wigwag::__private::skip(#reader)?;
            }
            ::core::result::Result::Ok(#value)
        }
    }
}

fn encode_struct(shape: &StructLike<'_>) -> TokenStream {
    let (out, count) = (local("out"), shape.fields.len());
    let (destructured, puts) = (shape.destructured(), shape.encode_fields());
    quote! {
        let #destructured = self;
        ::wigwag::__private::put_array(#out, #count);
        #puts
    }
}

fn decode_struct(shape: &StructLike<'_>) -> TokenStream {
    let (reader, count) = (local("reader"), local("count"));
    let takes = shape.decode_fields("field");
    quote! {
        ::wigwag::__private::nested(#reader, |#reader, #count| { #takes })
    }
}

/// The fixed-width encoding of a struct whose fields all have a fixed width.
#[derive(Default)]
struct FixedForm {
    put: TokenStream,
    take: TokenStream,
}

/// The code for the fields without gaps and without a head.
fn fixed(shape: &StructLike<'_>) -> FixedForm {
    let (scratch, place, reader) = (local("scratch"), local("place"), local("reader"));
    let kinds = shape.fields.iter().map(|field| {
        let kind = &field.ty;
        quote_spanned!(mixed_site_at(kind.span())=> <#kind as ::wigwag::__private::Encode>::FIXED)
    });
    let (destructured, locals) = (shape.destructured(), &shape.locals);
    let made = shape.pattern(shape.fields.iter().map(|field| {
        quote_spanned! {mixed_site_at(field.ty.span())=>
            ::wigwag::__private::Decode::take_fixed(#reader)?
        }
    }));
    let put = quote! {
        const FIXED: ::wigwag::__private::fixed::FixedWidth =
            ::wigwag::__private::fixed::FixedWidth::all(&[#(#kinds,)*]);

        #[inline(always)]
        fn put_fixed(
            &self,
            #scratch: &mut ::wigwag::__private::small::Scratch,
            #place: ::core::primitive::usize,
        ) -> ::core::primitive::usize {
            let #destructured = self;
            #(let #place = ::wigwag::__private::Encode::put_fixed(#locals, #scratch, #place);)*
            #place
        }
    };
    let take = quote! {
        #[inline(always)]
        fn take_fixed(
            #reader: &mut ::wigwag::__private::Reader<'wigwag>,
        ) -> ::core::result::Result<Self, ::wigwag::__private::DecodeError> {
            ::core::result::Result::Ok(#made)
        }
    };
    FixedForm { put, take }
}

fn encode_enum(shapes: &[StructLike<'_>]) -> TokenStream {
    let out = local("out");
    let arms = shapes.iter().zip(0u32..).map(|(shape, number)| {
        let count = shape.before + shape.fields.len();
        let (destructured, puts) = (shape.destructured(), shape.encode_fields());
        quote! {
            #destructured => {
                ::wigwag::__private::put_array(#out, #count);
                ::wigwag::__private::Encode::encode(&#number, #out);
                #puts
            }
        }
    });
    if shapes.is_empty() {
        return quote! { let _ = #out; match *self {} };
    }
    quote!(match self { #(#arms)* })
}

fn decode_enum(shapes: &[StructLike<'_>]) -> TokenStream {
    let (reader, count, number) = (local("reader"), local("count"), local("number"));
    let arms = shapes.iter().zip(0u32..).map(|(shape, at)| {
        let takes = shape.decode_fields("value");
        quote!(#at => { #takes })
    });
    let check = check(&count, 1, "value");
    let variants = shapes.len();
    let expected = format!("one of {variants} variants");
    quote! {
        ::wigwag::__private::nested(#reader, |#reader, #count| {
            #check
            let #number: ::core::primitive::u32 = ::wigwag::__private::Decode::decode(#reader)?;
            match #number {
                #(#arms)*
                _ => ::core::result::Result::Err(::wigwag::__private::DecodeError::OutOfRange {
                    expected: #expected,
                }),
            }
        })
    }
}
