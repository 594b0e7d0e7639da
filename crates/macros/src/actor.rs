//! `#[actor]` on an `impl` block: reads the block and adds the code that makes the type an actor. A
//! `trait` is passed on to `interface`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote};
use syn::meta;
use syn::parse::Parser;
use syn::{Ident, Item, ItemImpl, PathArguments, Type, parse_quote};

use crate::errors::Errors;
use crate::generate::{handler, implements, message, reference, schema};
use crate::interface;
use crate::parse::definition::{Definition, Reach};
use crate::parse::method::{Method, call};
use crate::parse::{comment, former, kind, route, side_by_side};

/// Returns the item unchanged and the code that belongs to it, or the errors.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let options = Options::read(options, &mut errors);
    let mut item = item;
    let made = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Impl(block)) => {
            let written =
                route::without_in_impl(former::without_in_impl(side_by_side::desugared(&block)));
            item = written.to_token_stream();
            from_impl(&block, &written, &options, &mut errors)
        }
        Ok(Item::Trait(block)) => {
            if let Some(life) = options.life {
                errors.add(life, "an interface does not implement `Life`: remove `life`");
            }
            if let Some(local) = options.local {
                errors.add(local, "an interface is for callers in other processes: remove `local`");
            }
            Some(interface::expand(&block, &mut errors))
        }
        Ok(_) => {
            errors.add_at(
                Span::call_site(),
                "#[wigwag::actor] belongs on an `impl Type { … }` or on a `trait` without code",
            );
            None
        }
        Err(error) => {
            errors.add_error(error);
            None
        }
    };
    match errors.finish() {
        Some(errors) => quote!(#item #errors),
        None => made.unwrap_or(item),
    }
}

/// The options of the attribute, where they are written.
#[derive(Default)]
struct Options {
    /// The type implements `wigwag::Life` itself.
    life: Option<Ident>,
    /// The actor is never exported, so its arguments and replies need no encoding.
    local: Option<Ident>,
}

impl Options {
    fn read(written: TokenStream, errors: &mut Errors) -> Options {
        const OPTIONS: &str = "#[wigwag::actor] takes two options: `life`, the type then implements \
                               `wigwag::Life` itself, and `local`, the actor then stays in its \
                               process and its calls need no encoding";
        let mut options = Options::default();
        let parser = meta::parser(|meta| {
            let place = match meta.path.get_ident() {
                Some(name) if name == "life" => &mut options.life,
                Some(name) if name == "local" => &mut options.local,
                _ => return Err(meta.error(OPTIONS)),
            };
            *place = meta.path.get_ident().cloned();
            Ok(())
        });
        if let Err(error) = parser.parse2(written) {
            errors.add_error(error);
        }
        options
    }
}

/// Expands an `impl` block; `written` is the block as it is passed on.
fn from_impl(
    block: &ItemImpl,
    written: &ItemImpl,
    options: &Options,
    errors: &mut Errors,
) -> Option<TokenStream> {
    if let Some((path, _)) = &block.trait_ {
        errors.add(
            path,
            "the calls of an actor are its inherent public methods: put #[wigwag::actor] on \
             `impl Type { … }`, without a trait",
        );
        return None;
    }
    let name = name_of(block, errors)?;
    let reach = if options.local.is_some() { Reach::Local } else { Reach::Exportable };
    let self_type = block.self_ty.to_token_stream();
    let methods: Vec<_> = block
        .items
        .iter()
        .filter_map(call)
        .map(|one| Method::read(&one.attrs, &one.sig, &self_type, reach, errors))
        .collect();
    if methods.is_empty() {
        errors.add(
            &name,
            "an actor needs at least one call: write a `pub fn` that takes `&mut self` or \
             `&self`",
        );
    }
    let visibility = parse_quote!(pub);
    let generics = block.generics.clone();
    let definition = Definition::new(name, visibility, self_type, generics, reach, methods, errors)
        .with_comment(comment::read(&block.attrs));
    let parts = [
        quote! {
            #[allow(unreachable_pub, reason = "`pub` makes a method a call")]
            #written
        },
        message::expand(&definition),
        reference::expand(&definition),
        schema::interface(&definition),
        implements::calls(&definition),
        if options.life.is_some() { TokenStream::new() } else { handler::life(&definition) },
        handler::actor(&definition),
    ];
    Some(parts.into_iter().collect())
}

/// The last segment of the type's path: `Counter` of `impl bank::Counter`.
fn name_of(block: &ItemImpl, errors: &mut Errors) -> Option<Ident> {
    if let Some(lifetime) = block.generics.lifetimes().next() {
        errors.add(lifetime, "an actor outlives its callers, so it borrows nothing: own the data");
        return None;
    }
    let Type::Path(path) = kind::inner(&block.self_ty) else {
        errors.add(&block.self_ty, "an actor is a struct or an enum of your own");
        return None;
    };
    let last = path.path.segments.last()?;
    if block.generics.params.is_empty() && !matches!(last.arguments, PathArguments::None) {
        errors.add(
            &last.arguments,
            "the reference has the name of the type without its parameters, so it can be that of \
             one type only: write `impl<T: wigwag::Message> Type<T>`, or wrap this one in a struct \
             of its own",
        );
        return None;
    }
    Some(last.ident.clone())
}
