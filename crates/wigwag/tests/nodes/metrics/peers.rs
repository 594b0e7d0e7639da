//! Snapshots that other nodes take.

use wigwag::sp::Req;
use wigwag::{Actor, CallErrorKind, NodeError, NodeOptions};

use super::*;
use crate::outcomes::Account;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_observable_hands_out_its_snapshot_and_any_other_looks_like_no_actor() {
    let client = Node::new();
    for is_observable in [true, false] {
        let service = Node::with(NodeOptions::default().observable(is_observable).name("shop"));
        service.export("account", &Account::default().spawn()).unwrap();
        let bound = service.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
        let req = Req::new();
        req.dial(&bound).await.unwrap();
        let asked = req.ask(r#"["/metrics","snapshot"]"#).await.unwrap();
        let asked = String::from_utf8(asked.to_vec()).unwrap();
        match client.peer_metrics(&bound).await {
            Ok(metrics) => {
                assert!(is_observable);
                assert_eq!((metrics.node.as_deref(), metrics.sessions.len()), (Some("shop"), 1));
                // Reserved actors are no exported ones.
                assert_eq!(metrics.actors.len(), 1);
                assert_eq!(actor(&metrics, "account").kind, "Account");
                assert!(asked.starts_with(r#"["ok","{"#), "{asked}");
            }
            Err(error) => {
                assert!(!is_observable);
                assert_eq!(error.call_error(), Some(CallErrorKind::NoSuchActor), "{error:?}");
                assert!(asked.contains("NoSuchActor"), "{asked}");
            }
        }
    }
}

#[tokio::test]
async fn no_actor_can_take_the_place_of_the_observer() {
    let node = Node::new();
    let error = node.export("/metrics", &Account::default().spawn()).unwrap_err();
    assert!(matches!(error, NodeError::BadName { .. }), "{error:?}");
}

/// A reader of another release knows other fields.
#[test]
fn a_snapshot_of_another_release_is_read() {
    let text = r#"{"uptime_ms":7,"weather":"fine","actors":[{"actor":"a","mood":1}]}"#;
    let metrics: Metrics = serde_json::from_str(text).unwrap();
    assert_eq!((metrics.uptime_ms, metrics.actors[0].actor.as_str()), (7, "a"));
    let again: Metrics = serde_json::from_str(&serde_json::to_string(&metrics).unwrap()).unwrap();
    assert_eq!(again, metrics);
}
