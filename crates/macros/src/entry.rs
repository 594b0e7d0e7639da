//! `#[main]`: a runtime around `async fn main`, with an orderly shutdown.
//!
//! The body becomes a function of its own, so `return` and `?` keep their usual meaning.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::meta::{self, ParseNestedMeta};
use syn::parse::Parser;
use syn::{ItemFn, LitInt, LitStr, Result, ReturnType, Type};

use crate::errors::Errors;
use crate::hygiene::call_site_at;

/// The options of the attribute.
#[derive(Default)]
struct Options {
    current_thread: bool,
    worker_threads: Option<(usize, Span)>,
}

/// Returns a plain `main`, or the errors.
pub(crate) fn expand(options: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let read = Options::read(options, &mut errors);
    let function = match syn::parse2::<ItemFn>(item.clone()) {
        Ok(function) => function,
        Err(_) => {
            errors.add_at(Span::call_site(), "#[wigwag::main] belongs on `async fn main()`");
            return finish(item, errors);
        }
    };
    check(&function, &mut errors);
    let written = write(&function, &read);
    match errors.finish() {
        // Without the expansion, `main` would be async, which would cause one more error.
        Some(errors) => quote!(#errors #written),
        None => written,
    }
}

fn finish(item: TokenStream, errors: Errors) -> TokenStream {
    let errors = errors.finish();
    quote!(#item #errors)
}

fn check(function: &ItemFn, errors: &mut Errors) {
    let signature = &function.sig;
    if signature.asyncness.is_none() {
        errors.add(signature.fn_token, "#[wigwag::main] runs an async function: write `async fn`");
    }
    if let Some(first) = signature.inputs.first() {
        errors.add(
            first,
            "main takes no arguments: use std::env::args() for those of the command line",
        );
    }
    if let Some(first) = signature.generics.params.first() {
        errors.add(first, "main cannot be generic: name the type");
    }
}

fn write(function: &ItemFn, options: &Options) -> TokenStream {
    let (attributes, visibility) = (&function.attrs, &function.vis);
    let (name, output, block) = (&function.sig.ident, &function.sig.output, &function.block);
    let current_thread = options.current_thread;
    let worker_threads = match &options.worker_threads {
        Some((count, _)) => quote!(::core::option::Option::Some(#count)),
        None => quote!(::core::option::Option::None),
    };
    let mut body = function.sig.clone();
    body.ident = syn::Ident::new("body", Span::mixed_site());
    body.inputs.clear();
    body.asyncness.get_or_insert_with(Default::default);
    let named = syn::Ident::new(&name.to_string(), call_site_at(name.span()));
    let inner = &body.ident;
    let run = quote! {
        ::wigwag::__private::run_main(
            ::wigwag::__private::MainOptions {
                current_thread: #current_thread,
                worker_threads: #worker_threads,
            },
            #inner(),
        )
    };
    let (output, run) = match output {
        // Rust would print the error that the program ends with for programmers.
        ReturnType::Type(_, kind) if name == "main" && !matches!(**kind, Type::Never(_)) => (
            quote!(-> ::std::process::ExitCode),
            quote! {
                use ::wigwag::__private::{ReportDebug as _, ReportDisplay as _};
                let outcome = #run;
                (&::wigwag::__private::MainEnd::of(&outcome)).report(outcome)
            },
        ),
        output => (quote!(#output), run),
    };
    quote! {
        #(#attributes)*
        #visibility fn #named() #output {
            #body #block
            #run
        }
    }
}

impl Options {
    fn read(options: TokenStream, errors: &mut Errors) -> Options {
        let mut read = Options::default();
        let parser = meta::parser(|meta| read.take(&meta));
        if let Err(error) = parser.parse2(options) {
            errors.add_error(error);
        }
        if let (true, Some((_, span))) = (read.current_thread, read.worker_threads) {
            errors.add_at(
                span,
                "flavor = \"current_thread\" has one thread: remove worker_threads or the flavor",
            );
        }
        read
    }

    fn take(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        if meta.path.is_ident("flavor") {
            let flavor: LitStr = meta.value()?.parse()?;
            self.current_thread = match flavor.value().as_str() {
                "current_thread" => true,
                "multi_thread" => false,
                _ => {
                    return Err(syn::Error::new(
                        flavor.span(),
                        "the flavors are \"multi_thread\" and \"current_thread\"",
                    ));
                }
            };
            return Ok(());
        }
        if meta.path.is_ident("worker_threads") {
            let written: LitInt = meta.value()?.parse()?;
            let count: usize = written.base10_parse()?;
            if count == 0 {
                return Err(syn::Error::new(written.span(), "worker_threads must be at least 1"));
            }
            self.worker_threads = Some((count, written.span()));
            return Ok(());
        }
        Err(meta.error("the options are `flavor = \"…\"` and `worker_threads = N`"))
    }
}

#[cfg(test)]
mod tests {
    use syn::{File, Item, parse_quote};

    use super::*;

    fn expanded(options: TokenStream) -> String {
        let written = expand(
            options,
            quote!(
                async fn main() -> u8 {
                    7
                }
            ),
        );
        written.to_string().replace(' ', "")
    }

    #[test]
    fn the_body_becomes_a_function_and_main_runs_it() {
        let written = expand(
            TokenStream::new(),
            quote! {
                /// Docs.
                pub async fn main() -> Result<(), String> { work().await? ; Ok(()) }
            },
        );
        let file: File = syn::parse2(written).unwrap();
        let [Item::Fn(main)] = &file.items[..] else {
            panic!("one function is expected");
        };
        let expected: ItemFn = parse_quote! {
            /// Docs.
            pub fn main() -> ::std::process::ExitCode {
                async fn body() -> Result<(), String> { work().await? ; Ok(()) }
                use ::wigwag::__private::{ReportDebug as _, ReportDisplay as _};
                let outcome = ::wigwag::__private::run_main(
                    ::wigwag::__private::MainOptions {
                        current_thread: false,
                        worker_threads: ::core::option::Option::None,
                    },
                    body(),
                );
                (&::wigwag::__private::MainEnd::of(&outcome)).report(outcome)
            }
        };
        assert_eq!(quote!(#main).to_string(), quote!(#expected).to_string());
    }

    #[test]
    fn options_reach_the_runtime() {
        assert!(expanded(quote!(flavor = "current_thread")).contains("current_thread:true"));
        let threads = expanded(quote!(flavor = "multi_thread", worker_threads = 3));
        assert!(threads.contains("current_thread:false"));
        assert!(threads.contains("Option::Some(3usize)"));
    }

    #[test]
    fn invalid_options_are_refused() {
        for (options, reason) in [
            (quote!(flavor = "none"), "theflavorsare"),
            (quote!(worker_threads = 0), "mustbeatleast1"),
            (quote!(speed = 9), "theoptionsare"),
            (quote!(flavor = "current_thread", worker_threads = 2), "hasonethread"),
        ] {
            let written = expanded(options);
            assert!(written.contains("compile_error") && written.contains(reason), "{written}");
        }
    }
}
