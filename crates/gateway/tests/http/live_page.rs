//! The live page: its files, and for whom its snapshots are.

use std::time::Duration;

use serde_json::Value;
use wigwag::access::{Access, IdentityLimits, Peers, Principal};
use wigwag::{CallErrorKind, Node, NodeError, NodeOptions};
use wigwag_gateway::GatewayOptions;
use wigwag_gateway::limits::WATCHERS_MAX;

use crate::client::Client;
use crate::service::Service;

const FILES: [(&str, &str); 4] = [
    ("/ui/", "text/html; charset=utf-8"),
    ("/ui/page.js", "text/javascript; charset=utf-8"),
    ("/ui/page.css", "text/css; charset=utf-8"),
    ("/ui/icon.svg", "image/svg+xml"),
];

fn page() -> GatewayOptions {
    GatewayOptions::default().live_page(true)
}

fn observable() -> NodeOptions {
    NodeOptions::default().observable(true)
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

/// A request whose answer goes on.
async fn watch(host: &str) -> Client {
    let mut client = Client::connect(host).await;
    client.send(b"GET /ui/events HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    client
}

/// The snapshots that have come as a whole.
fn snapshots(text: &str) -> Vec<Value> {
    let (whole, _) = text.rsplit_once("\n\n").unwrap();
    let data = whole.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|json| serde_json::from_str(json).unwrap()).collect()
}

#[tokio::test]
async fn nothing_of_the_page_is_served_unless_it_was_asked_for() {
    let service = Service::with(observable(), GatewayOptions::default()).await;
    let mut client = Client::connect(&service.host).await;
    for path in ["/ui", "/ui/events"].into_iter().chain(FILES.map(|(path, _)| path)) {
        // Without a body, since that of the events would have no end.
        let answer = client.request(&format!("HEAD {path}"), "", "").await;
        assert_eq!(answer.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere_and_runs_no_script_of_its_text() {
    let service = Service::with(observable(), page()).await;
    let mut client = Client::connect(&service.host).await;
    for (path, kind) in FILES {
        let answer = client.request(&format!("GET {path}"), "", "").await;
        assert_eq!((answer.status, &*answer.headers["content-type"]), (200, kind), "{path}");
        let policy = &answer.headers["content-security-policy"];
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cache-control", "no-cache"),
        ] {
            assert_eq!(answer.headers[name], value, "{path}");
        }
        assert!(!answer.body.is_empty());
        let head = client.request(&format!("HEAD {path}"), "", "").await;
        assert_eq!(head.headers["content-length"], answer.body.len().to_string());
    }
    let html = client.request("GET /ui/", "", "").await;
    assert!(!html.text().contains("://"), "{}", html.text());
    let scripts = html.text().matches("<script").count();
    assert_eq!(scripts, html.text().matches("<script type=\"module\" src=\"page.js\">").count());
    let moved = client.request("GET /ui", "", "").await;
    assert_eq!((moved.status, &*moved.headers["location"]), (308, "ui/"));
    assert_eq!(client.request("GET /ui/other.js", "", "").await.code(), "NotFound");
    for path in ["/ui", "/ui/", "/ui/events"] {
        let answer = client.request(&format!("POST {path}"), "", "[]").await;
        assert_eq!((answer.status, &*answer.headers["allow"]), (405, "GET, HEAD"), "{path}");
    }
}

#[tokio::test]
async fn a_snapshot_comes_each_second() {
    let service = Service::with(observable().name("shop"), page()).await;
    let mut client = watch(&service.host).await;
    let first = client.text_until("}\n\n").await;
    assert!(first.contains("content-type: text/event-stream\r\n"), "{first}");
    assert!(first.contains("cache-control: no-store\r\n"), "{first}");
    assert!(first.contains("x-content-type-options: nosniff\r\n"), "{first}");
    for _ in 0..3 {
        assert_eq!(service.desk.add(1, 2).ask().await.unwrap(), 3);
    }
    client.text_until("\"taken\":3").await;
    assert_eq!(service.desk.add(1, 2).ask().await.unwrap(), 3);
    let text = client.text_until("\"taken\":4").await;
    let seen = snapshots(&text);
    assert_eq!(seen[0]["node"], "shop");
    assert_eq!(seen[0]["actors"][0]["actor"], "desk");
    assert_eq!(seen[0]["actors"][0]["taken"], 0);
    assert_eq!(seen[1]["actors"][0]["taken"], 3);
    let times: Vec<u64> = seen.iter().map(|one| one["uptime_ms"].as_u64().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[1] >= pair[0] + 500), "{times:?}");
}

/// The page sees what `wigwag top` sees as the same client, or nothing.
#[tokio::test]
async fn snapshots_are_for_clients_that_may_ask_the_node_for_them() {
    let desk = || Access::new().allow(Peers::Any, "desk");
    for (node, is_seen) in [
        (NodeOptions::default(), false),
        (observable(), true),
        (observable().access(desk()), false),
        (observable().access(desk().allow(Peers::Any, "/metrics")), true),
        (observable().access(desk().allow_methods(Peers::Any, "/metrics", ["snapshot"])), true),
        (observable().access(desk().allow_methods(Peers::Any, "/metrics", ["other"])), false),
    ] {
        let service = Service::with(node, page()).await;
        let bound = service.node.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
        let fetched = Node::new().peer_metrics(&bound).await;
        match &fetched {
            Ok(_) => assert!(is_seen),
            Err(NodeError::Call(error)) => {
                use CallErrorKind::{NoSuchActor, NoSuchMethod};
                assert!(matches!(error.kind, NoSuchActor | NoSuchMethod) && !is_seen, "{error}");
            }
            Err(error) => panic!("{error}"),
        }
        let mut client = watch(&service.host).await;
        match is_seen {
            true => drop(client.text_until("data: {\"node\":").await),
            false => {
                let answer = client.answer(false).await.unwrap();
                assert_eq!((answer.status, &*answer.code()), (404, "NotFound"));
                assert!(!answer.text().contains("desk"), "{}", answer.text());
            }
        }
    }
}

#[tokio::test]
async fn the_files_need_no_token_and_the_snapshots_do() {
    let limits = IdentityLimits::default().calls_per_second(1);
    let access = Access::new()
        .allow(Principal::key("owner"), "/metrics")
        .allow(Peers::Authenticated, "desk")
        .limit(Principal::key("owner"), limits);
    let options = page().token("1234", "owner").token("5678", "guest");
    let service = Service::with(observable().access(access), options).await;
    let mut client = Client::connect(&service.host).await;
    for (path, _) in FILES {
        let answer = client.request(&format!("GET {path}"), "", "").await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(!answer.body.windows(4).any(|bytes| bytes == b"1234" || bytes == b"desk"));
    }
    for (headers, path, status) in [
        (String::new(), "/ui/events", 401),
        (bearer("4321"), "/ui/events", 401),
        // Sessions alone take a token from the address, where logs show it.
        (String::new(), "/ui/events?access_token=1234", 401),
        (bearer("5678"), "/ui/events", 404),
    ] {
        let answer = client.request(&format!("HEAD {path}"), &headers, "").await;
        assert_eq!(answer.status, status, "{headers}{path}");
    }
    let request = "GET /ui/events HTTP/1.1\r\nhost: localhost\r\n".to_owned() + &bearer("1234");
    client.send(format!("{request}\r\n").as_bytes()).await;
    client.text_until("data: {\"node\":").await;
    // To begin to watch is a call, for which the identity has a limit.
    let mut second = Client::connect(&service.host).await;
    let answer = second.request("HEAD /ui/events", &bearer("1234"), "").await;
    assert_eq!(answer.status, 429);
}

#[tokio::test]
async fn pages_beyond_the_limit_are_refused_until_one_leaves() {
    let service = Service::with(observable(), page()).await;
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS_MAX {
        let mut client = watch(&service.host).await;
        client.text_until("data: {").await;
        watchers.push(client);
    }
    let mut newcomer = Client::connect(&service.host).await;
    assert_eq!(newcomer.request("HEAD /ui/events", "", "").await.status, 503);
    let answer = newcomer.request("GET /ui/events", "", "").await;
    assert_eq!((answer.status, &*answer.code()), (503, "Overloaded"));
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(answer.json()["fault"], "service");
    // Calls go on.
    assert_eq!(newcomer.request("POST /desk/ask/add", "", "[1,2]").await.text(), "3");
    watchers.pop();
    // The server sees its end when it next writes.
    loop {
        let head = newcomer.request("HEAD /ui/events", "", "").await;
        if head.status == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn other_hosts_and_origins_get_nothing_of_the_page() {
    let service = Service::with(observable(), page()).await;
    for path in ["/ui", "/ui/", "/ui/page.js", "/ui/events"] {
        let mut client = Client::connect(&service.host).await;
        let request = format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\n\r\n");
        client.send(request.as_bytes()).await;
        assert_eq!(client.answer(false).await.unwrap().code(), "WrongHost", "{path}");
        let origin = "origin: https://evil.example\r\n";
        let answer = client.request(&format!("GET {path}"), origin, "").await;
        assert_eq!((answer.status, &*answer.code()), (403, "WrongOrigin"), "{path}");
    }
}

#[tokio::test]
async fn a_gateway_that_closes_ends_the_snapshots_with_a_problem() {
    let service = Service::with(observable(), page()).await;
    let mut client = watch(&service.host).await;
    client.text_until("data: {").await;
    let (is_done, text) = tokio::join!(
        service.gateway.close(Duration::from_secs(30)),
        client.text_until("event: error\ndata: {"),
    );
    assert!(is_done && text.contains("closing"), "{text}");
}

/// Addresses within the page build on that of the page, wherever it is.
#[tokio::test]
async fn the_page_goes_with_the_router_into_another_server() {
    let service = Service::with(observable(), page()).await;
    let app = axum::Router::new().nest("/actors", service.gateway.router());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let server = tokio::spawn(async move { axum::serve(listener, app).await });
    let mut client = Client::connect(&host).await;
    assert_eq!(client.request("GET /actors/ui", "", "").await.headers["location"], "ui/");
    assert_eq!(client.request("GET /actors/ui/page.js", "", "").await.status, 200);
    server.abort();
}
