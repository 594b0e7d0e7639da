//! Methods with routes of their own.

use serde_json::{Value, json};
use wigwag::{Actor, Message};

use crate::client::Client;
use crate::service::Service;

#[tokio::test]
async fn a_route_takes_arguments_from_path_query_and_body() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let order = |item: &str, state: Value, note: Value| json!({"id": 7, "item": item, "state": state, "note": note});
    for (line, body, reply) in [
        ("GET /orders/7", "", json!(null)),
        ("POST /orders", r#"{"id": 7, "item": "tea"}"#, json!(7)),
        ("GET /orders/7", "", order("tea", json!("Open"), json!(null))),
        ("PUT /orders/7", r#"{"item": "7", "note": "hot"}"#, json!(7)),
        ("GET /orders?item=7", "", json!([order("7", json!("Open"), json!("hot"))])),
        ("GET /orders?item=green+tea", "", json!([])),
        ("GET /orders?most=0", "", json!([])),
        ("PATCH /orders/7/state", r#"{"Sent": {"carrier": "post"}}"#, json!(true)),
        ("PATCH /orders/7/state", r#"{"state": {"Lost": 2}}"#, json!(true)),
        ("PATCH /orders/8/state", r#""Open""#, json!(false)),
        ("PUT /marks/7", "[]", json!(0)),
        ("PUT /marks/7", "[1,2]", json!(2)),
        ("GET /orders/7", "", order("7", json!({"Lost": 2}), json!("hot"))),
        ("DELETE /orders/7", "", json!(true)),
        ("DELETE /orders/7", "", json!(false)),
    ] {
        let answer = client.request(line, "", body).await;
        assert_eq!((answer.status, answer.json()), (200, reply), "{line} {body}");
    }
}

#[tokio::test]
async fn slips_are_named() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    for (line, body, status) in [
        ("GET /orders/x", "", 400),
        ("GET /orders/7?more=1", "", 400),
        ("POST /orders", r#"{"id": 7}"#, 400),
        ("POST /orders", "[7, \"tea\"]", 400),
        ("PUT /marks/7", "", 400),
        ("POST /orders/7", "", 405),
        ("PUT /orders", "", 405),
        ("GET /orders/7/8", "", 404),
    ] {
        let answer = client.request(line, "", body).await;
        assert_eq!(answer.status, status, "{line} {body}: {}", answer.text());
        answer.code();
    }
    let answer = client.request("POST /orders/7", "", "").await;
    assert_eq!(answer.headers["allow"], "DELETE, GET, PUT");
}

struct Root;

#[wigwag::actor]
impl Root {
    #[wigwag(get = "/")]
    pub fn id(&self) -> u64 {
        1
    }

    #[wigwag(get = "/orders/{id}")]
    pub fn order(&self, id: u64) -> u64 {
        id
    }
}

/// The first actor by its name has a route that two have, and routes go before the paths of the
/// gateway.
#[tokio::test]
async fn routes_follow_what_is_exported() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    assert_eq!(client.request("GET /", "", "").await.json()["actors"][0]["name"], "desk");
    service.node.export("root", &Root.spawn()).unwrap();
    assert_eq!(client.request("GET /", "", "").await.json(), 1);
    assert_eq!(
        client.request("GET /orders/5", "", "").await.json(),
        json!(null),
        "the desk has it"
    );
    service.node.withdraw("desk");
    assert_eq!(client.request("GET /orders/5", "", "").await.json(), 5);
    service.node.withdraw("root");
    assert_eq!(client.request("GET /orders/5", "", "").await.status, 404);
}

struct Shelf;

#[wigwag::actor]
impl Shelf {
    #[wigwag(get = "/shelves/{id}", delete = "/shelves/{id}")]
    pub fn one(&self, #[wigwag::was("number")] id: String, note: Option<String>) -> Vec<String> {
        [id].into_iter().chain(note).collect()
    }

    #[wigwag(put = "/shelves/{id}")]
    pub fn place(&self, id: String, a: u64, b: Option<u64>) -> (String, u64, Option<u64>) {
        (id, a, b)
    }

    #[wigwag(patch = "/shelves/{key}")]
    pub fn change(&self, key: String, id: u64) -> (String, u64) {
        (key, id)
    }

    #[wigwag(get = "/shelves/{key}/rows/{id}")]
    pub fn row(&self, id: u64, key: String) -> (String, u64) {
        (key, id)
    }

    #[wigwag(post = "/shelves/{id}/rows/{key}")]
    pub fn add_row(&self, id: u64, key: String) -> (u64, String) {
        (id, key)
    }
}

async fn with_shelf() -> (Service, Client) {
    let service = Service::start().await;
    service.node.export("shelf", &Shelf.spawn()).unwrap();
    let client = Client::connect(&service.host).await;
    (service, client)
}

#[tokio::test]
async fn an_argument_of_the_path_cannot_be_given_again() {
    let (_service, mut client) = with_shelf().await;
    for (line, body) in [
        ("GET /shelves/5?id=9", ""),
        ("GET /shelves/5?number=9", ""),
        ("GET /shelves/5?note=x&id=5", ""),
        ("DELETE /shelves/5?id=9", ""),
        ("PUT /shelves/5", r#"{"id": "9", "a": 1}"#),
        ("PUT /shelves/5", r#"{"a": 1, "b": 2, "id": null}"#),
        ("POST /shelves/5/rows/x", r#"{"id": 9}"#),
    ] {
        let answer = client.request(line, "", body).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "BadArguments"), "{line} {body}");
        let detail = "the argument \"id\" is given twice: the path has it already";
        assert_eq!(answer.json()["detail"], detail, "{line} {body}");
    }
    let answer = client.request("PUT /shelves/5", "", r#"{"a": 1}"#).await;
    assert_eq!((answer.status, answer.json()), (200, json!(["5", 1, null])));
}

#[tokio::test]
async fn a_text_in_path_and_query_is_taken_as_it_is() {
    let (_service, mut client) = with_shelf().await;
    for (line, reply) in [
        ("GET /shelves/%22hi%22?note=%22hi%22", json!(["\"hi\"", "\"hi\""])),
        ("GET /shelves/null?note=null", json!(["null", "null"])),
        ("GET /shelves/[1]?note=[1]", json!(["[1]", "[1]"])),
        ("GET /shelves/7?note=", json!(["7", ""])),
        ("GET /shelves/7", json!(["7"])),
    ] {
        let answer = client.request(line, "", "").await;
        assert_eq!((answer.status, answer.json()), (200, reply), "{line}");
    }
}

/// A type with a field that has the name of the argument.
#[derive(Message)]
struct Shade {
    shade: String,
    size: u8,
}

struct Lamp;

#[wigwag::actor]
impl Lamp {
    #[wigwag(get = "/lamp")]
    pub fn get(&self, most: Option<u32>) -> Option<u32> {
        most
    }

    #[wigwag(put = "/lamp")]
    pub fn put(&self, most: Option<u32>) -> Option<u32> {
        most
    }

    #[wigwag(get = "/lamps/{id}", post = "/lamps/{id}")]
    pub fn one(&self, id: String) -> String {
        id
    }

    #[wigwag(put = "/shades")]
    pub fn cover(&self, shade: Shade) -> Shade {
        shade
    }

    pub async fn stream(&self, most: Option<u32>, mut items: wigwag::Yield<Option<u32>>) {
        let _ = items.send(most).await;
        items.finish();
    }
}

/// A body may be the only argument of a method; a query has its name.
#[tokio::test]
async fn the_only_argument_of_a_query_has_its_name() {
    let service = Service::start().await;
    service.node.export("lamp", &Lamp.spawn()).unwrap();
    let mut client = Client::connect(&service.host).await;
    for (line, body, reply) in [
        ("GET /lamp", "", json!(null)),
        ("GET /lamp?most=3", "", json!(3)),
        ("PUT /lamp", "", json!(null)),
        ("PUT /lamp", "3", json!(3)),
        ("GET /lamps/a", "", json!("a")),
    ] {
        let answer = client.request(line, "", body).await;
        assert_eq!((answer.status, answer.json()), (200, reply), "{line} {body}");
    }
    let events = client.request("GET /lamp/stream/stream", "", "").await;
    assert!(events.text().contains("data: null"), "{}", events.text());
    for (line, detail) in [
        ("GET /lamps/a?colour=1", "it has no argument \"colour\""),
        ("GET /lamp?colour=1", "it has no argument \"colour\""),
        ("GET /lamp?most=x", "argument 1 is not of type Option<u32>"),
    ] {
        let answer = client.request(line, "", "").await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "BadArguments"), "{line}");
        let said = answer.json()["detail"].to_string();
        assert!(said.contains(&detail.replace('"', "\\\"")), "{line}: {said}");
    }
}

/// The object is the argument unless it has exactly the argument's name.
#[tokio::test]
async fn the_only_argument_may_have_a_field_of_its_own_name() {
    let service = Service::start().await;
    service.node.export("lamp", &Lamp.spawn()).unwrap();
    let mut client = Client::connect(&service.host).await;
    let shade = json!({"shade": "silk", "size": 7});
    for line in ["PUT /shades", "POST /lamp/ask/cover"] {
        for body in [shade.clone(), json!({"shade": shade})] {
            let answer = client.request(line, "", &body.to_string()).await;
            assert_eq!((answer.status, answer.json()), (200, shade.clone()), "{line} {body}");
        }
    }
}

#[tokio::test]
async fn a_route_whose_path_has_all_arguments_takes_no_others() {
    let service = Service::start().await;
    service.node.export("lamp", &Lamp.spawn()).unwrap();
    let mut client = Client::connect(&service.host).await;
    for (body, status) in
        [("", 200), ("[]", 200), ("{}", 200), ("[1]", 400), ("1", 400), (r#"{"b": 1}"#, 400)]
    {
        let answer = client.request("POST /lamps/a", "", body).await;
        assert_eq!(answer.status, status, "{body}: {}", answer.text());
    }
}

/// A client remembers what its paths have led to.
#[tokio::test]
async fn methods_of_one_name_are_those_of_their_actors() {
    let (service, mut client) = with_shelf().await;
    service.node.export("lamp", &Lamp.spawn()).unwrap();
    for _ in 0..2 {
        for (line, reply) in [("GET /lamps/5", json!("5")), ("GET /shelves/5", json!(["5"]))] {
            let answer = client.request(line, "", "").await;
            assert_eq!((answer.status, answer.json()), (200, reply), "{line}");
        }
    }
}

#[tokio::test]
async fn a_query_is_not_altered_and_gives_an_argument_once() {
    let (_service, mut client) = with_shelf().await;
    for (line, detail) in [
        ("GET /shelves/5?note=a&note=b", "the query gives the argument \"note\" twice"),
        ("GET /shelves/5?note=%ff", "the query is no UTF-8"),
        ("GET /shelves/5?n%ffte=a", "the query is no UTF-8"),
    ] {
        let answer = client.request(line, "", "").await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "BadArguments"), "{line}");
        assert_eq!(answer.json()["detail"], detail, "{line}");
    }
    let answer = client.request("GET /shelves/5?note=%EF%BF%BD%zz", "", "").await;
    assert_eq!((answer.status, answer.json()), (200, json!(["5", "\u{fffd}%zz"])));
}

/// Two routes with one path may call its segments differently, in another order too.
#[tokio::test]
async fn routes_of_one_path_have_names_of_their_own() {
    let (_service, mut client) = with_shelf().await;
    for (line, body, reply) in [
        ("GET /shelves/5", "", json!(["5"])),
        ("PATCH /shelves/5", "7", json!(["5", 7])),
        ("PATCH /shelves/5", r#"{"id": 7}"#, json!(["5", 7])),
        ("GET /shelves/5/rows/7", "", json!(["5", 7])),
        ("POST /shelves/5/rows/7", "", json!([5, "7"])),
    ] {
        let answer = client.request(line, "", body).await;
        assert_eq!((answer.status, answer.json()), (200, reply), "{line} {body}");
    }
    let answer = client.request("POST /shelves/5", "", "").await;
    assert_eq!((answer.status, &*answer.headers["allow"]), (405, "DELETE, GET, PATCH, PUT"));
}

struct Clock(u64);

#[wigwag::actor]
impl Clock {
    #[wigwag(get = "/clock")]
    pub fn hour(&self) -> u64 {
        self.0
    }

    #[wigwag(put = "/clock")]
    pub fn set(&mut self, hour: u64) -> String {
        self.0 = hour;
        "set".to_owned()
    }

    #[wigwag(get = "/clocks")]
    pub fn clocks(&self) -> Vec<u64> {
        vec![self.0]
    }
}

/// A connection remembers what its first request was for.
#[tokio::test]
async fn each_request_of_a_connection_reaches_the_route_of_its_own_verb_and_path() {
    let service = Service::start().await;
    service.node.export("clock", &Clock(3).spawn()).unwrap();
    let mut client = Client::connect(&service.host).await;
    for (line, body, reply) in [
        ("GET /clock", "", json!(3)),
        ("GET /clock", "", json!(3)),
        ("PUT /clock", "7", json!("set")),
        ("GET /clocks", "", json!([7])),
        ("GET /clock", "", json!(7)),
    ] {
        let answer = client.request(line, "", body).await;
        assert_eq!((answer.status, answer.json()), (200, reply), "{line} {body}");
    }
    let answer = client.request("DELETE /clock", "", "").await;
    assert_eq!((answer.status, &*answer.headers["allow"]), (405, "GET, PUT"));
    service.node.export("early", &Clock(1).spawn()).unwrap();
    service.node.withdraw("clock");
    assert_eq!(client.request("GET /clock", "", "").await.json(), json!(1));
}

/// Templates that differ in their names alone are one path to OpenAPI.
#[tokio::test]
async fn openapi_has_one_path_for_routes_that_differ_in_names() {
    let (_service, mut client) = with_shelf().await;
    let document = client.request("GET /openapi.json", "", "").await.json();
    let paths = document["paths"].as_object().unwrap();
    let shelves: Vec<_> = paths.keys().filter(|path| path.starts_with("/shelves")).collect();
    assert_eq!(shelves, ["/shelves/{id}", "/shelves/{key}/rows/{id}"]);
    let change = &paths["/shelves/{id}"]["patch"];
    assert_eq!(change["parameters"].as_array().unwrap().len(), 1);
    assert_eq!(change["parameters"][0]["name"], "id");
    assert_eq!(change["parameters"][0]["schema"], json!({"type": "string"}));
    let form = &change["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(form["properties"]["id"]["type"], "integer");
    let add = &paths["/shelves/{key}/rows/{id}"]["post"]["parameters"];
    assert_eq!((&add[0]["name"], &add[1]["name"]), (&json!("key"), &json!("id")));
    assert_eq!(add[0]["schema"]["type"], "integer");
}
