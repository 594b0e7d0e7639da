//! `wigwag describe`: the texts and documents of an actor, and the list of the actors of a node.

use std::time::Duration;

use serde_json::{Value, json};
use wigwag::{Actor, Message, Node, NodeOptions};

use crate::process::{Said, Serving, run};

#[derive(Message)]
struct Price {
    cents: u64,
}

#[derive(Message)]
struct Number(u32);

/// The goods of the shop.
#[derive(Message)]
struct Item {
    /// Its name on the shelf.
    name: String,
    number: Option<Number>,
    prices: Vec<Price>,
}

#[derive(Message)]
enum Refusal {
    SoldOut,
    TooMany { most: u32, price: Price },
    Other(Item, u8),
}

struct Shop;

/// Sells items.
///
/// It has no door.
#[wigwag::actor]
impl Shop {
    /// The first price of an item.
    pub fn price(&self, item: Item) -> Price {
        item.prices.into_iter().next().unwrap_or(Price { cents: 0 })
    }

    pub fn order(&mut self, items: Vec<(Item, u32)>) -> Result<Number, Refusal> {
        match items.into_iter().next() {
            None => Err(Refusal::SoldOut),
            Some((item, 0)) => Err(Refusal::Other(item, 0)),
            Some((Item { number: Some(number), .. }, _)) => Ok(number),
            Some((_, most)) => Err(Refusal::TooMany { most, price: Price { cents: 0 } }),
        }
    }
}

struct Writer;

#[doc = "Clears \u{1b}[2J the screen."]
#[wigwag::actor]
impl Writer {
    pub fn clear(&self) {}
}

/// Runs the command beside the node of a test.
async fn said(words: &[&str]) -> Said {
    let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    let ran = tokio::task::spawn_blocking(move || run(words.iter().map(String::as_str)));
    ran.await.expect("the command ends")
}

async fn shop(options: NodeOptions) -> (Node, String) {
    let node = Node::with(options);
    node.export("shop", &Shop.spawn()).expect("the name is free");
    let bound = node.listen("tcp://127.0.0.1:0").await.expect("a free port");
    (node, bound.to_string())
}

#[test]
fn the_actors_of_the_demo_are_described_with_their_comments() {
    let serving = Serving::start();
    let sum = serving.actor("sum");
    let expected = format!(
        "Sum at {sum}\n  add(a: i64, b: i64) -> i64\n      The sum, wrapping around.\n\nExample:\n  \
         wigwag ask {sum} add a=1 b=1\n"
    );
    assert_eq!(run(["describe", &sum]).out, expected);
    let listed = run(["describe", &serving.address]);
    let lines: Vec<&str> = listed.out.lines().collect();
    let first = format!("2 actors at {}", serving.address);
    assert_eq!(lines, [first.as_str(), "  counter  Counter", "  sum      Sum"]);
}

/// Each type once, although both methods use it and it is in others.
#[tokio::test(flavor = "multi_thread")]
async fn an_actor_is_described_on_lines_of_80_columns() {
    let (node, bound) = shop(NodeOptions::default()).await;
    let shop = format!("{bound}/shop");
    let described = said(&["describe", &shop]).await;
    let first = format!("Shop at {shop}");
    let call = format!("  wigwag ask {shop} price item='[\"text\",[1],[[1]]]'");
    let lines = [
        &first,
        "Sells items.",
        "",
        "It has no door.",
        "",
        "  price(item: Item) -> Price",
        "      The first price of an item.",
        "  order(items: Vec<(Item, u32)>) -> Result<Number, Refusal>",
        "  struct Item { name: String, number: Option<Number>, prices: Vec<Price> }",
        "      The goods of the shop.",
        "      name: Its name on the shelf.",
        "  struct Number(u32)",
        "  struct Price { cents: u64 }",
        "  enum Refusal { SoldOut, TooMany { most: u32, price: Price }, Other(Item, u8) }",
        "",
        "Example:",
        &call,
    ];
    assert_eq!(described.out.lines().collect::<Vec<_>>(), lines, "{described:?}");
    assert!(described.out.lines().all(|line| line.chars().count() <= 80));
    // The example is a command that works.
    let example = ["ask", &shop, "price", r#"item=["text",[1],[[1]]]"#];
    assert_eq!(said(&example).await.out, "[1]\n");
    node.close(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_for_programs_have_all_methods_and_types() {
    let (node, bound) = shop(NodeOptions::default()).await;
    let shop = format!("{bound}/shop");
    let read = |said: Said| -> Value {
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
        serde_json::from_str(&said.out).unwrap()
    };
    let schema = read(said(&["describe", &shop, "--json"]).await);
    let types: Vec<_> = schema["$defs"].as_object().unwrap().keys().collect();
    assert_eq!(types, ["Item", "Number", "Price", "Refusal"]);
    let methods: Vec<_> = schema["methods"].as_object().unwrap().keys().collect();
    assert_eq!(methods, ["order", "price"]);
    assert_eq!(schema["schema_hash"].as_str().map(str::len), Some(16));
    assert_eq!(schema["description"], "Sells items.\n\nIt has no door.");
    let asyncapi = read(said(&["describe", &shop, "--asyncapi"]).await);
    assert_eq!(asyncapi["asyncapi"], "3.0.0");
    let host = bound.strip_prefix("tcp://").unwrap();
    assert_eq!(asyncapi["servers"]["node"]["host"], host);
    assert_eq!(asyncapi["channels"]["order"]["address"], "shop/order");
    let both = said(&["describe", &shop, "--asyncapi", "--json"]).await;
    assert_eq!(both.code, Some(2), "{both:?}");
    node.close(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_name_the_actors_of_the_node_are_listed() {
    let (node, bound) = shop(NodeOptions::default()).await;
    let slash = format!("{bound}/");
    for address in [&bound, &slash] {
        let listed = said(&["describe", address]).await;
        let expected = format!("1 actor at {bound}\n  shop  Shop  Sells items.\n");
        assert_eq!((listed.code, listed.out), (Some(0), expected), "{:?}", listed.err);
    }
    let listed = said(&["describe", &bound, "--json"]).await;
    let document: Value = serde_json::from_str(&listed.out).unwrap();
    let expected = json!({"actors": [{"name": "shop", "type": "Shop", "comment": "Sells items."}]});
    assert_eq!(document, expected);
    node.export("writer", &Writer.spawn()).expect("the name is free");
    let listed = said(&["describe", &bound]).await;
    let line = "  writer  Writer  Clears \u{fffd}[2J the screen.\n";
    assert!(listed.out.ends_with(line), "{listed:?}");
    let refused = said(&["describe", &bound, "--asyncapi"]).await;
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("names no actor") && refused.err.contains("hint:"));
    node.close(Duration::from_secs(5)).await;

    let (node, bound) = shop(NodeOptions::default().lists_actors(false)).await;
    let refused = said(&["describe", &bound]).await;
    assert_eq!(refused.code, Some(8), "{refused:?}");
    assert!(refused.err.contains("the node does not list its actors"), "{refused:?}");
    node.close(Duration::from_secs(5)).await;
}
