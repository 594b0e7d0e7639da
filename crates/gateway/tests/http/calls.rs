//! Asks and tells with arguments in JSON.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use wigwag::Actor;

use crate::client::Client;
use crate::service::Service;

async fn asked(client: &mut Client, method: &str, body: Value) -> (u16, Value) {
    let answer = client.request(&format!("POST /desk/ask/{method}"), "", &body.to_string()).await;
    (answer.status, answer.json())
}

#[tokio::test]
async fn an_ask_is_answered_with_the_reply() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    for (method, arguments, reply) in [
        ("add", json!([2, 3]), json!(5)),
        ("add", json!({"b": 3, "a": 2}), json!(5)),
        ("greet", json!(["Ada"]), json!("hello Ada")),
        ("greet", json!({"name": "Ada", "times": 2}), json!("hello Ada, hello Ada")),
        ("note", json!([7]), json!(null)),
        ("note", json!({"number": 8}), json!(null)),
        ("note", json!(9), json!(null)),
        ("noted", json!([]), json!([7, 8, 9])),
        ("noted", json!(null), json!([7, 8, 9])),
    ] {
        assert_eq!(asked(&mut client, method, arguments).await, (200, reply), "{method}");
    }
    let answer = client.request("POST /desk/ask/noted", "", "").await;
    assert_eq!((answer.status, answer.text()), (200, "[7,8,9]"));
    assert_eq!(answer.headers["content-type"], "application/json");
}

#[tokio::test]
async fn structs_and_enums_have_their_names() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    for state in [json!("Open"), json!({"Sent": {"carrier": "post"}}), json!({"Lost": 3})] {
        let order = json!({"id": 7, "item": "tea", "state": state, "note": null});
        for body in [json!([order]), json!({"order": order}), order.clone()] {
            assert_eq!(asked(&mut client, "echo", body).await, (200, order.clone()));
        }
    }
    let without_note = json!([{"id": 7, "item": "tea", "state": "Open"}]);
    assert_eq!(asked(&mut client, "echo", without_note).await.0, 200);
}

#[derive(Clone, wigwag::Message)]
struct Stock {
    counts: HashMap<u64, i32>,
    shelves: Vec<BTreeMap<i8, HashMap<bool, String>>>,
}

struct Store;

#[wigwag::actor]
impl Store {
    pub fn sorted(&self, stock: Stock) -> Stock {
        stock
    }
}

#[tokio::test]
async fn keys_that_are_numbers_come_back_as_they_were_given() {
    let service = Service::start().await;
    service.node.export("store", &Store.spawn()).unwrap();
    let mut client = Client::connect(&service.host).await;
    let (counts, shelf) = (json!({"18446744073709551615": -1}), json!({"-7": {"true": "tea"}}));
    let stock = json!({"counts": counts, "shelves": [shelf, {}]});
    let line = "POST /store/ask/sorted";
    let answer = client.request(line, "", &json!([stock]).to_string()).await;
    assert_eq!((answer.status, answer.json()), (200, stock));
    let wrong = json!([{"counts": {"seven": 1}, "shelves": []}]).to_string();
    assert_eq!(client.request(line, "", &wrong).await.status, 400);
}

/// The error of a method is the client's to handle, so it is a problem with its value.
#[tokio::test]
async fn a_result_is_its_value_or_a_problem() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    assert_eq!(asked(&mut client, "check", json!(["Open"])).await, (200, json!("Open")));
    let (status, problem) = asked(&mut client, "check", json!([{"Lost": 1}])).await;
    assert_eq!(
        (status, &problem["code"], &problem["error"]),
        (422, &json!("Returned"), &json!("lost"))
    );
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    for (method, body, detail) in [
        ("add", "[1]", "add(a: i64, b: i64): wrong number of arguments: 1"),
        ("add", "[1, \"x\"]", "add(a: i64, b: i64): argument 2 is not of type i64"),
        ("add", "{\"a\": 1, \"c\": 2}", "add(a: i64, b: i64): the argument \"b\" is missing"),
        ("echo", "[{\"id\": 1}]", "order: Order lacks \"item\""),
        ("check", "[\"Gone\"]", "state: State has no variant \"Gone\", but Open, Sent, Lost"),
    ] {
        let answer = client.request(&format!("POST /desk/ask/{method}"), "", body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "BadArguments"), "{body}");
        assert_eq!(answer.json()["detail"], detail);
        assert_eq!(answer.json()["fault"], "client");
    }
    for body in ["[1, 2", "{\"a\": }", "nul", "[1]]", "\u{0}"] {
        let answer = client.request("POST /desk/ask/add", "", body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "BadJson"), "{body}");
    }
}

#[tokio::test]
async fn tells_are_taken_in_their_order() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    for number in 0..100 {
        let answer = client.request("POST /desk/tell/note", "", &format!("[{number}]")).await;
        assert_eq!((answer.status, answer.body.len()), (202, 0));
    }
    let expected: Vec<u64> = (0..100).collect();
    assert_eq!(service.desk.noted().ask().await.unwrap(), expected);
}

/// Requests that come one behind the other are answered in their order.
#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let mut all = String::new();
    for number in 0..200 {
        let body = format!("[{number},1]");
        let length = body.len();
        all += &format!(
            "POST /desk/ask/add HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}"
        );
    }
    client.send(all.as_bytes()).await;
    for number in 0..200 {
        assert_eq!(client.answer(false).await.unwrap().json(), number + 1);
    }
}

#[tokio::test]
async fn missing_names_are_not_found() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    for (line, code) in [
        ("POST /desk/ask/absent", "NoSuchMethod"),
        ("POST /absent/ask/add", "NoSuchActor"),
        ("GET /absent", "NoSuchActor"),
        ("GET /desk/x/add", "NotFound"),
        ("GET /desk/ask", "NotFound"),
        ("POST /desk/ask/add/x", "NotFound"),
        ("POST /%ff/ask/add", "NotFound"),
        ("POST //ask/add", "NotFound"),
    ] {
        let answer = client.request(line, "", "").await;
        assert_eq!((answer.status, answer.code().as_str()), (404, code), "{line}");
    }
    for (line, allowed) in [
        ("GET /desk/ask/add", "POST"),
        ("PUT /desk/tell/note", "POST"),
        ("POST /desk", "GET, HEAD"),
        ("DELETE /openapi.json", "GET, HEAD"),
    ] {
        let answer = client.request(line, "", "").await;
        assert_eq!((answer.status, answer.code().as_str()), (405, "MethodNotAllowed"), "{line}");
        assert_eq!(answer.headers["allow"], allowed);
    }
    // HEAD asks for no more than GET does.
    assert_eq!(client.request("HEAD /desk/tell/note", "", "").await.status, 405);
    // A method with a stream has an address of its own, and the others have none there.
    for line in ["POST /desk/ask/count", "GET /desk/stream/add"] {
        assert_eq!(client.request(line, "", "").await.status, 404, "{line}");
    }
}

#[tokio::test]
async fn names_are_decoded() {
    let service = Service::start().await;
    service.node.export("front desk", &service.desk).unwrap();
    let mut client = Client::connect(&service.host).await;
    let answer = client.request("POST /front%20desk/ask/%61dd", "", "[1,2]").await;
    assert_eq!((answer.status, answer.text()), (200, "3"));
}

#[tokio::test]
async fn a_method_that_panics_is_an_error_of_the_service() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let answer = client.request("POST /desk/ask/fall", "", "").await;
    assert_eq!((answer.status, answer.code().as_str()), (500, "Panicked"));
    assert_eq!(answer.json()["fault"], "service");
    // The actor has ended, and its name leads to nothing.
    assert_eq!(client.request("POST /desk/ask/add", "", "[1,2]").await.status, 404);
}

/// A name that is exported anew leads to the new actor, also over a connection that has called the old.
#[tokio::test]
async fn a_name_leads_to_the_actor_that_has_it_now() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    client.request("POST /desk/tell/note", "", "[1]").await;
    assert_eq!(client.request("POST /desk/ask/noted", "", "").await.json(), json!([1]));
    assert!(service.node.withdraw("desk"));
    assert_eq!(client.request("POST /desk/ask/noted", "", "").await.status, 404);
    let other = Service::start().await;
    service.node.export("desk", &other.desk).unwrap();
    assert_eq!(client.request("POST /desk/ask/noted", "", "").await.json(), json!([]));
}

#[tokio::test]
async fn an_answer_is_compressed_if_the_client_accepts_it() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    for bytes in [10_000, 200_000] {
        let plain = client.request("POST /desk/ask/fill", "", &format!("[{bytes}]")).await;
        assert_eq!((plain.body.len(), plain.headers.get("content-encoding")), (bytes + 2, None));
        assert_eq!(plain.headers["vary"], "accept-encoding", "a cache keeps both forms apart");
        let header = "accept-encoding: br, gzip\r\n";
        let answer = client.request("POST /desk/ask/fill", header, &format!("[{bytes}]")).await;
        assert_eq!(answer.headers["content-encoding"], "gzip");
        assert_eq!(answer.headers["vary"], "accept-encoding");
        let mut text = String::new();
        let mut decoder = flate2::read::GzDecoder::new(&answer.body[..]);
        std::io::Read::read_to_string(&mut decoder, &mut text).unwrap();
        assert_eq!(text.as_bytes(), plain.body);
    }
    let small = client.request("POST /desk/ask/add", "accept-encoding: gzip\r\n", "[1,2]").await;
    assert_eq!((small.text(), small.headers.get("content-encoding")), ("3", None));
}

#[tokio::test]
async fn head_is_answered_without_a_body() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    // The second one is a route with arguments in its query.
    for path in ["/desk", "/orders?most=7"] {
        let answer = client.request(&format!("HEAD {path}"), "", "").await;
        assert_eq!((answer.status, &*answer.headers["content-type"]), (200, "application/json"));
        let whole = client.request(&format!("GET {path}"), "", "").await;
        assert_eq!(answer.headers["content-length"], whole.body.len().to_string(), "{path}");
    }
    assert_eq!(client.request("HEAD /orders?most=x", "", "").await.status, 400);
}

/// A client of HTTP/2 with an invalid preface would take an answer of HTTP/1 for broken frames.
#[tokio::test]
async fn a_malformed_request_is_400_and_what_names_no_version_of_http_gets_no_answer() {
    let service = Service::start().await;
    for line in ["GET / HTTP/9.9", "GET /a b HTTP/1.1", "GE/T / HTTP/1.1"] {
        let mut client = Client::connect(&service.host).await;
        client.send(format!("{line}\r\nhost: localhost\r\n\r\n").as_bytes()).await;
        assert_eq!(client.answer(false).await.expect(line).status, 400, "{line}");
        assert!(client.is_closed().await);
    }
    for line in ["INVALID CONNECTION PREFACE", "hello", "GET /", "GET / http/1.1"] {
        let mut client = Client::connect(&service.host).await;
        client.send(format!("{line}\r\nvia: HTTP/1.1\r\n\r\n").as_bytes()).await;
        assert!(client.is_closed().await, "{line}");
    }
}

/// A version of HTTP without keep-alive.
#[tokio::test]
async fn http_1_0_is_answered_and_closed() {
    let service = Service::start().await;
    for host in ["host: localhost\r\n", ""] {
        let mut client = Client::connect(&service.host).await;
        let head = format!("POST /desk/ask/add HTTP/1.0\r\n{host}content-length: 5\r\n\r\n[1,2]");
        client.send(head.as_bytes()).await;
        assert_eq!(client.answer(false).await.unwrap().text(), "3", "{host}");
        assert!(client.is_closed().await);
    }
}
