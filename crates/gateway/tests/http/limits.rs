//! Limits of the gateway for all of its clients together.

use wigwag_gateway::limits::{CARRIERS_MAX, CONNECTIONS_MAX};

use crate::client::Client;
use crate::service::Service;

#[tokio::test]
async fn connections_beyond_the_limit_push_out_the_oldest() {
    let service = Service::start().await;
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let mut client = Client::connect(&service.host).await;
        assert_eq!(client.request("GET /health", "", "").await.status, 200);
        clients.push(client);
    }
    let mut newcomer = Client::connect(&service.host).await;
    assert_eq!(newcomer.request("GET /health", "", "").await.status, 200);
    assert!(clients[0].is_closed().await);
    assert_eq!(clients[1].request("GET /health", "", "").await.status, 200);
}

#[tokio::test]
async fn carriers_beyond_the_limit_push_out_the_oldest() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let mut ids = Vec::new();
    for _ in 0..=CARRIERS_MAX {
        let opened = client.request("POST /session", "", "").await;
        assert_eq!(opened.status, 201);
        ids.push(opened.json()["id"].as_str().unwrap().to_owned());
    }
    // Its own task closes it.
    let first = format!("POST /session/{}?at=0", ids[0]);
    while client.request(&first, "", "").await.status != 410 {
        tokio::task::yield_now().await;
    }
    let last = format!("POST /session/{}?at=0", ids[CARRIERS_MAX]);
    assert_eq!(client.request(&last, "", "").await.status, 204);
}
