//! Methods with routes of their own.

use serde_json::{Value, json};
use wigwag::Actor;

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
