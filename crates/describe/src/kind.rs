//! Types as descriptions spell them: `Vec<(Item, [u8; 4])>`.
//!
//! The text comes from the peer, so it is read with a limit on its depth, and what is no such type
//! is `None`.

/// Levels of a type that are read: more than a person writes.
const DEPTH_MAX: usize = 32;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind<'t> {
    /// The last part of a path, and its arguments: `Vec` and `u8` of `std::vec::Vec<u8>`.
    Named(&'t str, Vec<Kind<'t>>),
    /// The types of a tuple; none for `()`.
    Tuple(Vec<Kind<'t>>),
    /// An array with its length, if that is a number, or a slice.
    Array(Box<Kind<'t>>, Option<usize>),
}

impl<'t> Kind<'t> {
    /// Reads a whole type.
    pub fn read(text: &'t str) -> Option<Kind<'t>> {
        let mut reader = Reader { rest: text };
        let kind = reader.kind(DEPTH_MAX)?;
        reader.rest.trim_start().is_empty().then_some(kind)
    }
}

impl Kind<'_> {
    /// True if the type is a stream, or has one within it.
    pub fn has_items(text: &str) -> bool {
        Kind::read(text).is_some_and(|kind| kind.is_or_has_items())
    }

    fn is_or_has_items(&self) -> bool {
        match self {
            Kind::Named("Items", _) => true,
            Kind::Named(_, parts) | Kind::Tuple(parts) => parts.iter().any(Kind::is_or_has_items),
            Kind::Array(one, _) => one.is_or_has_items(),
        }
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    /// Takes `sign` if it is next.
    fn take(&mut self, sign: char) -> bool {
        let rest = self.rest.trim_start();
        let taken = rest.strip_prefix(sign);
        self.rest = taken.unwrap_or(rest);
        taken.is_some()
    }

    /// Takes a word of letters, digits and underscores.
    fn word(&mut self) -> Option<&'t str> {
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn kind(&mut self, depth: usize) -> Option<Kind<'t>> {
        let depth = depth.checked_sub(1)?;
        if self.take('&') {
            if self.take('\'') {
                self.word()?;
            }
            return self.kind(depth);
        }
        if self.take('(') {
            return self.list(')', depth).map(Kind::Tuple);
        }
        if self.take('[') {
            let item = self.kind(depth)?;
            let length = if self.take(';') { self.until_bracket()?.parse().ok() } else { None };
            return self.take(']').then_some(Kind::Array(Box::new(item), length));
        }
        let mut name = self.word()?;
        while self.rest.trim_start().starts_with("::") {
            self.take(':');
            self.take(':');
            name = self.word()?;
        }
        let arguments = if self.take('<') { self.list('>', depth)? } else { Vec::new() };
        Some(Kind::Named(name, arguments))
    }

    /// The length of an array, which may be an expression.
    fn until_bracket(&mut self) -> Option<&'t str> {
        let end = self.rest.find(']')?;
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(text.trim())
    }

    /// Types up to `end`, without lifetimes.
    fn list(&mut self, end: char, depth: usize) -> Option<Vec<Kind<'t>>> {
        let mut kinds = Vec::new();
        while !self.take(end) {
            if self.take('\'') {
                self.word()?;
            } else {
                kinds.push(self.kind(depth)?);
            }
            if !self.take(',') {
                return self.take(end).then_some(kinds);
            }
        }
        Some(kinds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'t>(name: &'t str, arguments: &[Kind<'t>]) -> Kind<'t> {
        Kind::Named(name, arguments.to_vec())
    }

    #[test]
    fn types_are_read_as_they_are_spelled() {
        let byte = named("u8", &[]);
        for (text, kind) in [
            ("u8", byte.clone()),
            ("()", Kind::Tuple(Vec::new())),
            ("(u8, )", Kind::Tuple(vec![byte.clone()])),
            ("std::option::Option<u8>", named("Option", std::slice::from_ref(&byte))),
            ("[u8; 4]", Kind::Array(Box::new(byte.clone()), Some(4))),
            ("[u8; SIZE + 1]", Kind::Array(Box::new(byte.clone()), None)),
            ("Cow<'static, str>", named("Cow", &[named("str", &[])])),
            ("&'static [u8]", Kind::Array(Box::new(byte.clone()), None)),
            (
                "Vec<(Item, Result<u8, E>)>",
                named(
                    "Vec",
                    &[Kind::Tuple(vec![
                        named("Item", &[]),
                        named("Result", &[byte.clone(), named("E", &[])]),
                    ])],
                ),
            ),
        ] {
            assert_eq!(Kind::read(text), Some(kind), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_types() {
        let deep = "Vec<".repeat(10_000);
        for text in
            ["", "u8 u8", "Vec<u8", "(u8", "[u8; 4", "<T as Own>::Kind", "dyn Any", "->", &deep]
        {
            assert_eq!(Kind::read(text), None, "{:.40}", text);
        }
    }
}
