//! The documents of a described actor.

use serde_json::{Value, json};
use wigwag::dynamic::Described;
use wigwag::{Items, Message};
use wigwag_describe::definitions::Definitions;
use wigwag_describe::forms::{Dialect, Forms, Place};

use super::*;

/// A price.
#[derive(Clone, Debug, Message)]
struct Price {
    /// In cents.
    cents: u64,
    #[message(with = "own")]
    note: String,
    tax: Option<f64>,
}

/// The codec of a field.
mod own {
    use wigwag::codec::{Buffer, Decode, DecodeError, Encode, Reader};

    pub(super) fn encode(text: &String, out: &mut Buffer) {
        text.encode(out);
    }

    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<String, DecodeError> {
        String::decode(reader)
    }
}

#[derive(Clone, Debug, Message)]
#[repr(u8)]
enum Refusal {
    /// There is none left.
    SoldOut,
    TooMany {
        /// Buy fewer.
        most: u32,
    } = 7,
    Elsewhere(Price, (u8, bool)),
}

struct Shop;

/// Sells things.
///
/// The address of the shop is on the door, and it is open all day, except on days when it is not.
#[wigwag::actor]
impl Shop {
    pub fn close(&mut self) {}

    /// The price of a thing.
    pub fn price(&self, thing: String, count: Option<u8>) -> Result<Price, Refusal> {
        let _ = (thing, count);
        Err(Refusal::SoldOut)
    }

    /// The prices from now on.
    pub fn sold(&self, items: wigwag::Yield<Price>) {
        drop(items);
    }
}

fn shop() -> Described {
    Described::of::<Shop>()
}

#[test]
fn declarations_for_typescript_have_comments_types_and_names_of_arguments() {
    let expected = r#"import type { Schema, Stream } from "wigwag";

/** A price. */
export type Price = {
  /** In cents. */
  cents: number | bigint;
  note: unknown;
  tax?: number | null;
};

export type Refusal =
  /** There is none left. */
  | "SoldOut"
  | { TooMany: {
    /** Buy fewer. */
    most: number;
  } }
  | { Elsewhere: [Price, [number, boolean]] };

/**
 * Sells things.
 *
 * The address of the shop is on the door, and it is open all day, except on days when it is not.
 */
export interface Shop {
  close(): void;
  /** The price of a thing. */
  price(thing: string, count?: number | null): { ok: Price } | { err: Refusal };
  /** The prices from now on. */
  sold(): Stream<Price>;
}

/** The names of the arguments, for `reference(object, Shop)`. */
export const Shop = {
  close: [],
  price: ["thing", "count"],
  sold: [],
} as const;

/** What to know of the actor in advance, for `pipe(actor, ShopSchema)`. */
export const ShopSchema: Schema<Shop> = {
  hash: 0xb53636222e682939n,
  description: ["Shop", 0, [
    ["close",[],"()",0,0,[["Price",[["cents","u64",[],"",false],["note","String",[],"",true],["tax","Option<f64>",[],"",false]]],["Refusal",[["SoldOut","",[],"",0],["TooMany","",[["most","u32","",false]],"",7],["Elsewhere","",[["0","Price","",false],["1","(u8, bool)","",false]],"",8]]]],0,false],
    ["price",[["thing","String"],["count","Option<u8>"]],"Result<Price, Refusal>",0,0,[],0,false],
    ["sold",[],"Stream<Price>",0,0,[],0,true],
  ]],
};
"#;
    let document = typescript::document(&shop());
    let (head, declarations) = document.split_once('\n').unwrap();
    assert!(head.starts_with("// Written by `wigwag describe --ts`; schema "), "{head}");
    assert_eq!(declarations, expected);
}

#[test]
fn the_text_has_comments_and_types_once_within_80_columns() {
    let example = example::command_line(&shop(), "tcp://127.0.0.1:7001/shop");
    let lines = text::lines(&shop(), "tcp://127.0.0.1:7001/shop", example.as_deref());
    let expected = [
        "Shop at tcp://127.0.0.1:7001/shop",
        "Sells things.",
        "",
        "The address of the shop is on the door, and it is open all day, except on days",
        "when it is not.",
        "",
        "  close() -> ()",
        "  price(thing: String, count: Option<u8>) -> Result<Price, Refusal>",
        "      The price of a thing.",
        "  sold() -> Stream<Price>",
        "      The prices from now on.",
        "      A stream: only a program can take it.",
        "  struct Price { cents: u64, note: String, tax: Option<f64> }",
        "      A price.",
        "      cents: In cents.",
        "  enum Refusal { SoldOut, TooMany { most: u32 }, Elsewhere(Price, (u8, bool)) }",
        "      SoldOut: There is none left.",
        "      TooMany.most: Buy fewer.",
        "",
        "Example:",
        "  wigwag ask tcp://127.0.0.1:7001/shop price thing=text",
    ];
    assert_eq!(lines, expected);
}

struct Warehouse;

#[wigwag::actor]
impl Warehouse {
    /// Takes things in.
    pub fn store(&mut self, things: Option<Items<u64>>, into: String) {
        drop((things, into));
    }
}

#[test]
fn an_argument_that_is_a_stream_is_named_and_there_is_no_example_of_it() {
    let warehouse = Described::of::<Warehouse>();
    assert_eq!(example::command_line(&warehouse, "here"), None);
    let expected = [
        "Warehouse at here",
        "  store(things: Option<Items<u64>>, into: String) -> ()",
        "      Takes things in.",
        "      `things` is a stream: only a program can send it.",
    ];
    assert_eq!(text::lines(&warehouse, "here", None), expected);
    let document = typescript::document(&warehouse);
    assert!(document.starts_with("// Written by"), "{document}");
    assert!(document.contains("import type { Items, Schema } from"), "{document}");
    let method = "store(things: Items<number | bigint> | null, into: string): void;";
    assert!(document.contains(method), "{document}");
}

#[test]
fn control_characters_are_not_printed() {
    assert_eq!(
        print::clean("a\u{1B}[2J\r\u{202E}b\n\tc\u{85}"),
        "a\u{FFFD}[2J\u{FFFD}\u{FFFD}b\n\u{FFFD}c\u{FFFD}"
    );
}

#[test]
fn long_lines_are_wrapped_and_lists_stay_as_they_are() {
    let long = format!("{} end", "word ".repeat(30));
    for line in text::wrapped(&long, 2, 6) {
        assert!(line.chars().count() <= 80 && line.starts_with("  "), "{line:?}");
    }
    let word = "x".repeat(100);
    assert_eq!(text::wrapped(&word, 2, 6), [format!("  {word}")]);
}

#[test]
fn the_schema_has_definitions_and_for_each_method_arguments_and_reply() {
    let document = json_schema::document(&shop());
    assert_eq!(document["title"], "Shop");
    assert_eq!(document["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let price = &document["methods"]["price"];
    assert_eq!(
        *price,
        json!({
            "signature": "price(thing: String, count: Option<u8>) -> Result<Price, Refusal>",
            "description": "The price of a thing.",
            "arguments": {
                "type": "object",
                "properties": {
                    "thing": {"type": "string"},
                    "count": {"anyOf": [
                        {"type": "null"},
                        {"type": "integer", "minimum": 0, "maximum": 255},
                    ]},
                },
                "required": ["thing"],
                "additionalProperties": false,
            },
            "reply": {"oneOf": [
                {
                    "title": "Ok",
                    "type": "array",
                    "prefixItems": [{"const": 0}, {"$ref": "#/$defs/Price"}],
                    "items": false,
                    "minItems": 2,
                },
                {
                    "title": "Err",
                    "type": "array",
                    "prefixItems": [{"const": 1}, {"$ref": "#/$defs/Refusal"}],
                    "items": false,
                    "minItems": 2,
                },
            ]},
        })
    );
    let cents = json!({
        "title": "cents",
        "description": "In cents.",
        "type": "integer",
        "minimum": 0,
        "maximum": u64::MAX,
    });
    let price = &document["$defs"]["Price"];
    assert_eq!((&price["prefixItems"][0], &price["minItems"]), (&cents, &json!(2)));
    let note = json!({"title": "note", "$comment": "String"});
    assert_eq!(price["prefixItems"][1], note, "a codec of its own may do anything");
    let numbers: Vec<&Value> = document["$defs"]["Refusal"]["oneOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variant| &variant["prefixItems"][0]["const"])
        .collect();
    assert_eq!(numbers, [0, 7, 8]);
    let sold = &document["methods"]["sold"];
    assert_eq!(
        (&sold["stream"], &sold["reply"]),
        (&json!(true), &json!({"$ref": "#/$defs/Price"}))
    );
}

/// The forms of `docs/types.md` that no program of this crate's tests has as an argument.
#[test]
fn a_type_that_is_not_known_may_have_any_form() {
    let forms = Forms { dialect: Dialect::JsonSchema, prefix: String::new(), types: &[] };
    for spelled in ["Id", "Page<u8>", "Option<Id>", "<T as Own>::Kind", ""] {
        let form = forms.of(spelled, Place::Inside);
        assert!(
            form.as_object().unwrap().keys().all(|word| word == "$comment"),
            "{spelled}: {form}"
        );
    }
    let wild = "Option<".repeat(30) + "u8" + &">".repeat(30);
    assert!(
        forms.of(&wild, Place::Argument).to_string().len() < 10_000,
        "it is not built twice a level"
    );
}

#[test]
fn two_types_with_one_name_may_both_be_meant() {
    let mut described = shop();
    let other = described.types[1].clone();
    described.types.push(wigwag_type(&other, "Price"));
    let types = Definitions::new(&described, Dialect::JsonSchema).types();
    assert_eq!(types["Price"]["anyOf"].as_array().unwrap().len(), 2);
    described.types.push(wigwag_type(&other, "Price"));
    let types = Definitions::new(&described, Dialect::JsonSchema).types();
    assert_eq!(types["Price"]["anyOf"].as_array().unwrap().len(), 3);
}

fn wigwag_type(of: &wigwag::dynamic::DescribedType, name: &str) -> wigwag::dynamic::DescribedType {
    let mut of = of.clone();
    of.name = name.to_owned();
    of
}

/// Every `$ref` in a document.
fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(words) => {
            found.extend(words.get("$ref").and_then(Value::as_str));
            words.values().for_each(|inner| references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[test]
fn the_asyncapi_document_has_an_operation_with_a_reply_for_each_method() {
    let node: Address = "tcp://127.0.0.1:7001".parse().unwrap();
    let document = asyncapi::document(&shop(), &node, "shop");
    assert_eq!(document["asyncapi"], "3.0.0");
    assert_eq!(
        document["servers"]["node"],
        json!({"host": "127.0.0.1:7001", "protocol": "wigwag+tcp"})
    );
    assert_eq!(
        document["operations"]["price"],
        json!({
            "action": "receive",
            "summary": "The price of a thing.",
            "description": "The price of a thing.",
            "channel": {"$ref": "#/channels/price"},
            "messages": [{"$ref": "#/channels/price/messages/arguments"}],
            "reply": {
                "channel": {"$ref": "#/channels/price"},
                "messages": [{"$ref": "#/channels/price/messages/reply"}],
            },
        })
    );
    assert_eq!(document["channels"]["price"]["address"], "shop/price");
    let price = &document["components"]["schemas"]["Price"];
    assert_eq!(
        (&price["items"][0]["title"], &price["additionalItems"]),
        (&json!("cents"), &json!(false))
    );
    let elsewhere = &document["components"]["schemas"]["Refusal"]["oneOf"][2]["items"][1];
    let reference = json!([{"$ref": "#/components/schemas/Price"}]);
    assert_eq!(
        *elsewhere,
        json!({"title": "0", "allOf": reference}),
        "no words beside a reference"
    );
    for document in [&document, &json_schema::document(&shop())] {
        let mut found = Vec::new();
        references(document, &mut found);
        assert!(found.len() > 3);
        for one in found {
            let pointer = one.strip_prefix('#').expect("it is in the document");
            assert!(document.pointer(pointer).is_some(), "{one} leads nowhere");
        }
    }
}

#[test]
fn a_server_has_the_path_of_its_address() {
    for (address, host, path) in [
        ("ws://127.0.0.1:80/nodes/a", "127.0.0.1:80", Some("/nodes/a")),
        ("ipc:///run/node", "/run/node", None),
    ] {
        let document = asyncapi::document(&shop(), &address.parse().unwrap(), "shop");
        let server = &document["servers"]["node"];
        assert_eq!((server["host"].as_str(), server["pathname"].as_str()), (Some(host), path));
    }
}

#[test]
fn an_example_is_on_short_lines_that_a_shell_joins() {
    let address = "tcp://a-rather-long-name-of-a-host.example.org:7001/shop";
    let line = example::command_line(&shop(), address).unwrap();
    assert_eq!(line, format!("wigwag ask {address} price \\\n    thing=text"));
    assert!(line.lines().all(|line| line.len() <= 78));
}

#[derive(Message)]
struct Tree {
    value: u8,
    branches: Vec<Tree>,
    parent: Option<Box<Tree>>,
}

struct Wood;

#[wigwag::actor]
impl Wood {
    pub fn plant(&mut self, tree: Tree, shape: Option<Refusal>, kinds: Vec<Refusal>) {
        drop((tree, shape, kinds));
    }
}

#[test]
fn an_example_of_a_type_that_contains_itself_ends() {
    let line = example::command_line(&Described::of::<Wood>(), "tcp://a:1/wood").unwrap();
    assert_eq!(line, "wigwag ask tcp://a:1/wood plant tree='[1,[],null]' kinds='[[0]]'");
}

#[test]
fn an_address_without_a_name_is_that_of_a_node() {
    for (address, node) in [
        ("tcp://127.0.0.1:7001", Some("tcp://127.0.0.1:7001")),
        ("tcp://127.0.0.1:7001/", Some("tcp://127.0.0.1:7001")),
        ("ipc:///run/node/", Some("ipc:///run/node")),
        ("ipc:///run/node", None),
        ("tcp://127.0.0.1:7001/shop", None),
        ("sum", None),
    ] {
        assert_eq!(node_of(address).as_deref(), node, "{address}");
    }
}
