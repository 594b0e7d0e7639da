//! The answer of method 0: a schema as peers read it.
//!
//! A caller that passes no argument gets what every release understands. A caller that passes 1 gets
//! the doc comments too, and what a schema in JSON needs: these make values longer that earlier
//! releases read as arrays of a fixed length.

use wigwag_wire::collections::nested;
use wigwag_wire::fields::{Comments, Fields, TypeInWords};
use wigwag_wire::msgpack::put_array;
use wigwag_wire::{Buffer, Decode, Encode, Reader};

use super::{FIRST_METHOD, Schema};
use crate::reply::owner::CallGate;

/// `[name, hash, [[method, [[argument, type]*], reply type]*]]`. An argument and a method are followed
/// by the parts of the type and by the former names, and a method by the structs and enums that no
/// method before it uses, if there are any. With comments, a method then has its own one and true for
/// a stream, and the whole ends with that of the interface; an empty one at the end is left out.
#[derive(Clone, Copy)]
pub struct Description<'a> {
    /// The schema.
    pub schema: &'static Schema,
    /// Whether the comments are part of it.
    pub with_comments: bool,
    /// Decides which methods the reader may call. The others have no name, no argument and no type:
    /// they keep their places, because the numbers of methods count them.
    pub gate: Option<&'a dyn CallGate>,
}

impl<'a> Description<'a> {
    /// The description for which a call of *describe* asks with these arguments.
    pub fn asked(
        schema: &'static Schema,
        arguments: &[u8],
        gate: Option<&'a dyn CallGate>,
    ) -> Description<'a> {
        // Additional arguments are skipped, as for every method.
        let level = nested(&mut Reader::new(arguments), |reader, count| match count {
            0 => Ok(0),
            _ => u64::decode(reader),
        });
        Description { schema, with_comments: level.is_ok_and(|level| level > 0), gate }
    }

    /// The arguments of a call of *describe*.
    pub const fn arguments(with_comments: bool) -> &'static [u8] {
        if with_comments { &[0x91, 1] } else { &[0x90] }
    }
}

#[doc(hidden)]
impl Encode for Description<'_> {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        let Schema { name, methods, hash, comment } = *self.schema;
        let comments = self.with_comments.then(Comments::default);
        let text = |text| comments.as_ref().map_or("", |comments| comments.take(text));
        let comment = text(comment);
        put_array(out, 3 + usize::from(!comment.is_empty()));
        name.encode(out);
        hash.encode(out);
        put_array(out, methods.len());
        let mut known = Vec::new();
        for (number, method) in (FIRST_METHOD..).zip(methods) {
            if self.gate.is_some_and(|gate| !gate.permits(number)) {
                put_array(out, 3);
                "".encode(out);
                put_array(out, 0);
                "".encode(out);
                continue;
            }
            let types = method.new_types(&mut known);
            let more = Additions {
                fields: method.reply_fields,
                former: method.former,
                types: &types,
                comment: text(method.comment),
                is_stream: method.is_stream && self.with_comments,
                comments: comments.as_ref(),
            };
            put_array(out, 3 + more.count());
            method.name.encode(out);
            put_array(out, method.arguments.len());
            for argument in method.arguments {
                let (fields, former) = (argument.fields, argument.former);
                let (types, comment, is_stream, comments) = (&[][..], "", false, None);
                let more = Additions { fields, former, types, comment, is_stream, comments };
                put_array(out, 2 + more.count());
                argument.name.encode(out);
                argument.kind.encode(out);
                more.put(out);
            }
            method.reply.encode(out);
            more.put(out);
        }
        if !comment.is_empty() {
            comment.encode(out);
        }
    }
}

impl super::Method {
    /// The structs and enums that the arguments and the reply consist of, without the `known` ones,
    /// to which they are added.
    fn new_types(&self, known: &mut Vec<&'static Fields>) -> Vec<&'static Fields> {
        let mut types = Vec::new();
        for argument in self.arguments {
            argument.fields.add_types(&mut types);
        }
        self.reply_fields.add_types(&mut types);
        types.retain(|one| !known.contains(one));
        known.extend(&types);
        types
    }
}

/// The fields that a description has only where they hold something, so that it stays readable for
/// peers that do not know them.
struct Additions<'a> {
    fields: &'static Fields,
    former: &'static [&'static str],
    types: &'a [&'static Fields],
    comment: &'static str,
    is_stream: bool,
    /// The room for the comments of the types.
    comments: Option<&'a Comments>,
}

impl Additions<'_> {
    fn count(&self) -> usize {
        let is_said = [
            !self.fields.is_none(),
            !self.former.is_empty(),
            !self.types.is_empty(),
            !self.comment.is_empty(),
            self.is_stream,
        ];
        is_said.iter().rposition(|is_said| *is_said).map_or(0, |last| last + 1)
    }

    fn put(&self, out: &mut Buffer) {
        let count = self.count();
        if count > 0 {
            self.fields.encode(out);
        }
        if count > 1 {
            self.former.encode(out);
        }
        if count > 2 {
            let types = self.types.iter();
            let types = types.map(|of| TypeInWords { of, comments: self.comments });
            types.collect::<Vec<_>>().encode(out);
        }
        if count > 3 {
            self.comment.encode(out);
        }
        if count > 4 {
            self.is_stream.encode(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Method;

    const GET: Method = Method {
        name: "g",
        former: &[],
        arguments: &[],
        reply: "u8",
        reply_fields: Fields::NONE,
        is_stream: false,
        routes: &[],
        comment: "",
    };

    fn encoded(schema: &'static Schema, with_comments: bool) -> Vec<u8> {
        let mut out = Buffer::new();
        Description { schema, with_comments, gate: None }.encode(&mut out);
        // Without the hash, which is tested elsewhere.
        [&out.as_slice()[..3], &out.as_slice()[12..]].concat()
    }

    #[test]
    fn comments_are_sent_only_if_asked_for_and_only_where_there_are_some() {
        const ALL: &Schema = &Schema::new(
            "A",
            const { &[GET, Method { comment: "c", ..GET }, Method { is_stream: true, ..GET }] },
        )
        .with_comment("a");
        let get = [0xA1, b'g', 0x90, 0xA2, b'u', b'8'];
        let short = [&[0x93, 0xA1, b'A', 0x93, 0x93][..], &get, &[0x93], &get, &[0x93], &get];
        assert_eq!(encoded(ALL, false), short.concat());
        let rest = [0xC0, 0x90, 0x90];
        let long = [
            &[0x94, 0xA1, b'A', 0x93, 0x93][..],
            &get,
            &[0x97],
            &get,
            &rest,
            &[0xA1, b'c', 0x98],
            &get,
            &rest,
            &[0xA0, 0xC3],
            &[0xA1, b'a'],
        ];
        assert_eq!(encoded(ALL, true), long.concat());
        const NONE: &Schema = &Schema::new("A", const { &[GET] });
        assert_eq!(encoded(NONE, true), encoded(NONE, false));
    }

    /// Only the second method may be called.
    struct Second;

    impl CallGate for Second {
        fn permits(&self, method: u32) -> bool {
            method == FIRST_METHOD + 1
        }

        fn admits(&self) -> bool {
            true
        }

        fn is_counting(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_method_that_may_not_be_called_has_its_place_and_nothing_else() {
        const BOTH: &Schema = &Schema::new(
            "A",
            const { &[Method { comment: "c", ..GET }, Method { name: "h", ..GET }] },
        );
        let mut out = Buffer::new();
        Description { schema: BOTH, with_comments: true, gate: Some(&Second) }.encode(&mut out);
        let methods = [0x92, 0x93, 0xA0, 0x90, 0xA0, 0x93, 0xA1, b'h', 0x90, 0xA2, b'u', b'8'];
        assert_eq!(out.as_slice()[12..], methods);
    }

    #[test]
    fn a_caller_asks_for_comments_with_an_argument() {
        const NONE: &Schema = &Schema::new("A", &[]);
        let asked = |arguments| Description::asked(NONE, arguments, None).with_comments;
        assert!(asked(Description::arguments(true)) && !asked(Description::arguments(false)));
        assert!(asked(&[0x92, 2, 0xC0]), "a later release may ask for more");
        for other in [&[][..], &[0x91], &[0x91, 0], &[0x91, 0xA1, b'x'], &[0x80], &[0xC1]] {
            assert!(!asked(other), "{other:x?}");
        }
    }
}
