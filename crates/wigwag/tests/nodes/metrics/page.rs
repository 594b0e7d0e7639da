//! The page for Prometheus. The parser of `prometheus_client` reads it, if `WIGWAG_OUTSIDE` is set.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use wigwag::limits::METRICS_ROWS_MAX;
use wigwag::{Actor, NodeOptions};

use super::*;
use crate::outcomes::Account;

/// A label with all that a page must escape.
const ODD: &str = "a \"b\" \\ é { , } = #";

/// The samples of a page: each line that is no comment.
fn samples(page: &str) -> Vec<&str> {
    page.lines().filter(|line| !line.starts_with('#')).collect()
}

/// The value of a sample whose name and labels begin so.
fn value(page: &str, start: &str) -> String {
    let found: Vec<_> = samples(page).into_iter().filter(|line| line.starts_with(start)).collect();
    assert_eq!(found.len(), 1, "{start}: {found:?}");
    found[0].rsplit_once(' ').unwrap().1.to_owned()
}

/// A page with actors, a session, and one that has ended.
async fn page() -> String {
    let (service, client) = (Node::new(), Node::with(NodeOptions::default().name("a\\\"b")));
    for name in ["account", ODD] {
        service.export(name, &Account::default().spawn()).unwrap();
    }
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    for client in [Node::new(), client.clone()] {
        let account = client.actor::<Account>(&format!("{bound}/account")).await.unwrap();
        account.add(2).tell().await.unwrap();
        assert!(account.total().ask().await.is_ok());
        if client.metrics().node.is_none() {
            client.close(PATIENCE).await;
        }
    }
    until(&service, |metrics| actor(metrics, "account").remote_asks == 2).await;
    let metrics = until(&service, |metrics| metrics.ended.closed == 1).await;
    assert_eq!(metrics.sessions.len(), 1);
    metrics.to_prometheus()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_has_each_series_once_with_its_value() {
    let page = page().await;
    let series: BTreeSet<_> = samples(&page).iter().map(|it| it.rsplit_once(' ')).collect();
    assert_eq!(series.len(), samples(&page).len());
    let account = r#"{actor="account",kind="Account"}"#;
    assert_eq!(value(&page, &format!("wigwag_actor_remote_asks_total{account}")), "2");
    let odd = r#"wigwag_actor_up{actor="a \"b\" \\ é { , } = #",kind="Account"}"#;
    assert_eq!(value(&page, odd), "1");
    assert!(page.contains(r#"name="a\\\"b",identity="anonymous"} 1"#), "{page}");
    let ended = r#"wigwag_session_frames_received_total{session="ended""#;
    assert_ne!(value(&page, ended), "0");
    assert_eq!(value(&page, r#"wigwag_ended_sessions_total{how="closed"}"#), "1");
}

/// Each sample as `prometheus_client` reads it, in a line of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_parser_reads_the_page_as_it_was_meant() {
    let page = page().await;
    if !std::env::var("WIGWAG_OUTSIDE").is_ok_and(|value| value == "1") {
        let written = writeln!(std::io::stdout(), "not run: set WIGWAG_OUTSIDE=1 to read the page");
        return written.unwrap();
    }
    let python = concat!(env!("CARGO_TARGET_TMPDIR"), "/prometheus/bin/python");
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nodes/metrics/prometheus/parse.py");
    let started =
        Command::new(python).arg(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child =
        started.unwrap_or_else(|error| panic!("{python}: {error}\n hint: cargo xtask test"));
    child.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let read: Vec<(String, String, String, serde_json::Value, f64)> =
        serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(read.len(), samples(&page).len());
    let odd = read.iter().find(|(_, _, name, labels, _)| {
        name == "wigwag_actor_capacity_calls" && labels["actor"] == ODD
    });
    assert_eq!(odd.map(|(kind, .., value)| (kind.as_str(), *value)), Some(("gauge", 1024.0)));
    let is_typed = |(kind, help, name, ..): &(String, String, String, _, _)| {
        kind == if name.ends_with("_total") { "counter" } else { "gauge" } && !help.is_empty()
    };
    assert_eq!(read.iter().find(|sample| !is_typed(sample)), None);
}

#[tokio::test]
async fn actors_beyond_the_limit_are_one_row_with_the_sum() {
    let node = Node::new();
    let account = Account::default().spawn();
    account.add(1).tell().await.unwrap();
    for number in 0..METRICS_ROWS_MAX + 10 {
        node.export(&format!("{number:05}"), &account).unwrap();
    }
    let metrics = until(&node, |metrics| metrics.actors[0].taken == 1).await;
    assert_eq!(metrics.actors.len(), METRICS_ROWS_MAX);
    let others = &metrics.actors[METRICS_ROWS_MAX - 1];
    assert_eq!((others.actor.as_str(), others.taken), ("", 11));
    let page = metrics.to_prometheus();
    let others = r#"wigwag_actor_taken_calls_total{actor="",kind=""}"#;
    assert_eq!(value(&page, others), "11");
}

/// The list in the document is what the page has.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_lists_every_family_with_its_meaning() {
    let page = page().await;
    let document = include_str!("../../../../../docs/observation.md");
    let mut listed: BTreeSet<String> = BTreeSet::new();
    for line in document.lines().filter(|line| line.starts_with("| `wigwag_")) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (name, kind, meaning) = (cells[0].trim_matches('`'), cells[1], cells[3]);
        listed.insert(format!("# HELP {name} {meaning}\n# TYPE {name} {kind}"));
    }
    let lines: Vec<_> = page.lines().filter(|line| line.starts_with('#')).collect();
    let has: BTreeSet<String> = lines.chunks(2).map(|pair| pair.join("\n")).collect();
    assert_eq!(listed, has);
}
