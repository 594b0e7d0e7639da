//! The events for `tracing`: one for each change of a connection.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use wigwag_testkit::ledger::Ledger;
use wigwag_testkit::relay::Fault;

use super::*;
use crate::sessions::cuts::Stage;

/// An event: its target, and its fields by their names.
#[derive(Clone, Debug, Default)]
struct Entry(&'static str, BTreeMap<&'static str, String>);

impl Visit for Entry {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.1.insert(field.name(), format!("{value:?}").trim_matches('"').to_owned());
    }
}

/// Keeps the events of nodes.
#[derive(Clone, Default)]
struct Keeper(Arc<Mutex<Vec<Entry>>>);

impl Keeper {
    /// The events with this message.
    fn with(&self, message: &str) -> Vec<Entry> {
        let entries = self.0.lock().unwrap();
        entries.iter().filter(|entry| entry.1["message"] == message).cloned().collect()
    }
}

impl Subscriber for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("wigwag::") && metadata.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut entry = Entry(event.metadata().target(), BTreeMap::new());
        event.record(&mut entry);
        self.0.lock().unwrap().push(entry);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn each_change_of_a_connection_is_an_event_with_peer_session_and_reason() {
    // Set for this thread alone, on which this whole test runs.
    let keeper = Keeper::default();
    let _kept = tracing::subscriber::set_default(keeper.clone());
    // While there is one subscriber, an event that a test of another thread reaches first is looked up in
    // the subscriber of that thread, which has none, and is off from then on.
    let _another = tracing::Dispatch::new(Keeper::default());
    let stage = Stage::new().await;
    let listener = stage.relay.target();
    let mut stranger = TcpStream::connect(listener.trim_start_matches("tcp://")).await.unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    until(&stage.listener, |metrics| metrics.acceptor.refused.len() == 1).await;

    let address = stage.relay.address.clone();
    let ledger = stage.dialer.actor::<Ledger>(&format!("{address}/ledger")).await.unwrap();
    stage.relay.strike(Fault::Reset);
    until(&stage.dialer, |metrics| session(metrics).counters.resumes == 1).await;
    assert_eq!(ledger.count(1, 0).ask().await.unwrap(), 1);
    let number = session(&stage.dialer.metrics()).session.to_string();
    stage.dialer.close(PATIENCE).await;
    until(&stage.listener, |metrics| metrics.ended.closed == 1).await;

    let refused = keeper.with("a peer was refused");
    assert_eq!((refused.len(), refused[0].0), (1, "wigwag::acceptor"));
    assert!(refused[0].1["peer"].starts_with("tcp://127.0.0.1:"), "{refused:?}");
    assert!(refused[0].1["reason"].contains("HTTP"), "{refused:?}");
    for message in
        ["a session is open", "a session is cut", "a session is resumed", "a session has ended"]
    {
        let entries = keeper.with(message);
        // One of each end, but the listener may learn of the next connection before the cut.
        let least = if message == "a session is cut" { 1 } else { 2 };
        assert!((least..=2).contains(&entries.len()), "{message}: {entries:?}");
        let Entry(target, fields) =
            entries.iter().find(|entry| entry.1["session"] == number).unwrap();
        assert_eq!((*target, fields["peer"].as_str()), ("wigwag::session", &*address));
        let has_reason = matches!(message, "a session is cut" | "a session has ended");
        assert_eq!(fields.get("reason").is_some_and(|reason| !reason.is_empty()), has_reason);
    }
}
