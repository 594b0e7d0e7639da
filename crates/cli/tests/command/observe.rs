//! `wigwag top` and `wigwag metrics`.

use std::time::Duration;

use serde_json::Value;
use wigwag::{Actor, Node, NodeOptions};

use crate::process::{Said, run};
use crate::running::Running;

struct Echo;

#[wigwag::actor]
impl Echo {
    pub fn say(&self, word: String) -> String {
        word
    }
}

/// An observable node, and its address.
async fn node() -> (Node, String) {
    let node = Node::with(NodeOptions::default().name("shop").observable(true));
    node.export("echo", &Echo.spawn()).expect("the name is free");
    let bound = node.listen("tcp://127.0.0.1:0").await.expect("a free port").to_string();
    (node, bound)
}

async fn said(words: &[&str]) -> Said {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let running = move || run(words.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(running).await.expect("the command ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_tables_have_actors_sessions_and_rates_from_the_second_one_on() {
    let (node, bound) = node().await;
    let client = Node::new();
    let echo = client.actor::<Echo>(&format!("{bound}/echo")).await.unwrap();
    let calling =
        tokio::spawn(async move { while echo.say("hello".to_owned()).ask().await.is_ok() {} });
    let top = said(&["top", &bound, "--count", "2", "--interval", "100ms"]).await;
    assert_eq!((top.code, top.err.as_str()), (Some(0), ""), "{top:?}");
    assert!(!top.out.contains('\x1b'), "{}", top.out);
    let tables: Vec<_> = top.out.split("shop at ").skip(1).collect();
    assert_eq!(tables.len(), 2, "{}", top.out);
    let rows = |start: &str| -> Vec<Vec<&str>> {
        let lines = top.out.lines().filter(|line| line.starts_with(start));
        lines
            .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
            .collect()
    };
    let (head, echo) = (rows("ACTOR"), rows("echo"));
    assert_eq!(head[0][..5].join(" "), "ACTOR TYPE WAITING RATE CALLS");
    assert_eq!((echo[0][1], echo[0][3].trim()), ("Echo", "–"));
    assert!(echo[1][3].ends_with("/s") && !echo[1][3].trim().starts_with('0'), "{echo:?}");
    let calls = |row: &[&str]| row[4].trim().parse::<u64>().unwrap();
    assert!(calls(&echo[1]) > calls(&echo[0]), "{echo:?}");
    let peers = rows("tcp://127.0.0.1:");
    // The client and the command, in each table.
    assert_eq!(peers.len(), 4, "{}", top.out);
    assert!(peers.iter().all(|row| row.contains(&"connected")), "{peers:?}");
    calling.abort();
    node.close(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn json_has_a_line_for_each_node_and_snapshot() {
    let ((one, first), (other, second)) = (node().await, node().await);
    let slash = format!("{second}/");
    let top = said(&["top", &first, &slash, "--json", "--count", "2", "--interval", "20ms"]).await;
    assert_eq!((top.code, top.err.as_str()), (Some(0), ""), "{top:?}");
    let lines: Vec<Value> =
        top.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let addresses: Vec<_> = lines.iter().map(|line| line["address"].as_str().unwrap()).collect();
    assert_eq!(addresses, [&first, &slash, &first, &slash]);
    for line in &lines {
        assert_eq!(line["metrics"]["node"], "shop");
        assert_eq!(line["metrics"]["actors"][0]["actor"], "echo");
        assert_eq!(line["metrics"]["sessions"][0]["counters"]["cuts"], 0);
    }
    one.close(Duration::from_secs(5)).await;
    other.close(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_printed_as_a_page() {
    let (node, bound) = node().await;
    let page = said(&["metrics", &bound]).await;
    assert_eq!((page.code, page.err.as_str()), (Some(0), ""), "{page:?}");
    let series = "wigwag_actor_up{actor=\"echo\",kind=\"Echo\"} 1";
    assert!(page.out.lines().any(|line| line == series), "{}", page.out);
    assert!(page.out.ends_with('\n') && !page.out.ends_with("\n\n"));
    node.close(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_is_not_observable_or_not_there_has_an_exit_code() {
    let node = Node::new();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
    for command in ["top", "metrics"] {
        let refused = said(&[command, &bound]).await;
        assert_eq!((refused.code, refused.out.as_str()), (Some(8), ""), "{refused:?}");
        assert!(refused.err.contains("the node is not observable"), "{refused:?}");
        assert!(refused.err.contains("hint: "), "{refused:?}");
        let absent = said(&[command, "tcp://127.0.0.1:9"]).await;
        assert_eq!(absent.code, Some(3), "{absent:?}");
    }
    for wrong in [&["top"][..], &["top", &bound, "--count", "0"], &["metrics", "no address"]] {
        assert_eq!(said(wrong).await.code, Some(2), "{wrong:?}");
    }
    node.close(Duration::from_secs(5)).await;
}

/// A node that was there may come back, so the command goes on, until Ctrl-C.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_goes_is_reported_and_an_interrupt_ends_the_command() {
    let (node, bound) = node().await;
    let words = ["top".to_owned(), bound.clone(), "--interval".to_owned(), "20ms".to_owned()];
    let watching = tokio::task::spawn_blocking(move || {
        let running = Running::start(&words.each_ref().map(String::as_str), b"");
        running.until_out("ACTOR");
        running
    });
    let running = watching.await.unwrap();
    node.close(Duration::from_secs(5)).await;
    drop(node);
    let ended = tokio::task::spawn_blocking(move || {
        running.until_out(&format!("{bound}: "));
        running.interrupt()
    });
    assert_eq!(ended.await.unwrap().code, Some(130));
}
