//! Sessions over `ws://`.

use wigwag::{Actor, Node, NodeOptions};
use wigwag_testkit::ledger::{Ledger, in_time};

use super::sessions::PATIENCE;
use super::sessions::cuts::{Stage, send_over_cuts};

/// Each connection of the session is upgraded anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_over_ws_loses_nothing_over_cuts() {
    let stage = Stage::over("ws", NodeOptions::default()).await;
    let address = stage.relay.address.replace("tcp://", "ws://");
    send_over_cuts(&stage, &address).await;
}

/// The last segment is the name of the actor, and what is in front of it the path of the listener.
#[tokio::test]
async fn an_actor_is_found_behind_the_path_of_its_node() {
    for path in ["", "/app", "/app/v1"] {
        let (listener, dialer) = (Node::new(), Node::new());
        listener.export("ledger", &Ledger::default().spawn()).unwrap();
        let bound = listener.listen(&format!("ws://127.0.0.1:0{path}")).await.unwrap();
        assert!(bound.to_string().ends_with(path), "{bound}");
        let fetching = async { dialer.actor::<Ledger>(&format!("{bound}/ledger")).await };
        in_time(PATIENCE, fetching).await.unwrap();
        let elsewhere = format!("{bound}/other/ledger");
        let fetching = async { dialer.actor::<Ledger>(&elsewhere).await };
        let refused = in_time(PATIENCE, fetching).await.err().unwrap();
        assert!(refused.to_string().contains("404"), "{refused}");
        assert!(refused.hint().contains("path"), "{}", refused.hint());
    }
}
