//! The text of an error in its three forms.
//!
//! `{}` is one line, for logs, replies and `?`. `{:#}` adds a line with the hint, for people in front
//! of a terminal. `{:?}` is what `main` prints when it returns an error, so it has the words of the
//! error and the hint in it.

use alloc::string::ToString;
use core::fmt;

/// Ends the text of an error: in the form `{:#}` with its hint, in the form `{}` with nothing.
pub fn write_hint(f: &mut fmt::Formatter<'_>, hint: &str) -> fmt::Result {
    if f.alternate() { write!(f, "\n hint: {hint}") } else { Ok(()) }
}

/// Writes an error that has a place: `place: text` in one line, or in the form `{:#}` one line for
/// the text, one for the place and one for the hint.
pub fn write_error(
    f: &mut fmt::Formatter<'_>,
    place: &str,
    text: fmt::Arguments<'_>,
    hint: &str,
) -> fmt::Result {
    if f.alternate() {
        write!(f, "{text}\n   at: {place}\n hint: {hint}")
    } else {
        write!(f, "{place}: {text}")
    }
}

/// Writes the form `{:?}` of an error: the name of its type, its kind if that is a value of its own,
/// what `{}` prints, and the hint.
pub fn write_debug(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    kind: Option<&dyn fmt::Debug>,
    error: &dyn fmt::Display,
    hint: &str,
) -> fmt::Result {
    let mut fields = f.debug_struct(name);
    if let Some(kind) = kind {
        fields.field("kind", kind);
    }
    fields.field("message", &error.to_string()).field("hint", &hint).finish()
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    struct Broken;

    impl fmt::Display for Broken {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_error(f, "the bridge", format_args!("{} planks are missing", 3), "take the ferry")
        }
    }

    impl fmt::Debug for Broken {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_debug(f, "Broken", Some(&3), self, "take the ferry")
        }
    }

    #[test]
    fn only_the_alternate_form_has_the_hint_on_a_line_of_its_own() {
        assert_eq!(format!("{Broken}"), "the bridge: 3 planks are missing");
        let long = "3 planks are missing\n   at: the bridge\n hint: take the ferry";
        assert_eq!(format!("{Broken:#}"), long);
    }

    #[test]
    fn the_debug_form_has_the_words_and_the_hint() {
        let debug = "Broken { kind: 3, message: \"the bridge: 3 planks are missing\", \
                     hint: \"take the ferry\" }";
        assert_eq!(format!("{Broken:?}"), debug);
    }
}
