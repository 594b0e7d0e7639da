//! What was read from an `impl` block or a `trait`, and the names that are made from it.

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;
use syn::{Ident, Visibility};

use crate::errors::Errors;
use crate::method::{Method, call_site_at};

/// An interface: its calls in order.
pub(crate) struct Definition {
    /// The name that all others are made from: `Counter`.
    pub(crate) name: Ident,
    /// Who may see what is made: an `impl` block does not tell who sees its type, a trait does.
    pub(crate) visibility: Visibility,
    /// The type that has the interface.
    pub(crate) self_type: TokenStream,
    /// `CounterMessage`.
    pub(crate) message: Ident,
    /// `CounterRef`.
    pub(crate) reference: Ident,
    pub(crate) methods: Vec<Method>,
}

impl Definition {
    pub(crate) fn new(
        name: Ident,
        visibility: Visibility,
        self_type: TokenStream,
        methods: Vec<Method>,
        errors: &mut Errors,
    ) -> Definition {
        check_variants(&methods, errors);
        let made =
            |end: &str| Ident::new(&format!("{}{end}", name.unraw()), call_site_at(name.span()));
        Definition {
            message: made("Message"),
            reference: made("Ref"),
            name,
            visibility,
            self_type,
            methods,
        }
    }

    /// What people call the actor: the name in the schema.
    pub(crate) fn spelled(&self) -> String {
        self.name.unraw().to_string()
    }
}

fn check_variants(methods: &[Method], errors: &mut Errors) {
    for (at, method) in methods.iter().enumerate() {
        let before = &methods[..at];
        if let Some(first) = before.iter().find(|one| one.variant == method.variant) {
            errors.add(
                &method.name,
                format!(
                    "`{}` and `{}` would both be `{}` in the message: give one another name",
                    first.name, method.name, method.variant
                ),
            );
        }
    }
}

/// The name of a local variable in what is written; no argument of the user's can hide it.
pub(crate) fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// Names for the arguments of `method` where it is taken apart.
pub(crate) fn locals(method: &Method) -> Vec<Ident> {
    let count = method.arguments.len();
    (0..count).map(|at| local(&format!("argument_{at}"))).collect()
}
