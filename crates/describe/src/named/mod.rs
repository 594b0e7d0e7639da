//! Values in JSON with the names of their parts, as people write them.
//!
//! On the wire a struct is an array of its fields, and an enum an array of a number and fields. A struct
//! is an object in the named form, and an enum what serde makes of one: `"Name"`, `{"Name": value}`,
//! `{"Name": [values]}` or `{"Name": {fields}}`; `Result` is `{"Ok": value}` or `{"Err": error}`. All
//! other values are the same in both forms.

mod form;
mod text;
mod unname;

use std::sync::Arc;

use serde::de::DeserializeSeed;
use wigwag::dynamic::DescribedType;

use form::{Layouts, Shape};
use text::Writer;

/// Levels of a value that is written: more than the 64 that encoders follow.
const DEPTH_MAX: usize = 100;

/// The memory in which the text of a value begins.
const TEXT_BYTES_MIN: usize = 64;

/// The names of the structs and enums of one interface.
#[derive(Clone, Debug, Default)]
pub struct Names {
    types: Vec<DescribedType>,
    layouts: Arc<Layouts>,
}

/// The named form of the values of one type.
#[derive(Clone, Debug)]
pub struct Form {
    shape: Arc<Shape>,
    layouts: Arc<Layouts>,
}

/// A reply in its named form: a text of JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The value; of a `Result`, that of `Ok`.
    Value(String),
    /// The error of a `Result`.
    Error(String),
}

/// A value without the form of its type, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(pub String);

impl Names {
    /// The names of these types. Of two types with one name none is converted, since a description does
    /// not say which of them is meant.
    pub fn new(types: &[DescribedType]) -> Names {
        let is_one =
            |it: &&DescribedType| types.iter().filter(|of| of.name == it.name).count() == 1;
        let types: Vec<_> = types.iter().filter(is_one).cloned().collect();
        Names { layouts: Arc::new(Layouts::new(&types)), types }
    }

    /// True if the named form of values of this type differs from the other one.
    pub fn differ(&self, kind: &str) -> bool {
        !matches!(Shape::read(kind, &self.types), Shape::Same)
    }

    /// The named form of values of this type.
    pub fn form(&self, kind: &str) -> Form {
        Form { shape: Arc::new(Shape::read(kind, &self.types)), layouts: self.layouts.clone() }
    }
}

impl Form {
    /// A value as a text of JSON. A value that does not have the form of its type is written as it is.
    ///
    /// # Errors
    /// Says why if `message_pack` is not one value of MessagePack, or has no form in JSON.
    pub fn text(&self, message_pack: &[u8]) -> Result<String, String> {
        let shaped = self.written(&self.shape, message_pack);
        shaped.or_else(|_| self.written(&Shape::Same, message_pack))
    }

    /// A reply as a text of JSON, as [`text`](Self::text); of a `Result`, its value or its error alone.
    ///
    /// # Errors
    /// As [`text`](Self::text).
    pub fn reply(&self, message_pack: &[u8]) -> Result<Reply, String> {
        let text = self.text(message_pack)?;
        if !matches!(*self.shape, Shape::Result(_)) {
            return Ok(Reply::Value(text));
        }
        let inner = |tag: &str| text.strip_prefix(tag)?.strip_suffix('}').map(str::to_owned);
        Ok(match (inner("{\"Ok\":"), inner("{\"Err\":")) {
            (Some(value), _) => Reply::Value(value),
            (_, Some(error)) => Reply::Error(error),
            _ => Reply::Value(text),
        })
    }

    fn written(&self, shape: &Shape, message_pack: &[u8]) -> Result<String, String> {
        // Most values are written at once then; a short one has its names besides.
        let mut out = Vec::with_capacity((2 * message_pack.len()).max(TEXT_BYTES_MIN));
        let writer = Writer { shape, layouts: &self.layouts, out: &mut out };
        let mut reader = rmp_serde::Deserializer::from_read_ref(message_pack);
        reader.set_max_depth(DEPTH_MAX);
        writer.deserialize(&mut reader).map_err(|error| error.to_string())?;
        String::from_utf8(out).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wigwag::Message;
    use wigwag::dynamic::Described;

    use super::*;

    #[derive(Clone, Debug, Message)]
    struct Order {
        id: u64,
        lines: Vec<Line>,
        note: Option<String>,
    }

    #[derive(Clone, Debug, Message)]
    struct Line(String, u8);

    #[derive(Clone, Copy, Debug, Message)]
    struct Cents(i64);

    #[derive(Clone, Debug, Message)]
    enum Payment {
        Cash,
        Card { number: String, valid: (u8, u16) },
        Voucher(Cents),
        Split(Cents, Cents),
    }

    #[derive(Clone, Debug, Message)]
    struct Tags(Vec<String>);

    #[derive(Clone, Debug, Message)]
    struct Table(Vec<Vec<u8>>);

    #[derive(Clone, Debug, Message)]
    struct Data(wigwag::Bytes);

    #[derive(Clone, Debug, Message)]
    struct Twice(Tags);

    #[derive(Clone, Debug, Message)]
    struct Maybe(Option<Option<u8>>);

    #[derive(Clone, Debug, Message)]
    struct Of<T>(T);

    #[derive(Clone, Debug, Message)]
    enum Route {
        Direct,
        Over(Vec<String>),
        Of(Vec<Route>),
    }

    struct Depot;

    #[wigwag::actor]
    impl Depot {
        pub fn send(&self, table: Table, data: Data, twice: Twice, maybe: Maybe) -> Route {
            let _ = (table, data, twice, maybe);
            Route::Direct
        }

        pub fn sent(&self, tags: Of<Vec<u8>>) -> usize {
            tags.0.len()
        }
    }

    struct Shop;

    #[wigwag::actor]
    impl Shop {
        pub fn place(&self, order: Order, by: Payment) -> Result<Order, Payment> {
            let _ = by;
            Ok(order)
        }
    }

    fn names() -> Names {
        Names::new(&Described::of::<Shop>().types)
    }

    #[test]
    fn values_have_the_names_of_their_parts_and_lose_them_again() {
        let names = names();
        for (kind, wire, named) in [
            (
                "Order",
                json!([7, [["tea", 2]], null]),
                json!({"id": 7, "lines": [["tea", 2]], "note": null}),
            ),
            ("Cents", json!([5]), json!(5)),
            ("Payment", json!([0]), json!("Cash")),
            (
                "Payment",
                json!([1, "4111", [12, 2030]]),
                json!({"Card": {"number": "4111", "valid": [12, 2030]}}),
            ),
            ("Payment", json!([2, [50]]), json!({"Voucher": 50})),
            ("Payment", json!([3, [1], [2]]), json!({"Split": [1, 2]})),
            ("Result<Cents, Payment>", json!([0, [9]]), json!({"Ok": 9})),
            ("Result<Cents, Payment>", json!([1, [0]]), json!({"Err": "Cash"})),
            ("Vec<Option<Payment>>", json!([[0], null]), json!(["Cash", null])),
            ("HashMap<String, Cents>", json!({"a": [1]}), json!({"a": 1})),
            ("(Cents, u8)", json!([[1], 2]), json!([1, 2])),
            ("Option<Option<Cents>>", json!([[3]]), json!([3])),
            ("[Cents; 2]", json!([[1], [2]]), json!([1, 2])),
            ("Unknown", json!([1]), json!([1])),
        ] {
            let text = names.form(kind).text(&message_pack(&wire)).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), named, "{kind}");
            assert_eq!(names.unname(kind, named).unwrap(), wire, "{kind}");
            assert_eq!(names.unname(kind, wire.clone()).unwrap(), wire, "{kind} as on the wire");
        }
    }

    /// An array of one item is that value, and on the wire an array of any value.
    #[test]
    fn a_struct_around_a_list_is_that_list_also_with_one_item() {
        let names = Names::new(&Described::of::<Depot>().types);
        for (kind, wire, named) in [
            ("Tags", json!([[]]), json!([])),
            ("Tags", json!([["a"]]), json!(["a"])),
            ("Tags", json!([["a", "b"]]), json!(["a", "b"])),
            ("Table", json!([[[]]]), json!([[]])),
            ("Table", json!([[[1]]]), json!([[1]])),
            ("Table", json!([[[1], [2]]]), json!([[1], [2]])),
            ("Data", json!([[7]]), json!([7])),
            ("Twice", json!([[["a"]]]), json!(["a"])),
            ("Maybe", json!([[5]]), json!([5])),
            ("Maybe", json!([[null]]), json!([null])),
            ("Maybe", json!([null]), json!(null)),
            ("Of", json!([[7]]), json!([7])),
            ("Route", json!([1, ["a"]]), json!({"Over": ["a"]})),
            ("Route", json!([2, [[0]]]), json!({"Of": ["Direct"]})),
            ("Route", json!([2, [[1, ["a"]]]]), json!({"Of": [{"Over": ["a"]}]})),
        ] {
            let text = names.form(kind).text(&message_pack(&wire)).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), named, "{kind}");
            assert_eq!(names.unname(kind, named).unwrap(), wire, "{kind}");
        }
        for (kind, wire) in [
            ("Tags", json!([["a"]])),
            ("Data", json!([[7]])),
            ("Twice", json!([[["a"]]])),
            ("Maybe", json!([[5]])),
        ] {
            assert_eq!(names.unname(kind, wire.clone()).unwrap(), wire, "{kind} as on the wire");
        }
    }

    #[test]
    fn a_missing_option_is_none_and_other_slips_are_named() {
        let names = names();
        assert_eq!(
            names.unname("Order", json!({"id": 1, "lines": []})).unwrap(),
            json!([1, [], null])
        );
        for (kind, value, text) in [
            ("Order", json!({"id": 1}), "Order lacks \"lines\""),
            ("Order", json!({"id": 1, "lines": [], "x": 1}), "Order has no field \"x\""),
            ("Order", json!(7), "Order is an object with its fields"),
            ("Line", json!(7), "Line is an array of 2 values"),
            (
                "Payment",
                json!("Gold"),
                "Payment has no variant \"Gold\", but Cash, Card, Voucher, Split",
            ),
            ("Payment", json!({"Cash": 1}), "Cash of Payment has no content"),
            ("Payment", json!("Card"), "Card of Payment needs its content"),
            (
                "Result<u8, u8>",
                json!({"Maybe": 1}),
                "a Result is {\"Ok\": value} or {\"Err\": error}",
            ),
        ] {
            assert_eq!(names.unname(kind, value).unwrap_err().0, text);
        }
    }

    #[test]
    fn only_types_with_names_differ() {
        let names = names();
        for (kind, differs) in [
            ("Vec<(u8, Order)>", true),
            ("Result<u8, u8>", true),
            ("HashMap<String, Vec<u8>>", false),
            ("String", false),
        ] {
            assert_eq!(names.differ(kind), differs, "{kind}");
        }
    }

    /// Objects have their fields in the order of the declaration.
    #[test]
    fn the_reply_of_a_result_is_its_value_or_its_error() {
        let names = names();
        for (kind, wire, reply) in [
            ("Result<Order, Payment>", json!([0, [7, [], null]]), {
                Reply::Value(r#"{"id":7,"lines":[],"note":null}"#.to_owned())
            }),
            ("Result<(), String>", json!([1, "no \"tea\""]), {
                Reply::Error(r#""no \"tea\"""#.to_owned())
            }),
            ("Line", json!(["a", 1]), Reply::Value(r#"["a",1]"#.to_owned())),
        ] {
            assert_eq!(names.form(kind).reply(&message_pack(&wire)).unwrap(), reply, "{kind}");
        }
    }

    #[test]
    fn values_of_another_form_are_written_as_they_are() {
        let names = names();
        for (kind, bytes, text) in [
            ("Payment", &[0x92, 9, 1][..], "[9,1]"),
            ("Payment", &[0xA1, b'x'], "\"x\""),
            ("Result<u8, u8>", &[0x91, 0], "[0]"),
            ("Result<u8, u8>", &[0x92, 2, 0], "[2,0]"),
            ("Order", &[0x90], "{}"),
            ("Order", &[0x94, 1, 0x90, 0xC0, 5], r#"{"id":1,"lines":[],"note":null}"#),
            ("Vec<u8>", &[0xC4, 2, 1, 200], "[1,200]"),
            ("HashMap<u8, Cents>", &[0x81, 1, 0x91, 2], r#"{"1":2}"#),
            ("f32", &[0xCA, 0x7F, 0x80, 0, 0], "\"inf\""),
            ("f32", &[0xCA, 0x3F, 0xC0, 0, 0], "1.5"),
            // With the digits that tell it from other numbers of 32 bits, and no more.
            ("f32", &[0xCA, 0x3D, 0xCC, 0xCC, 0xCD], "0.1"),
            ("f64", &[0xCB, 0x3F, 0xB9, 0x99, 0x99, 0xA0, 0, 0, 0], "0.10000000149011612"),
        ] {
            assert_eq!(names.form(kind).text(bytes).unwrap(), text, "{kind}");
        }
        assert!(names.form("Order").text(&[0x92, 1]).is_err());
    }

    /// A value that nests deeper than a decoder follows is refused.
    #[test]
    fn depth_is_bounded() {
        let mut bytes = vec![0x91; 100_000];
        bytes.push(1);
        assert!(names().form("Order").text(&bytes).is_err());
    }

    fn message_pack(value: &Value) -> Vec<u8> {
        rmp_serde::to_vec(value).unwrap()
    }
}
