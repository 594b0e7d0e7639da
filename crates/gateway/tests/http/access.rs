//! Access control: tokens, permissions, limits, origins and hosts.

use std::os::unix::fs::MetadataExt;

use tokio::net::UnixStream;
use wigwag::NodeOptions;
use wigwag::access::{Access, IdentityLimits, Peers, Principal};
use wigwag_gateway::limits::IDENTITIES_MAX;
use wigwag_gateway::{Gateway, GatewayError, GatewayOptions};

use crate::client::Client;
use crate::service::Service;

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

#[tokio::test]
async fn a_token_is_an_identity_with_its_permissions() {
    let access = Access::new().allow(Principal::key("owner"), "desk").allow_methods(
        Peers::Authenticated,
        "desk",
        ["add", "caller"],
    );
    let options = GatewayOptions::default().token("1234", "owner").token("5678", "guest");
    let service = Service::with(NodeOptions::default().access(access), options).await;
    let mut client = Client::connect(&service.host).await;
    for (token, line, status) in [
        ("1234", "POST /desk/ask/noted", 200),
        ("5678", "POST /desk/ask/noted", 404),
        ("5678", "POST /desk/ask/caller", 200),
        ("5678", "GET /orders/7", 404),
        ("1234", "GET /orders/7", 200),
    ] {
        assert_eq!(client.request(line, &bearer(token), "").await.status, status, "{token} {line}");
    }
    // The scheme is the same in small letters (RFC 9110 11.1).
    let small = "authorization: bearer 1234\r\n";
    assert_eq!(client.request("POST /desk/ask/noted", small, "").await.status, 200);
    for (token, caller) in [("1234", "owner"), ("5678", "guest"), ("1234", "owner")] {
        let answer = client.request("POST /desk/ask/caller", &bearer(token), "").await;
        assert!(answer.text().contains(caller), "{token}: {}", answer.text());
    }
    // A forbidden method is not described, and is answered as one that does not exist.
    let desk = client.request("GET /desk", &bearer("5678"), "").await.json();
    let methods: Vec<&String> = desk["methods"].as_object().unwrap().keys().collect();
    assert_eq!(methods, ["add", "caller"]);
    let hidden = client.request("POST /desk/ask/noted", &bearer("5678"), "").await.json();
    let absent = client.request("POST /desk/ask/absent", &bearer("5678"), "").await.json();
    let detail = |problem: &serde_json::Value| {
        problem["detail"].as_str().unwrap().replace("noted", "absent")
    };
    assert_eq!(detail(&hidden), detail(&absent));
}

#[tokio::test]
async fn without_a_known_token_nothing_is_answered() {
    let options = GatewayOptions::default().token("1234", "owner");
    let service = Service::with(NodeOptions::default(), options).await;
    let mut client = Client::connect(&service.host).await;
    for header in [
        String::new(),
        bearer("123"),
        bearer("12345"),
        bearer(""),
        "authorization: Basic MTIzNDox\r\n".into(),
        "authorization: Bearer\r\n".into(),
        bearer(&"x".repeat(5000)),
    ] {
        for line in
            ["POST /desk/ask/noted", "GET /", "GET /desk", "GET /openapi.json", "GET /metrics"]
        {
            let answer = client.request(line, &header, "").await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (401, "AuthRequired"),
                "{header}{line}"
            );
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
            assert!(!answer.text().contains("1234"));
        }
    }
    assert_eq!(client.request("GET /health", "", "").await.status, 200);
    let open = GatewayOptions::default().token("1234", "owner").allow_anonymous(true);
    let service = Service::with(NodeOptions::default(), open).await;
    let mut client = Client::connect(&service.host).await;
    assert_eq!(client.request("POST /desk/ask/caller", "", "").await.json(), "anonymous");
    assert_eq!(client.request("POST /desk/ask/caller", &bearer("x"), "").await.status, 401);
}

/// Calls of a path, calls of a route and streams count alike.
#[tokio::test]
async fn an_identity_has_its_limits() {
    let limits = IdentityLimits::default().calls_per_second(3).sessions(1);
    let access = Access::new().allow_all_actors(Peers::Any).limit(Principal::key("slow"), limits);
    let options = GatewayOptions::default().token("s", "slow").token("f", "fast");
    let service = Service::with(NodeOptions::default().access(access), options).await;
    let mut client = Client::connect(&service.host).await;
    for (line, body) in [
        ("POST /desk/ask/add", "[1,2]"),
        ("GET /orders/7", ""),
        ("GET /desk/stream/count?end=1", ""),
    ] {
        let mut refused = None;
        for _ in 0..5 {
            let answer = client.request(line, &bearer("s"), body).await;
            if answer.status == 429 {
                refused = Some(answer);
            }
        }
        let refused = refused.expect("five calls at once are more than three in a second");
        assert_eq!(
            (refused.code().as_str(), refused.headers["retry-after"].as_str()),
            ("TooManyRequests", "1"),
            "{line}"
        );
    }
    // Others are not affected; another connection of the same identity is one too many.
    for _ in 0..5 {
        let answer = client.request("POST /desk/ask/add", &bearer("f"), "[1,2]").await;
        assert_eq!(answer.status, 200);
    }
    let mut second = Client::connect(&service.host).await;
    let answer = second.request("GET /", &bearer("s"), "").await;
    assert_eq!((answer.status, answer.code().as_str()), (429, "TooManyRequests"));
    assert_eq!(second.request("GET /", &bearer("f"), "").await.status, 200);
}

/// A proxy that passes on the requests of many users cannot keep the places of all of them.
#[tokio::test]
async fn a_connection_keeps_the_last_of_its_identities_and_forgets_the_oldest() {
    let limits = IdentityLimits::default().sessions(1);
    let access = Access::new().allow_all_actors(Peers::Any).limit(Principal::key("first"), limits);
    let mut options = GatewayOptions::default().token("first", "first");
    for number in 0..IDENTITIES_MAX {
        options = options.token(&format!("token-{number}"), &format!("user-{number}"));
    }
    let service = Service::with(NodeOptions::default().access(access), options).await;
    let (mut proxy, mut other) =
        (Client::connect(&service.host).await, Client::connect(&service.host).await);
    assert_eq!(proxy.request("GET /", &bearer("first"), "").await.status, 200);
    for number in 0..IDENTITIES_MAX {
        assert_eq!(other.request("GET /", &bearer("first"), "").await.status, 429, "{number}");
        let token = bearer(&format!("token-{number}"));
        assert_eq!(proxy.request("GET /", &token, "").await.status, 200);
    }
    assert_eq!(other.request("GET /", &bearer("first"), "").await.status, 200);
}

#[tokio::test]
async fn pages_of_other_origins_call_only_if_they_may() {
    let options = GatewayOptions::default().allow_origin("https://page.example");
    let service = Service::with(NodeOptions::default(), options).await;
    let mut client = Client::connect(&service.host).await;
    for (origin, status) in [
        ("https://page.example", 200),
        ("http://localhost", 200),
        ("https://evil.example", 403),
        ("null", 403),
    ] {
        let header = format!("origin: {origin}\r\n");
        let answer = client.request("POST /desk/ask/add", &header, "[1,2]").await;
        assert_eq!(answer.status, status, "{origin}");
        let allowed = answer.headers.get("access-control-allow-origin").map(String::as_str);
        assert_eq!(allowed, (status == 200).then_some(origin));
        let preflight = format!("{header}access-control-request-method: POST\r\n");
        let answer = client.request("OPTIONS /desk/ask/add", &preflight, "").await;
        assert_eq!(answer.status, if status == 200 { 204 } else { 403 }, "{origin}");
        if status == 200 {
            let methods = "GET, HEAD, POST, PUT, PATCH, DELETE";
            assert_eq!(answer.headers["access-control-allow-methods"], methods);
            assert!(answer.headers["access-control-allow-headers"].contains("authorization"));
        }
    }
    // A page reads errors too, and no cache gives the answer for one page to another.
    let page = "origin: https://page.example\r\n";
    for (header, allowed) in [(page, Some("https://page.example")), ("", None)] {
        let answer = client.request("POST /desk/ask/absent", header, "").await;
        assert_eq!((answer.status, &*answer.headers["vary"]), (404, "origin"), "{header}");
        let named = answer.headers.get("access-control-allow-origin").map(String::as_str);
        assert_eq!(named, allowed, "{header}");
    }
    // The refused calls did nothing.
    let header = "origin: https://evil.example\r\n";
    client.request("POST /desk/tell/note", header, "[1]").await;
    assert_eq!(service.desk.noted().ask().await.unwrap(), Vec::<u64>::new());
}

#[tokio::test]
async fn pages_of_other_origins_may_send_and_read_the_headers_that_are_repeated() {
    let options = GatewayOptions::default()
        .allow_origin("https://page.example")
        .repeat_header("X-Request-Id")
        .repeat_header("x-trace");
    let service = Service::with(NodeOptions::default(), options).await;
    let mut client = Client::connect(&service.host).await;
    let page = "origin: https://page.example\r\n";
    let preflight = format!(
        "{page}access-control-request-method: POST\r\n\
         access-control-request-headers: content-type,x-request-id,x-trace\r\n"
    );
    let answer = client.request("OPTIONS /desk/ask/add", &preflight, "").await;
    assert_eq!(answer.status, 204);
    let sent = "authorization, content-type, prefer, traceparent, x-request-id, x-trace";
    assert_eq!(answer.headers["access-control-allow-headers"], sent);
    let header = format!("{page}x-request-id: 7\r\nx-trace: 8\r\nx-trace: 9\r\n");
    let answer = client.request("POST /desk/ask/add", &header, "[1,2]").await;
    assert_eq!((answer.status, &*answer.headers["x-request-id"]), (200, "7"));
    assert_eq!(answer.headers["x-trace"], "8");
    let read = "retry-after, x-request-id, x-trace";
    assert_eq!(answer.headers["access-control-expose-headers"], read);
}

/// A page whose name leads to this machine since a moment ago (DNS rebinding).
#[tokio::test]
async fn a_name_that_is_not_ours_is_refused_on_loopback() {
    let service = Service::start().await;
    for (host, status) in
        [("localhost", 200), (&*service.host, 200), ("evil.example", 421), ("", 421)]
    {
        let mut client = Client::connect(&service.host).await;
        client.send(format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n").as_bytes()).await;
        assert_eq!(client.answer(false).await.unwrap().status, status, "{host}");
    }
}

/// The identity of a program of this machine is its user, who needs no token.
#[tokio::test]
async fn a_unix_socket_identifies_its_user() {
    let folder = std::env::temp_dir().join(format!("wigwag-gateway-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let token = GatewayOptions::default().token("1234", "owner");
    for (name, options) in [("open", GatewayOptions::default()), ("token", token)] {
        let service = Service::with(NodeOptions::default(), options).await;
        let path = folder.join(name);
        service.gateway.listen(&format!("ipc://{}", path.display())).await.unwrap();
        let owner = std::fs::metadata(&path).unwrap();
        assert_eq!(owner.mode() & 0o777, 0o600);
        let mut client = Client::on(UnixStream::connect(&path).await.unwrap());
        let caller = client.request("POST /desk/ask/caller", "", "").await;
        let user = Principal::User(owner.uid()).to_string();
        assert_eq!((caller.status, caller.json()), (200, user.into()), "{name}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test]
async fn beyond_this_machine_clients_must_be_identified() {
    let service = Service::start().await;
    for (options, is_refused) in [
        (GatewayOptions::default(), true),
        // An eavesdropper would read the token.
        (GatewayOptions::default().token("1234", "owner"), true),
        (GatewayOptions::default().insecure(true), false),
    ] {
        let gateway = Gateway::with(&service.node, options);
        let listening = gateway.listen("http://0.0.0.0:0").await;
        assert_eq!(matches!(listening, Err(GatewayError::Unprotected { .. })), is_refused);
    }
    let error = Gateway::new(&service.node).listen("https://127.0.0.1:0").await.unwrap_err();
    assert!(matches!(error, GatewayError::NoCertificate { .. }), "{error}");
}
