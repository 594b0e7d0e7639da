//! Command lines and arguments that cannot work, and the hint that says what can.

use std::time::Duration;

use wigwag::{Actor, Message, Node, Responder};

use crate::process::{Said, run};
use crate::running::{Running, with_input};

fn hinted(said: &Said, code: i32, what: &str, hint: &str) {
    assert_eq!(said.code, Some(code), "{said:?}");
    assert!(said.err.contains(&format!("error: {what}")), "{said:?}");
    let line = said.err.lines().find(|line| line.starts_with(" hint: "));
    assert!(line.is_some_and(|line| line.contains(hint)), "{said:?}");
}

#[test]
fn addresses_within_one_process_are_refused_by_every_command() {
    let (at, tcp) = ("inproc://room", "tcp://127.0.0.1:0");
    for words in [
        &["req", at, "hi"][..],
        &["rep", at, "--echo"],
        &["pull", tcp, "--and-dial", at],
        &["device", tcp, at, "--pair", "reqrep"],
        &["bench", "latency", at],
        &["bench", "serve", at],
        &["ask", "inproc://room/sum", "add"],
        &["describe", "inproc://room/sum"],
        &["top", at],
    ] {
        let said = run(words.iter().copied());
        hinted(&said, 2, "inproc:// connects sockets of one process", "use ipc:///tmp/NAME.sock");
    }
}

#[test]
fn a_malformed_address_is_shown_forms_that_the_command_takes() {
    for (at, hint) in [
        ("tcp://127.0.0.1", "write it like tcp://127.0.0.1:7001 or ipc:///run/app.sock"),
        ("gopher://127.0.0.1:1", "use tcp://, ipc://, abstract://, shm://, ws://, tls+tcp://"),
    ] {
        for words in [&["req", at, "hi"][..], &["pull", at], &["ask", &format!("{at}/sum"), "add"]]
        {
            let said = run(words.iter().copied());
            hinted(&said, 2, "", hint);
            assert!(!said.err.contains("inproc"), "{said:?}");
        }
    }
}

#[test]
fn an_ipv6_address_without_brackets_is_shown_with_them() {
    for words in [["req", "tcp://::1:7927", "x"], ["rep", "tcp://::1:7927", "--echo"]] {
        let said = run(words);
        hinted(&said, 2, "the address is malformed", "brackets: tcp://[::1]:7927");
        assert!(said.err.contains("   at: tcp://::1:7927\n"), "{said:?}");
    }
}

#[test]
fn an_address_of_http_is_refused_with_the_address_that_the_command_takes() {
    for words in
        [["ask", "http://127.0.0.1:7080/sum", "add"], ["tell", "https://example.org/sum", "add"]]
    {
        hinted(&run(words), 2, "this command does not speak HTTP", "ws://HOST:PORT/session/NAME");
    }
}

#[test]
fn a_word_for_pull_is_refused_by_its_text() {
    let said = run(["pull", "tcp://127.0.0.1:0", "x"]);
    hinted(&said, 2, "pull takes addresses alone, and not \"x\"", "wigwag push");
}

/// A request above the limit of its peer is refused twice, over two connections.
#[test]
fn a_request_above_the_limit_of_the_peer_is_one_error_and_exit_8() {
    let words = ["rep", "tcp://127.0.0.1:0", "--echo", "--receive-limit", "1k"];
    let (_rep, at) = Running::listening(&words, b"");
    let said = with_input(&["req", &at, "--whole"], &[b'x'; 8000]);
    hinted(&said, 8, "the peer closed the connection", "--receive-limit");
    assert_eq!(said.err.matches("error: ").count(), 1, "{said:?}");
    assert!(said.err.contains("1 request · 0 replies · 1 error"), "{said:?}");
}

#[test]
fn a_reply_above_the_limit_of_the_command_is_one_error_and_exit_8() {
    let (_rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"");
    let said = with_input(&["req", &at, "--whole", "--receive-limit", "1k"], &[b'x'; 8000]);
    hinted(&said, 8, "the reply has at least 8004 bytes", "--receive-limit");
    assert_eq!(said.err.matches("error: ").count(), 1, "{said:?}");
    assert!(said.err.contains("1 request · 0 replies · 1 error"), "{said:?}");
}

#[derive(Message)]
struct Point {
    x: i32,
    y: i32,
}

struct Plane;

#[wigwag::actor]
impl Plane {
    pub fn sum(&self, point: Point) -> i32 {
        point.x.wrapping_add(point.y)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_for_a_struct_is_refused_with_the_form_that_it_has() {
    let node = Node::new();
    node.export("plane", &Plane.spawn()).unwrap();
    let plane = format!("{}/plane", node.listen("tcp://127.0.0.1:0").await.unwrap());
    let asked = tokio::task::spawn_blocking(move || {
        let said = run(["ask", &plane, "sum", r#"{"x": 1, "y": 2}"#]);
        hinted(
            &said,
            2,
            "the method takes other arguments: sum(point: Point)",
            "write a struct as an array of its fields",
        );
        run(["ask", &plane, "sum", "[1, 2]"]).out
    });
    assert_eq!(asked.await.unwrap(), "3\n");
    node.close(Duration::from_secs(5)).await;
}

struct Painter;

#[wigwag::actor]
impl Painter {
    pub fn paint(&self, answer: Responder<()>) {
        answer.fail(7, "\u{1B}[2Jno\r\u{202E}paint");
    }
}

/// The terminal would obey them.
#[tokio::test(flavor = "multi_thread")]
async fn control_characters_in_the_error_of_an_actor_are_not_printed() {
    let node = Node::new();
    node.export("painter", &Painter.spawn()).unwrap();
    let painter = format!("{}/painter", node.listen("tcp://127.0.0.1:0").await.unwrap());
    let asking = tokio::task::spawn_blocking(move || run(["ask", &painter, "paint"]));
    let said = asking.await.unwrap();
    let shown = " [2Jno \u{FFFD}paint";
    hinted(&said, 8, "the actor answers with error 0x8007", "documentation");
    assert!(said.err.contains(shown), "{said:?}");
    node.close(Duration::from_secs(5)).await;
}
