//! A gateway within a router of the program.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::map_request;
use http_body_util::Limited;
use serde_json::json;
use tokio::net::UnixStream;
use wigwag::NodeOptions;
use wigwag::Reason;
use wigwag::access::{Access, IdentityLimits, Peers, Principal};
use wigwag::lifecycle::Alive;
use wigwag_gateway::GatewayOptions;
use wigwag_gateway::limits::IDENTITIES_MAX;

use crate::client::Client;
use crate::pages::serve;
use crate::service::Service;
use crate::sessions::UPGRADE;

/// Every wait ends almost at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// The requests of all clients come the same way, and each token may be in use at once: a client that
/// had to be known anew would be another connection of its identity, which is one too many here.
#[tokio::test]
async fn a_mounted_gateway_keeps_the_identity_of_each_of_its_tokens() {
    let one = IdentityLimits::default().sessions(1);
    let mut access = Access::new().allow_all_actors(Peers::Any);
    let mut options = GatewayOptions::default();
    for number in 0..2 * IDENTITIES_MAX {
        let name = format!("user-{number}");
        access = access.limit(Principal::key(name.as_str()), one.clone());
        options = options.token(&format!("token-{number}"), &name);
    }
    let service = Service::with(NodeOptions::default().access(access), options).await;
    let (host, server) = serve(service.gateway.router()).await;
    let mut reader = Client::connect(&host).await;
    let bearer = |number: usize| format!("authorization: Bearer token-{number}\r\n");
    // A stream that goes on, for a client that asks for another thing meanwhile.
    let count = format!("GET /desk/stream/count?end={} HTTP/1.1\r\nhost: a\r\n", u64::MAX);
    reader.send(format!("{count}{}\r\n", bearer(0)).as_bytes()).await;
    reader.text_until("data: 0").await;
    let mut client = Client::connect(&host).await;
    for number in (0..2 * IDENTITIES_MAX).chain([0, 1]) {
        let answer = client.request("GET /desk", &bearer(number), "").await;
        assert_eq!(answer.status, 200, "{number}: {}", answer.text());
    }
    server.abort();
}

/// A gateway remembers what its clients have called, and forgets it with the exports.
#[tokio::test]
async fn an_actor_that_was_withdrawn_ends_although_clients_have_called_it() {
    let service = Service::start().await;
    let (host, server) = serve(service.gateway.router()).await;
    let Service { node, desk, gateway: _gateway, host: own } = service;
    let mut clients = [Client::connect(&host).await, Client::connect(&own).await];
    for client in &mut clients {
        for line in ["POST /desk/ask/noted", "GET /orders/7", "GET /desk/stream/count?end=1"] {
            assert_eq!(client.request(line, "", "").await.status, 200, "{line}");
        }
    }
    let handle = desk.handle().unwrap();
    drop(desk);
    node.withdraw("desk");
    for client in &mut clients {
        assert_eq!(client.request("GET /desk", "", "").await.status, 404);
    }
    let ended = tokio::time::timeout(PATIENCE, handle.ended()).await;
    assert_eq!(ended.expect("nobody holds it"), Reason::Normal);
    server.abort();
}

#[tokio::test]
async fn the_document_of_a_nested_gateway_has_the_path_of_its_router() {
    let service = Service::start().await;
    let router = || service.gateway.router();
    // A router within one that is nested itself is a service to axum.
    let within = axum::Router::new().nest_service("/actors", router());
    let (host, server) = serve(axum::Router::new().nest("/api", within)).await;
    let mut client = Client::connect(&host).await;
    let document = client.request("GET /api/actors/openapi.json", "", "").await;
    assert_eq!(document.status, 200);
    assert_eq!(document.json()["servers"], json!([{"url": "/api/actors"}]));
    server.abort();
    let (host, server) = serve(router()).await;
    let mut client = Client::connect(&host).await;
    let document = client.request("GET /openapi.json", "", "").await.json();
    assert_eq!(document.get("servers"), None, "the paths begin at the root of the host");
    server.abort();
}

#[tokio::test]
async fn a_body_beyond_the_limit_of_the_server_around_is_413() {
    let service = Service::start().await;
    let limit = async |request: Request| request.map(|body| Body::new(Limited::new(body, 16)));
    let (host, server) = serve(service.gateway.router().layer(map_request(limit))).await;
    let mut client = Client::connect(&host).await;
    assert_eq!(client.request("POST /desk/ask/add", "", "[1,2]").await.text(), "3");
    let long = format!("[1,{}2]", " ".repeat(16));
    let answer = client.request("POST /desk/ask/add", "", &long).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "TooLarge"), "{}", answer.text());
    server.abort();
}

/// A client has the same identity behind a router of the program as without one.
#[tokio::test]
async fn a_router_beside_the_actors_leaves_each_client_its_connection() {
    let options = GatewayOptions::default().router(axum::Router::new());
    let service = Service::with(NodeOptions::default(), options).await;
    let folder = std::env::temp_dir().join(format!("wigwag-beside-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("http.sock");
    service.gateway.listen(&format!("ipc://{}", path.display())).await.unwrap();
    let owner = std::fs::metadata(&path).unwrap().uid();
    let mut user = Client::on(UnixStream::connect(&path).await.unwrap());
    let caller = user.request("POST /desk/ask/caller", "", "").await;
    assert_eq!(caller.json(), Principal::User(owner).to_string());
    let mut client = Client::connect(&service.host).await;
    client.send(b"GET /desk HTTP/1.1\r\nhost: evil.example\r\n\r\n").await;
    assert_eq!(client.answer(false).await.unwrap().code(), "WrongHost");
    assert_eq!(client.request("GET /session", UPGRADE, "").await.status, 101);
    std::fs::remove_dir_all(folder).unwrap();
}
