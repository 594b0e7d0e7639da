//! Structs and enums in words: what a description says of them to people.

use core::cell::Cell;

use super::{Fields, Form};
use crate::encoding::msgpack::put_array;
use crate::{Buffer, Encode};

/// Bytes of all doc comments in one description: some ten screens of text. Later parts have
/// none, so that the comments never make a description too long to be sent.
const COMMENTS_BYTES_MAX: usize = 64 * 1024;

/// The doc comments that one description has room for.
#[derive(Debug)]
pub struct Comments {
    left: Cell<usize>,
}

impl Default for Comments {
    fn default() -> Comments {
        Comments { left: Cell::new(COMMENTS_BYTES_MAX) }
    }
}

impl Comments {
    /// The text, or an empty one if there is no room left.
    pub fn take(&self, text: &'static str) -> &'static str {
        match self.left.get().checked_sub(text.len()) {
            Some(left) => {
                self.left.set(left);
                text
            }
            None => "",
        }
    }
}

/// A struct or an enum in words: `[name, [[part, its type, [field of a variant*]]*]]`, where such a
/// field is `[field, its type]`. With comments, each of the three may be longer by its comment; a part
/// and a field have then its form behind it: nil, true for a codec of its own, or the number of the
/// variant.
#[derive(Debug)]
pub struct TypeInWords<'a> {
    /// The type.
    pub of: &'static Fields,
    /// The room for comments; `None` if there are none, and no forms.
    pub comments: Option<&'a Comments>,
}

impl Encode for TypeInWords<'_> {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        let Fields { name, fields, comment } = *self.of;
        let comment = self.comment(comment);
        put_array(out, 2 + usize::from(!comment.is_empty()));
        name.encode(out);
        put_array(out, fields.len());
        for (at, part) in fields.iter().enumerate() {
            let more = self.more(part.comment, part.form, at);
            put_array(out, 3 + more.count());
            part.name.encode(out);
            part.kind.encode(out);
            let inner = if self.of.is_enum() { part.fields.fields } else { &[] };
            put_array(out, inner.len());
            for field in inner {
                let more = self.more(field.comment, field.form, usize::MAX);
                put_array(out, 2 + more.count());
                field.name.encode(out);
                field.kind.encode(out);
                more.put(out);
            }
            more.put(out);
        }
        if !comment.is_empty() {
            comment.encode(out);
        }
    }
}

impl TypeInWords<'_> {
    fn comment(&self, text: &'static str) -> &'static str {
        self.comments.map_or("", |comments| comments.take(text))
    }

    /// The values behind those that every peer knows. A variant whose number is its place needs none.
    fn more(&self, comment: &'static str, form: Form, place: usize) -> Additions {
        let is_known = match form {
            Form::OfType => true,
            Form::Own => false,
            Form::Variant(number) => usize::try_from(number) == Ok(place),
        };
        let form = if is_known || self.comments.is_none() { Form::OfType } else { form };
        Additions { comment: self.comment(comment), form }
    }
}

/// The fields of a part that are there only where they hold something.
struct Additions {
    comment: &'static str,
    form: Form,
}

impl Additions {
    fn count(&self) -> usize {
        match (self.form, self.comment) {
            (Form::OfType, "") => 0,
            (Form::OfType, _) => 1,
            _ => 2,
        }
    }

    fn put(&self, out: &mut Buffer) {
        if self.count() > 0 {
            self.comment.encode(out);
        }
        match self.form {
            Form::OfType => {}
            Form::Own => true.encode(out),
            Form::Variant(number) => number.encode(out),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::fields::Field;

    const NUMBER: Field = Field { kind: "u8", ..Field::unnamed("n", Fields::NONE) };
    const POINT: &Fields = &Fields {
        name: "P",
        fields: &[NUMBER, Field { comment: "c", form: Form::Own, ..NUMBER }],
        comment: "p",
    };
    const KIND: &Fields = &Fields {
        name: "K",
        fields: &[
            Field { kind: "", form: Form::Variant(0), ..NUMBER },
            Field { kind: "", form: Form::Variant(7), fields: POINT, ..NUMBER },
        ],
        comment: "",
    };

    fn encoded(of: &'static Fields, comments: Option<&Comments>) -> alloc::vec::Vec<u8> {
        let mut out = Buffer::new();
        TypeInWords { of, comments }.encode(&mut out);
        out.as_slice().to_vec()
    }

    #[test]
    fn without_comments_a_type_is_as_every_peer_reads_it() {
        let field = [0xA1, b'n', 0xA2, b'u', b'8'];
        let plain = [&[0x92, 0xA1, b'P', 0x92, 0x93][..], &field, &[0x90, 0x93], &field, &[0x90]];
        assert_eq!(encoded(POINT, None), plain.concat());
    }

    #[test]
    fn with_comments_only_what_has_something_to_say_is_longer() {
        let field = [0xA1, b'n', 0xA2, b'u', b'8'];
        let long = [
            &[0x93, 0xA1, b'P', 0x92, 0x93][..],
            &field,
            &[0x90, 0x95],
            &field,
            &[0x90, 0xA1, b'c', 0xC3],
            &[0xA1, b'p'],
        ];
        assert_eq!(encoded(POINT, Some(&Comments::default())), long.concat());
        let first = [0x93, 0xA1, b'n', 0xA0, 0x90];
        let second = [
            &[0x95, 0xA1, b'n', 0xA0, 0x92, 0x92][..],
            &field,
            &[0x94],
            &field,
            &[0xA1, b'c', 0xC3, 0xA0, 7],
        ];
        let kind = [&[0x92, 0xA1, b'K', 0x92][..], &first, &second.concat()];
        assert_eq!(encoded(KIND, Some(&Comments::default())), kind.concat());
    }

    #[test]
    fn comments_end_where_there_is_no_room_for_them() {
        let comments = Comments { left: Cell::new(3) };
        assert_eq!([comments.take("ab"), comments.take("cd"), comments.take("e")], ["ab", "", "e"]);
    }
}
