//! Nodes that are closed while a session has no connection.

use wigwag::session::SessionChange;
use wigwag_testkit::relay::{Fault, Relay};

use super::{Counter, DEADLINE, Node, soon};
use wigwag::Actor;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_in_which_all_was_handled_closes_clean_without_a_connection() {
    let service = Node::new();
    service.export("counter", &Counter { total: 0, watched: None }.spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let relay = Relay::to(bound.rest()).await;
    let client = Node::new();
    let mut events = client.session_events();
    let counter = client.actor::<Counter>(&format!("{}/counter", relay.address)).await.unwrap();
    counter.add(1).tell().await.unwrap();
    assert_eq!(counter.total().ask().await.unwrap(), 1);
    soon("the acknowledgement", client.flush()).await.unwrap();

    relay.lead_to("127.0.0.1:1");
    relay.strike(Fault::Reset);
    while !matches!(soon("the cut", events.next()).await.unwrap().what, SessionChange::Cut { .. }) {
    }
    let report = client.close(DEADLINE).await;
    assert_eq!(report.sessions, 1);
    assert!(report.is_clean(), "{report:?}");
}
