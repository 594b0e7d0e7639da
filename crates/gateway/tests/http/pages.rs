//! The pages about the node and the gateway.

use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinHandle;
use wigwag::NodeOptions;
use wigwag_gateway::GatewayOptions;

use crate::client::Client;
use crate::service::Service;

#[tokio::test]
async fn actors_are_listed_and_described() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let index = client.request("GET /", "", "").await.json();
    let comment = "A desk that takes orders.";
    assert_eq!(index, json!({"actors": [{"name": "desk", "type": "Desk", "comment": comment}]}));
    let desk = client.request("GET /desk", "", "").await.json();
    assert_eq!(desk["methods"]["add"]["signature"], "add(a: i64, b: i64) -> i64");
    assert_eq!(desk["methods"]["add"]["description"], "The sum of both.");
    assert_eq!(desk["methods"]["count"]["stream"], true);
    let order = json!({"$ref": "#/components/schemas/Order"});
    assert_eq!(desk["methods"]["echo"]["arguments"]["properties"]["order"], order);
    let properties = &desk["components"]["schemas"]["Order"]["properties"];
    assert_eq!(properties["item"], json!({"type": "string"}));
}

/// A validator of the specification reads the document; `cargo xtask test` installs it.
#[tokio::test]
async fn openapi_is_valid() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let document = client.request("GET /openapi.json", "", "").await.body;
    let python = concat!(env!("CARGO_TARGET_TMPDIR"), "/openapi/bin/python");
    let check = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/openapi/check.py");
    let mut command = tokio::process::Command::new(python);
    let spawned = command.arg(check).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut validator = spawned.expect("`cargo xtask test` has installed the validator");
    validator.stdin.take().unwrap().write_all(&document).await.unwrap();
    let output = validator.wait_with_output().await.unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "valid");
}

#[tokio::test]
async fn openapi_has_the_calls_and_the_routes() {
    let options = GatewayOptions::default().title("Desks");
    let service = Service::with(NodeOptions::default(), options).await;
    let mut client = Client::connect(&service.host).await;
    let document = client.request("GET /openapi.json", "", "").await.json();
    assert_eq!(
        (&document["openapi"], &document["info"]["title"]),
        (&json!("3.1.0"), &json!("Desks"))
    );
    let paths = &document["paths"];
    let add = &paths["/desk/ask/add"]["post"];
    assert_eq!(
        add["requestBody"]["content"]["application/json"]["schema"]["required"],
        json!(["a", "b"])
    );
    assert_eq!(add["responses"]["200"]["content"]["application/json"]["schema"]["type"], "integer");
    assert_eq!(
        paths["/desk/tell/note"]["post"]["responses"]["202"]["description"],
        "The actor has it."
    );
    assert_eq!(paths["/desk/stream/count"]["get"]["parameters"][0]["name"], "end");
    assert_eq!(paths["/orders/{id}"]["get"]["parameters"][0]["in"], "path");
    let place =
        &paths["/orders/{id}"]["put"]["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(place["required"], json!(["item"]));
    // The value of a result is the answer.
    let check = &paths["/desk/ask/check"]["post"]["responses"]["200"]["content"];
    let state = json!({"$ref": "#/components/schemas/Desk.State"});
    assert_eq!(check["application/json"]["schema"], state);
    assert!(paths.get("/desk/ask/take").is_none(), "JSON has no streams");
    let states = &document["components"]["schemas"]["Desk.State"]["oneOf"];
    assert_eq!(states[0], json!({"enum": ["Open"]}));
}

#[tokio::test]
async fn metrics_are_for_nodes_that_may_be_observed() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    assert_eq!(client.request("GET /metrics", "", "").await.status, 404);
    let options = NodeOptions::default().observable(true);
    let service = Service::with(options, GatewayOptions::default()).await;
    let mut client = Client::connect(&service.host).await;
    client.request("POST /desk/ask/add", "", "[1,2]").await;
    client.request("POST /desk/ask/add", "", "[1]").await;
    let page = client.request("GET /metrics", "", "").await;
    assert!(page.headers["content-type"].starts_with("text/plain"));
    for line in [
        "wigwag_gateway_connections 1\n",
        "wigwag_gateway_answers_total{status=\"2xx\"} 1\n",
        "wigwag_gateway_answers_total{status=\"4xx\"} 1\n",
    ] {
        assert!(page.text().contains(line), "{line}{}", page.text());
    }
}

#[tokio::test]
async fn a_gateway_that_is_up_is_healthy() {
    let service = Service::start().await;
    // A URL of the whole host may end in a slash.
    let bound = service.gateway.listen("http://127.0.0.1:0/").await.unwrap();
    let mut client = Client::connect(bound.rest()).await;
    let answer = client.request("GET /health", "", "").await;
    assert_eq!((answer.status, answer.text()), (200, "{\"status\":\"ok\"}"));
}

/// A router of the program stands beside the actors, and the gateway within one of the program's.
#[tokio::test]
async fn routers_of_axum_go_beside_and_around_the_gateway() {
    use axum::routing::get;
    let own = axum::Router::new().route("/version", get(async || "7"));
    let options = GatewayOptions::default().router(own);
    let service = Service::with(NodeOptions::default(), options).await;
    let mut client = Client::connect(&service.host).await;
    assert_eq!(client.request("GET /version", "", "").await.text(), "7");
    assert_eq!(client.request("POST /desk/ask/add", "", "[1,2]").await.text(), "3");
    assert_eq!(client.request("GET /desk/stream/count?end=1", "", "").await.status, 200);

    let app = axum::Router::new()
        .route("/version", get(async || "8"))
        .nest("/actors", service.gateway.router());
    let (host, server) = serve(app).await;
    let mut client = Client::connect(&host).await;
    assert_eq!(client.request("GET /version", "", "").await.text(), "8");
    assert_eq!(client.request("POST /actors/desk/ask/add", "", "[1,2]").await.text(), "3");
    let upgrade = "upgrade: websocket\r\nconnection: upgrade\r\n";
    let answer = client.request("GET /actors/session", upgrade, "").await;
    assert_eq!((answer.status, answer.code().as_str()), (501, "NoUpgrade"));
    server.abort();
}

/// A server of axum with `app`, and its address.
pub(crate) async fn serve(app: axum::Router) -> (String, JoinHandle<std::io::Result<()>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    (host, tokio::spawn(async move { axum::serve(listener, app).await }))
}

#[tokio::test]
async fn a_mounted_gateway_takes_any_host_unless_some_are_named() {
    let named = GatewayOptions::default().host("shop.example");
    for (options, elsewhere) in [(GatewayOptions::default(), 200), (named, 421)] {
        let service = Service::with(NodeOptions::default(), options).await;
        let (host, server) = serve(service.gateway.router()).await;
        let mut client = Client::connect(&host).await;
        for (name, status) in [("shop.example", 200), ("elsewhere.example", elsewhere)] {
            client.send(format!("GET /desk HTTP/1.1\r\nhost: {name}\r\n\r\n").as_bytes()).await;
            assert_eq!(client.answer(false).await.unwrap().status, status, "{name}");
        }
        server.abort();
    }
}

#[tokio::test]
async fn a_mounted_gateway_that_closes_leaves_open_requests_to_the_server_around_it() {
    let service = Service::start().await;
    let (host, server) = serve(service.gateway.router()).await;
    let mut client = Client::connect(&host).await;
    let request = b"POST /desk/ask/wait HTTP/1.1\r\nhost: localhost\r\nprefer: wait=2\r\n\r\n";
    client.send(request).await;
    // The call is with the actor.
    while service.desk.waiting().ask().await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    assert!(service.gateway.close(Duration::ZERO).await, "nothing is cut");
    let mut other = Client::connect(&host).await;
    assert_eq!(other.request("POST /desk/ask/noted", "", "").await.status, 503);
    let health = other.request("GET /health", "", "").await;
    assert_eq!((health.status, health.text()), (503, "{\"status\":\"closing\"}"));
    assert_eq!(client.answer(false).await.unwrap().status, 504, "its own time ends the request");
    server.abort();
}

#[tokio::test]
async fn a_gateway_within_the_router_of_another_calls_the_actors_of_its_own_node() {
    let within = Service::start().await;
    let router = axum::Router::new().nest("/within", within.gateway.router());
    let options = GatewayOptions::default().router(router);
    let around = Service::with(NodeOptions::default(), options).await;
    within.desk.note(7).tell().await.unwrap();
    around.desk.note(1).tell().await.unwrap();
    let mut client = Client::connect(&around.host).await;
    for _ in 0..2 {
        for (path, noted) in [("/desk", "[1]"), ("/within/desk", "[7]")] {
            let answer = client.request(&format!("POST {path}/ask/noted"), "", "").await;
            assert_eq!(answer.text(), noted, "{path}");
        }
    }
}

/// The gateway and its clients share one thread here.
#[tokio::test]
async fn other_requests_are_answered_while_a_long_openapi_document_is_made() {
    let service = Service::start().await;
    for number in 0..500 {
        service.node.export(&format!("desk-{number}"), &service.desk).unwrap();
    }
    let mut reader = Client::connect(&service.host).await;
    let mut other = Client::connect(&service.host).await;
    let reading = async { reader.request("GET /openapi.json", "", "").await.json() };
    let (mut reading, mut answered) = (pin!(reading), 0);
    let document = loop {
        tokio::select! {
            biased;
            document = &mut reading => break document,
            answer = other.request("GET /health", "", "") => {
                assert_eq!(answer.status, 200);
                answered += 1;
            }
        }
    };
    assert!(document["paths"].as_object().unwrap().len() > 500);
    // Without a thread of its own it takes the time of hundreds of answers, and lets none pass.
    assert!(answered > 20, "{answered} answers");
}
