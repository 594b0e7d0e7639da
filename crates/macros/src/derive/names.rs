//! The names of fields and variants, by which two versions of a type are compared, and what else a
//! description says of them.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Field, Fields};

use super::options::{FieldCodec, check_variant, former_names, variant_numbers};
use super::shape::checked;
use crate::errors::Errors;
use crate::hygiene::mixed_site_at;
use crate::parse::{comment, kind};

/// The names of the fields or variants. Types that contain each other, for which the constant would
/// depend on itself, have the names of one level only.
pub(super) fn names(input: &DeriveInput, is_cyclic: bool, errors: &mut Errors) -> TokenStream {
    let name = input.ident.unraw().to_string();
    let comment = comment::read(&input.attrs);
    match &input.data {
        Data::Struct(data) => names_of(input, (&name, &comment), &data.fields, is_cyclic, errors),
        Data::Enum(data) => {
            // Errors in the numbers were reported where the encoding is generated.
            let numbers = variant_numbers(data, &mut Errors::default());
            let variants: Vec<_> = data
                .variants
                .iter()
                .zip(numbers)
                .map(|(variant, number)| {
                    check_variant(&variant.attrs, errors);
                    let text = variant.ident.unraw().to_string();
                    // The fields of a tuple have no names that could be compared.
                    let is_named = matches!(variant.fields, Fields::Named(_));
                    let whole = if is_named { format!("{name}::{text}") } else { String::new() };
                    let former = former_names(&variant.attrs, &variant.ident, errors);
                    let fields = names_of(input, (&whole, ""), &variant.fields, is_cyclic, errors);
                    let form = quote!(::wigwag::__private::fields::Form::Variant(#number));
                    named(&text, &former, "", &fields, &form, &variant.attrs)
                })
                .collect();
            quote! {
                &::wigwag::__private::fields::Fields {
                    name: #name,
                    fields: &[#(#variants,)*],
                    comment: #comment,
                }
            }
        }
        Data::Union(_) => TokenStream::new(),
    }
}

fn names_of(
    input: &DeriveInput,
    (name, comment): (&str, &str),
    fields: &Fields,
    is_cyclic: bool,
    errors: &mut Errors,
) -> TokenStream {
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
            let kind = kind::spelled(field.ty.to_token_stream());
            // The options were read before, with their errors.
            let form = match FieldCodec::read(field, &mut Errors::default()).is_plain() {
                true => quote!(::wigwag::__private::fields::Form::OfType),
                false => quote!(::wigwag::__private::fields::Form::Own),
            };
            named(&text, &former, &kind, &parts(input, field, is_cyclic), &form, &field.attrs)
        })
        .collect();
    quote! {
        &::wigwag::__private::fields::Fields {
            name: #name,
            fields: &[#(#each,)*],
            comment: #comment,
        }
    }
}

/// The names inside of a field; none if a codec of its own encodes it.
fn parts(input: &DeriveInput, field: &Field, is_cyclic: bool) -> TokenStream {
    let kind = &field.ty;
    let is_own = is_cyclic || kind::mentions(&kind.to_token_stream(), &input.ident);
    // The options were read before, with their errors.
    let is_plain = FieldCodec::read(field, &mut Errors::default()).is_plain();
    if is_own || !is_plain {
        return quote!(::wigwag::__private::fields::Fields::NONE);
    }
    let checked = checked(kind, &input.generics);
    quote_spanned! {mixed_site_at(kind.span())=>
        <#checked as ::wigwag::__private::Encode>::FIELDS
    }
}

fn named(
    name: &str,
    former: &[String],
    kind: &str,
    fields: &TokenStream,
    form: &TokenStream,
    attributes: &[Attribute],
) -> TokenStream {
    let comment = comment::read(attributes);
    quote! {
        ::wigwag::__private::fields::Field {
            name: #name,
            former: &[#(#former,)*],
            kind: #kind,
            fields: #fields,
            form: #form,
            comment: #comment,
        }
    }
}
