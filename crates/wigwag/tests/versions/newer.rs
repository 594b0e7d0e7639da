//! The newer version of the interface of each row of `docs/versions.md`: its actor, and the calls that
//! a program of this version makes. The modules of the older version have the same names.

mod methods;
mod types;

use methods::*;
use types::*;

use crate::version::rows;

rows! {
    actor_renamed: Counter,
    methods_added: Desk,
    method_removed: Desk,
    methods_renamed: Desk,
    arguments_moved: Desk,
    arguments_renamed: Desk,
    option_added: Desk,
    argument_added: Desk,
    numbers: Desk,
    type_changed: Desk,
    fields_moved: Desk,
    fields_renamed: Desk,
    option_field_added: Desk,
    field_added: Desk,
    variant_added: Desk,
    variants_moved: Desk,
}
