//! Streams as server-sent events.

use std::time::Duration;

use crate::client::Client;
use crate::service::Service;

const HEAD: &str = " HTTP/1.1\r\nhost: localhost\r\n\r\n";

#[tokio::test]
async fn each_item_is_an_event_and_the_end_is_one_too() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let answer = client.request("GET /desk/stream/count?end=300", "", "").await;
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    let items: String = (0..300).map(|number| format!("data: {number}\n\n")).collect();
    assert_eq!(answer.text(), format!("{items}event: end\ndata: null\n\n"));
    // The connection goes on.
    assert_eq!(client.request("POST /desk/ask/add", "", "[1,2]").await.json(), 3);
}

#[tokio::test]
async fn items_have_their_names_and_the_error_of_a_stream_is_a_problem() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let answer = client.request("GET /desk/stream/states", "", "").await;
    let (items, error) = answer.text().split_once("event: error\ndata: ").unwrap();
    assert_eq!(items, "data: \"Open\"\n\ndata: {\"Sent\":{\"carrier\":\"p\"}}\n\n");
    let problem: serde_json::Value = serde_json::from_str(error.trim()).unwrap();
    assert_eq!(
        (&problem["code"], &problem["detail"]),
        (&"0x8007".into(), &"no more states".into())
    );
}

/// The producer stops when nobody reads, and ends when the client goes.
#[tokio::test]
async fn a_client_that_goes_ends_the_stream() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    let head = format!("GET /desk/stream/count?end=10000000{HEAD}");
    client.send(head.as_bytes()).await;
    client.text_until("data: 5\n\n").await;
    drop(client);
    // The desk is busy with the stream until it ends.
    let noted = service.desk.noted().timeout(Duration::from_secs(10)).ask().await;
    assert_eq!(noted.unwrap(), Vec::<u64>::new());
}

#[tokio::test]
async fn wrong_arguments_are_a_problem() {
    let service = Service::start().await;
    let mut client = Client::connect(&service.host).await;
    for query in ["", "?end=x", "?end=1&more=2"] {
        let answer = client.request(&format!("GET /desk/stream/count{query}"), "", "").await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "BadArguments"), "{query}");
    }
}
