//! The encoding of a struct, or of one variant of an enum.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Field, Fields, Generics, Ident, Type};

use super::options::FieldCodec;
use crate::errors::Errors;
use crate::generate::fields::{check, read, take};
use crate::hygiene::{local, mixed_site_at};
use crate::parse::kind::{self, payload};

/// One field.
pub(super) struct MessageField<'a> {
    pub(super) written: &'a Field,
    pub(super) codec: FieldCodec,
    /// Its type where it is encoded or decoded.
    pub(super) kind: TokenStream,
    /// The name of its value where generated code destructures it.
    local: Ident,
}

impl MessageField<'_> {
    pub(super) fn span(&self) -> Span {
        mixed_site_at(self.written.ty.span())
    }

    fn encode(&self) -> TokenStream {
        let (kind, local, out) = (&self.kind, &self.local, local("out"));
        match self.codec.module() {
            None => quote_spanned! {self.span()=>
                <#kind as ::wigwag::__private::Encode>::encode(#local, #out);
            },
            Some(module) => quote!(#module::encode(#local, #out);),
        }
    }

    fn decode(&self, reader: &Ident) -> TokenStream {
        match self.codec.module() {
            None => read(reader, &self.kind, self.written.ty.span()),
            Some(module) => quote!(#module::decode(#reader)?),
        }
    }
}

/// The type of a field where it is encoded or decoded. A type with a parameter stays as it
/// is, because each impl knows only its own bound on the parameter.
pub(super) fn checked(kind: &Type, generics: &Generics) -> TokenStream {
    let (tokens, span) = (kind.to_token_stream(), kind.span());
    let is_open = generics.type_params().any(|param| kind::mentions(&tokens, &param.ident));
    if is_open { tokens } else { payload(&tokens, span) }
}

/// A struct, or one variant of an enum.
pub(super) struct StructLike<'a> {
    path: TokenStream,
    /// The number of a variant, which is encoded before its fields.
    number: Option<u32>,
    pub(super) fields: Vec<MessageField<'a>>,
}

impl<'a> StructLike<'a> {
    pub(super) fn new(
        path: TokenStream,
        fields: &'a Fields,
        generics: &Generics,
        number: Option<u32>,
        errors: &mut Errors,
    ) -> StructLike<'a> {
        let mut field = |(at, written): (usize, &'a Field)| MessageField {
            written,
            codec: FieldCodec::read(written, errors),
            kind: checked(&written.ty, generics),
            local: local(&format!("field_{at}")),
        };
        let fields = fields.iter().enumerate().map(&mut field).collect();
        StructLike { path, number, fields }
    }

    /// Number of values in the array.
    fn count(&self) -> usize {
        self.before() + self.fields.len()
    }

    /// Number of values before the fields.
    fn before(&self) -> usize {
        usize::from(self.number.is_some())
    }

    /// `Self::Open { name: field_0 }`; the fields of a tuple are named by their numbers.
    fn pattern(&self, values: impl Iterator<Item = TokenStream>) -> TokenStream {
        let path = &self.path;
        let names = self.fields.iter().enumerate().map(|(at, field)| match &field.written.ident {
            Some(name) => name.to_token_stream(),
            None => syn::Index::from(at).to_token_stream(),
        });
        quote!(#path { #(#names: #values,)* })
    }

    fn destructured(&self) -> TokenStream {
        self.pattern(self.fields.iter().map(|field| field.local.to_token_stream()))
    }

    fn encode_fields(&self) -> TokenStream {
        self.fields.iter().map(MessageField::encode).collect()
    }

    /// Code that checks the length, reads the fields and skips unknown ones; its value is a
    /// `Result`.
    fn decode_fields(&self, noun: &str) -> TokenStream {
        let (reader, count, value) = (local("reader"), local("count"), local("value"));
        let optional = self.fields.iter().rev();
        let optional = optional.take_while(|field| kind::is_option(&field.written.ty)).count();
        let total = self.count();
        let required = total - optional;
        let check = check(&count, required, noun);
        let values = (self.before()..).zip(&self.fields).map(|(at, field)| {
            take(field.decode(&reader), (at >= required).then_some((at, &count)))
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

pub(super) fn encode_struct(shape: &StructLike<'_>) -> TokenStream {
    let (out, count) = (local("out"), shape.count());
    let (destructured, puts) = (shape.destructured(), shape.encode_fields());
    quote! {
        let #destructured = self;
        ::wigwag::__private::put_array(#out, #count);
        #puts
    }
}

pub(super) fn decode_struct(shape: &StructLike<'_>) -> TokenStream {
    let (reader, count) = (local("reader"), local("count"));
    let takes = shape.decode_fields("field");
    quote! {
        ::wigwag::__private::nested(#reader, |#reader, #count| { #takes })
    }
}

/// The fixed-width encoding of a struct whose fields all have a fixed width.
#[derive(Default)]
pub(super) struct FixedForm {
    pub(super) put: TokenStream,
    pub(super) take: TokenStream,
}

/// The code for the fields without gaps and without a head. A field with its own codec has no fixed
/// width.
pub(super) fn fixed(shape: &StructLike<'_>) -> FixedForm {
    if !shape.fields.iter().all(|field| field.codec.is_plain()) {
        return FixedForm::default();
    }
    let (scratch, place, reader) = (local("scratch"), local("place"), local("reader"));
    let fields = || shape.fields.iter().map(|field| (field.span(), &field.kind, &field.local));
    let widths = fields().map(
        |(span, kind, _)| quote_spanned!(span=> <#kind as ::wigwag::__private::Encode>::FIXED),
    );
    let destructured = shape.destructured();
    let puts = fields().map(|(span, kind, local)| {
        quote_spanned! {span=>
            let #place = <#kind as ::wigwag::__private::Encode>::put_fixed(#local, #scratch, #place);
        }
    });
    let made = shape.pattern(fields().map(|(span, kind, _)| {
        quote_spanned! {span=>
            <#kind as ::wigwag::__private::Decode<'_>>::take_fixed(#reader)?
        }
    }));
    let put = quote! {
        const FIXED: ::wigwag::__private::fixed::FixedWidth =
            ::wigwag::__private::fixed::FixedWidth::all(&[#(#widths,)*]);

        #[inline(always)]
        fn put_fixed(
            &self,
            #scratch: &mut ::wigwag::__private::small::Scratch,
            #place: ::core::primitive::usize,
        ) -> ::core::primitive::usize {
            let #destructured = self;
            #(#puts)*
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

pub(super) fn encode_enum(shapes: &[StructLike<'_>]) -> TokenStream {
    let out = local("out");
    let arms = shapes.iter().map(|shape| {
        let (count, number) = (shape.count(), shape.number);
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

pub(super) fn decode_enum(shapes: &[StructLike<'_>]) -> TokenStream {
    let (reader, count, number) = (local("reader"), local("count"), local("number"));
    let arms = shapes.iter().map(|shape| {
        let (at, takes) = (shape.number, shape.decode_fields("value"));
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
