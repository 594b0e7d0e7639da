//! Doc comments, as descriptions of interfaces have them.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Bytes of one comment in a description: a paragraph or two. The rest is left out.
const COMMENT_BYTES_MAX: usize = 1024;

/// The text of the doc comment in `attributes`, without the blank after each `///`; empty if there
/// is none. The macro does not see the text of `#[doc = include_str!(…)]`.
pub(crate) fn read(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|one| one.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value
        {
            let text = text.value();
            lines.extend(
                text.split('\n')
                    .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()),
            );
        }
    }
    shortened(lines.join("\n").trim())
}

fn shortened(text: &str) -> String {
    const MORE: &str = " …";
    if text.len() <= COMMENT_BYTES_MAX {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(COMMENT_BYTES_MAX - MORE.len());
    let words = text[..end].rsplit_once(char::is_whitespace).map_or(&text[..end], |(all, _)| all);
    format!("{}{MORE}", words.trim_end())
}

#[cfg(test)]
mod tests {
    use syn::{ItemStruct, parse_quote};

    use super::*;

    #[test]
    fn a_comment_has_its_lines_without_the_blanks_around_them() {
        let item: ItemStruct = parse_quote! {
            /// The first line.
            ///
            ///   - indented
            #[doc = include_str!("elsewhere")]
            #[doc(hidden)]
            #[derive(Clone)]
            #[doc = "last "]
            struct A;
        };
        assert_eq!(read(&item.attrs), "The first line.\n\n  - indented\nlast");
        assert_eq!(read(&[]), "");
    }

    #[test]
    fn a_long_comment_ends_at_a_word() {
        let long = "word ".repeat(400);
        let text = shortened(long.trim());
        assert!(text.len() <= COMMENT_BYTES_MAX && text.len() > 1000, "{}", text.len());
        assert!(text.ends_with("word …"), "{text}");
        let one = "é".repeat(COMMENT_BYTES_MAX);
        assert!(shortened(&one).len() <= COMMENT_BYTES_MAX);
        assert_eq!(shortened(&long[..COMMENT_BYTES_MAX]), long[..COMMENT_BYTES_MAX]);
    }
}
