//! `wigwag ask`, `tell` and `describe`: results, and every kind of failure.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use wigwag::{Actor, Node};

use crate::process::{Said, Serving, run};

/// Checks that the error on standard error says what happened, where, and how to fix it.
fn failed(said: &Said, code: i32, what: &str) {
    assert_eq!(said.code, Some(code), "{said:?}");
    assert_eq!(said.out, "", "an error is no result");
    let lines: Vec<&str> = said.err.lines().collect();
    let [error, at, hint] = lines.as_slice() else {
        panic!("three lines are expected: {said:?}");
    };
    assert!(error.starts_with("error: ") && error.contains(what), "{said:?}");
    assert!(at.starts_with("   at: "), "{said:?}");
    assert!(hint.starts_with(" hint: "), "{said:?}");
}

/// Every command that calls an actor, with valid arguments.
fn commands(actor: &str) -> [Vec<&str>; 3] {
    [
        vec!["ask", actor, "add", "2", "3"],
        vec!["tell", actor, "add", "2", "3"],
        vec!["describe", actor],
    ]
}

/// Starts a listener that runs `answer` for each connection, and returns its address.
fn stranger(answer: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let place = listener.local_addr().expect("bound");
    thread::spawn(move || listener.incoming().flatten().for_each(answer));
    format!("tcp://{place}/sum")
}

#[test]
fn a_tell_arrives_and_an_ask_prints_its_reply_alone() {
    let serving = Serving::start();
    let counter = serving.actor("counter");
    for number in ["0", "1"] {
        let sent = run(["tell", &counter, "count", "50", "0", number]);
        assert_eq!((sent.code, sent.out.as_str(), sent.err.as_str()), (Some(0), "", ""));
    }
    let asked = run(["ask", &counter, "get_and_reset"]);
    assert_eq!((asked.code, asked.out.as_str(), asked.err.as_str()), (Some(0), "100\n", ""));
    let asked = run(["ask", &serving.actor("sum"), "add", "-2", "-3"]);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "-5\n"), "{asked:?}");
}

#[test]
fn describe_prints_the_same_as_text_and_as_json() {
    let serving = Serving::start();
    let sum = serving.actor("sum");
    let text = run(["describe", &sum]);
    assert_eq!(text.out, format!("Sum at {sum}\n  add(a: i64, b: i64) -> i64\n"));
    let document = run(["describe", &sum, "--json"]);
    assert_eq!((document.code, document.err.as_str()), (Some(0), ""));
    let mut document: Value = serde_json::from_str(&document.out).unwrap();
    let hash = document["schema_hash"].take();
    assert_eq!(hash.as_str().map(str::len), Some(16), "{hash}");
    let arguments = json!([{"name": "a", "type": "i64"}, {"name": "b", "type": "i64"}]);
    let methods = json!([{"name": "add", "arguments": arguments, "reply": "i64"}]);
    let expected = json!({"name": "Sum", "schema_hash": null, "methods": methods, "types": []});
    assert_eq!(document, expected);
}

#[derive(wigwag::Message)]
struct Price {
    cents: u64,
}

#[derive(wigwag::Message)]
struct Number(u32);

#[derive(wigwag::Message)]
struct Item {
    name: String,
    number: Option<Number>,
    prices: Vec<Price>,
}

#[derive(wigwag::Message)]
enum Refusal {
    SoldOut,
    TooMany { most: u32, price: Price },
    Other(Item, u8),
}

struct Shop;

#[wigwag::actor]
impl Shop {
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

/// Each once, although they occur in both methods and in each other.
#[tokio::test(flavor = "multi_thread")]
async fn describe_prints_the_structs_and_enums_below_the_methods_that_use_them() {
    let node = Node::new();
    node.export("shop", &Shop.spawn()).unwrap();
    let shop = format!("{}/shop", node.listen("tcp://127.0.0.1:0").await.unwrap());
    let described = |more: &[&str]| {
        let words: Vec<String> =
            ["describe", &shop].iter().chain(more).map(|word| word.to_string()).collect();
        tokio::task::spawn_blocking(move || run(words.iter().map(String::as_str)).out)
    };
    let lines = [
        &format!("Shop at {shop}"),
        "  price(item: Item) -> Price",
        "  order(items: Vec<(Item, u32)>) -> Result<Number, Refusal>",
        "  struct Item { name: String, number: Option<Number>, prices: Vec<Price> }",
        "  struct Number(u32)",
        "  struct Price { cents: u64 }",
        "  enum Refusal { SoldOut, TooMany { most: u32, price: Price }, Other(Item, u8) }",
    ];
    assert_eq!(described(&[]).await.unwrap(), lines.join("\n") + "\n");
    let document: Value = serde_json::from_str(&described(&["--json"]).await.unwrap()).unwrap();
    let field = |name: &str, kind: &str| json!({"name": name, "type": kind});
    let many = [field("most", "u32"), field("price", "Price")];
    let types = json!([
        {"name": "Item", "fields": [
            field("name", "String"),
            field("number", "Option<Number>"),
            field("prices", "Vec<Price>"),
        ]},
        {"name": "Number", "fields": [field("0", "u32")]},
        {"name": "Price", "fields": [field("cents", "u64")]},
        {"name": "Refusal", "variants": [
            {"name": "SoldOut", "fields": []},
            {"name": "TooMany", "fields": many},
            {"name": "Other", "fields": [field("0", "Item"), field("1", "u8")]},
        ]},
    ]);
    assert_eq!(document["types"], types);
    node.close(Duration::from_secs(5)).await;
}

#[test]
fn an_unknown_actor_is_exit_8() {
    let serving = Serving::start();
    for command in commands(&serving.actor("nobody")) {
        failed(&run(command), 8, "no actor of that name");
    }
}

#[test]
fn an_unknown_method_is_named_and_the_error_suggests_describe() {
    let serving = Serving::start();
    let sum = serving.actor("sum");
    for command in ["ask", "tell"] {
        let said = run([command, &sum, "multiply", "2", "3"]);
        failed(&said, 2, "no such method: multiply");
        assert!(said.err.contains("wigwag describe"), "{said:?}");
    }
}

#[test]
fn wrong_arguments_are_refused_before_they_are_sent() {
    let serving = Serving::start();
    let sum = serving.actor("sum");
    for command in ["ask", "tell"] {
        for (arguments, wrong) in [
            (&["2"][..], "wrong number of arguments: 1"),
            (&["2", "3", "4"], "wrong number of arguments: 3"),
            (&["2", "three"], "\"three\" is not of type i64"),
            (&["2", "0.5"], "\"0.5\" is not of type i64"),
        ] {
            let words = [command, &sum, "add"].into_iter();
            let said = run(words.chain(arguments.iter().copied()));
            failed(&said, 2, &format!("add(a: i64, b: i64): {wrong}"));
        }
    }
}

/// The command does not know this type, so the actor checks the argument.
#[test]
fn arguments_of_a_type_unknown_to_the_command_are_checked_by_the_actor() {
    let serving = Serving::start();
    let said = run(["ask", &serving.actor("counter"), "verify_and_reset", "[1]"]);
    failed(&said, 2, "other arguments: verify_and_reset");
}

#[test]
fn a_port_without_a_listener_is_exit_3_at_once() {
    let place = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    for command in commands(&format!("tcp://{place}/sum")) {
        failed(&run(command), 3, "nobody listens there");
    }
    failed(&run(["ask", "ipc:///nowhere/at/all/sum", "add"]), 3, "nobody listens there");
}

#[test]
fn a_peer_that_is_no_node_is_exit_5() {
    let web = stranger(|mut stream| {
        let mut asked = [0; 8];
        let _ = stream.read(&mut asked);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    // SPEC: the first eight bytes of a PULL socket.
    let pull = stranger(|mut stream| {
        let _ = stream.write_all(b"\0SP\0\0\x51\0\0");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    // The right SP protocol, but the peer is no node.
    let pair = stranger(|mut stream| {
        let _ = stream.write_all(b"\0SP\0\0\x11\0\0");
        let _ = stream.write_all(b"\0\0\0\0\0\0\0\x09\0\0\0\x01hello");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    for (address, what) in [(web, "HTTP"), (pull, "PULL"), (pair, "wigwag")] {
        for command in commands(&address) {
            failed(&run(command), 5, what);
        }
    }
}

#[test]
fn a_malformed_address_is_refused_with_the_reason() {
    for (address, what) in [
        ("sum", "begins with a scheme"),
        ("gopher://127.0.0.1:7001/sum", "no transport"),
        ("tcp://127.0.0.1/sum", "a port"),
        ("tcp://127.0.0.1:7001", "names no actor"),
    ] {
        for command in commands(address) {
            failed(&run(command), 2, what);
        }
    }
}

#[test]
fn a_silent_peer_is_exit_4_after_the_deadline() {
    let silent = stranger(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    for deadline in ["0.2", "200ms"] {
        for mut command in commands(&silent) {
            command.extend(["--deadline", deadline]);
            failed(&run(command), 4, "no answer within 200ms");
        }
    }
    let said = run(["describe", &silent, "--deadline", "soon"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
    assert!(said.err.contains("expected a time with a unit, like 200ms"), "{said:?}");
}
