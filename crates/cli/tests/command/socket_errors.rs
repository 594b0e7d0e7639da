//! Every failure of a socket command: its exit code, and the three lines of its error.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use crate::process::{Said, Serving, run};
use crate::running::Running;
use crate::sockets::document;

/// Checks that the error on standard error says what happened, where, and how to fix it.
fn failed(said: &Said, code: i32, what: &str) {
    assert_eq!((said.code, said.out.as_str()), (Some(code), ""), "{said:?}");
    let mut lines = said.err.lines().skip_while(|line| !line.starts_with("error: "));
    let mut line = || lines.next().unwrap_or_default();
    let (error, at, hint) = (line(), line(), line());
    assert!(error.contains(what), "{said:?}");
    assert!(at.starts_with("   at: ") && hint.starts_with(" hint: "), "{said:?}");
}

fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    format!("tcp://{}", listener.local_addr().expect("bound"))
}

/// Starts a listener that runs `answer` for each connection, and returns its address.
fn stranger(answer: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let place = listener.local_addr().expect("bound");
    thread::spawn(move || listener.incoming().flatten().for_each(answer));
    format!("tcp://{place}")
}

#[test]
fn a_missing_listener_is_exit_3_with_the_tries_and_the_command_that_starts_one() {
    let at = free_port();
    let said = run(["req", &at, "hi"]);
    failed(&said, 3, "nobody listens there (");
    assert!(said.err.contains(&format!("wigwag rep {at} --echo")), "{said:?}");
    assert!(said.err.contains("--wait 30s"), "{said:?}");
    failed(&run(["sub", &at, "--wait", "0"]), 3, "1 try");
    failed(&run(["push", "ipc:///nowhere/at/all", "x", "--wait", "0"]), 3, "nobody listens");
}

#[test]
fn a_dialer_waits_for_its_peer_up_to_the_given_time() {
    let at = free_port();
    let req = Running::start(&["req", &at, "hi", "--wait", "10s"], b"");
    let _rep = Running::listening(&["rep", &at, "late"], b"");
    let said = req.end();
    assert_eq!((said.code, said.out.as_str()), (Some(0), "late\n"), "{said:?}");
}

#[test]
fn an_address_in_use_is_exit_3() {
    let (_rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"");
    failed(&run(["pull", &at]), 3, "in use");
}

#[test]
fn an_address_that_cannot_be_bound_is_exit_3_with_the_remedy() {
    const PATH: &str = "ipc:///no/such/directory/socket";
    for words in [
        &["rep", PATH, "--echo"][..],
        &["pull", PATH],
        &["pub", PATH, "x"],
        &["respond", PATH, "--echo"],
        &["req", "--listen", PATH, "x"],
        &["device", PATH, "tcp://127.0.0.1:1", "--pair", "reqrep"],
        &["bench", "serve", PATH],
    ] {
        let said = run(words.iter().copied());
        failed(&said, 3, "its directory does not exist");
        assert!(said.err.contains("make the directory first"), "{said:?}");
        assert!(!said.err.contains("start the peer"), "{said:?}");
    }
    // RFC 5737 reserves this network for documentation, so no machine has an address in it.
    let said = run(["rep", "tcp://192.0.2.1:7000", "--echo"]);
    failed(&said, 3, "no interface of this machine has that address");
    assert!(said.err.contains("tcp://:PORT"), "{said:?}");
}

#[test]
fn a_node_at_the_address_is_exit_5_with_the_command_that_asks_an_actor() {
    let serving = Serving::start();
    let at = serving.address.as_str();
    for words in [&["bus", at, "hi"][..], &["pair", "--v0", at, "hi"]] {
        let said = run(words.iter().copied());
        failed(&said, 5, "peer is a wigwag node");
        let ask = format!(" hint: wigwag ask {at}/NAME METHOD ARGUMENTS ");
        assert!(said.err.contains(&ask), "{said:?}");
    }
    let asked = run(["ask", &serving.actor("sum"), "add", "2", "3"]);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "5\n"), "the node goes on");
    // It is the partner of a req.
    let asked = run(["req", at, r#"["sum","add",2,3]"#]);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "[\"ok\",5]\n"), "{asked:?}");
}

/// RFC sp-tcp-mapping-01: the header names the protocol; PULL is 0x51.
#[test]
fn a_peer_of_the_wrong_protocol_is_exit_5_with_the_command_that_talks_to_it() {
    let (_pull, at) = Running::listening(&["pull", "tcp://127.0.0.1:0"], b"");
    let said = run(["req", &at, "hi"]);
    failed(&said, 5, "peer is a PULL socket, REQ can only talk to REP");
    assert!(said.err.contains(&format!("{at} (SP header 00 53 50 00 00 51 00 00)")), "{said:?}");
    let line = said.err.lines().find(|line| line.starts_with(" hint: ")).unwrap();
    assert_eq!(line, format!(" hint: wigwag push {at} hi        (or start the peer as REP)"));
    // The suggested command works.
    let words: Vec<&str> = line.split_whitespace().skip(2).take(3).collect();
    assert_eq!(run(words).code, Some(0));
}

#[test]
fn a_peer_that_does_not_speak_sp_is_exit_5() {
    let web = stranger(|mut stream| {
        let _ = stream.read(&mut [0; 8]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    failed(&run(["req", &web, "hi"]), 5, "HTTP");
}

#[test]
fn a_connection_with_the_wrong_protocol_is_reported_at_once() {
    let (rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo", "--json"], b"");
    assert_eq!(run(["push", &at, "x"]).code, Some(5));
    let line = rep.until_err("refused  ");
    assert!(line.contains("PUSH") && line.contains("REP"), "{line}");
    let ended = rep.interrupt();
    let summary = document(ended.err.lines().next_back().unwrap());
    assert_eq!(summary["handshakes_failed"], 1, "{summary}");
    let (push, at) =
        Running::listening(&["push", "--listen", "tcp://127.0.0.1:0", "x", "--wait", "2s"], b"");
    assert_eq!(run(["req", &at, "x"]).code, Some(5));
    failed(&push.end(), 5, "except a refused one");
}

#[test]
fn a_missing_reply_answer_message_or_peer_is_exit_4() {
    let silent = stranger(|mut stream| {
        let _ = stream.write_all(b"\0SP\0\0\x31\0\0");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    failed(&run(["req", &silent, "hi", "--deadline", "100ms"]), 4, "no reply arrived within 100ms");
    let (_respond, at) =
        Running::listening(&["respond", "tcp://127.0.0.1:0", "--exec", "exit 1"], b"");
    let said = run(["survey", &at, "who?", "--deadline", "200ms"]);
    failed(&said, 4, "no answer arrived within 200ms");
    failed(&run(["pull", "tcp://127.0.0.1:0", "--deadline", "50ms"]), 4, "no message arrived");
    let said = run(["push", "--listen", "tcp://127.0.0.1:0", "x", "--wait", "50ms"]);
    failed(&said, 4, "no peer connected within 50ms");
}

#[test]
fn a_peer_that_disconnects_is_reported() {
    let (rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"");
    let req = Running::start(&["req", &at, "x", "--interval", "10ms", "--deadline", "500ms"], b"");
    req.until_out("x");
    drop(rep);
    let line = req.until_err("no peer  ");
    assert!(line.contains(&at) && line.contains("nobody listens there"), "{line}");
    req.until_err("no reply arrived within 500ms, and no peer is connected");
    let ended = req.interrupt();
    assert_eq!(ended.code, Some(130), "{ended:?}");
}

#[test]
fn an_invalid_command_line_is_exit_2() {
    for (words, what) in [
        (&["req", "hello"][..], "begins with a scheme"),
        (&["req", "gopher://127.0.0.1:1", "x"], "no transport"),
        (&["req", "tcp://127.0.0.1", "x"], "a port"),
        (&["req", "tcp://127.0.0.1:1", "a", "b"], "2 words"),
        (&["req", "tcp://127.0.0.1:1", "a", "--data", "b"], "what to send"),
        (&["req", "tcp://127.0.0.1:1", "--file", "/nowhere/at/all"], "cannot be read"),
        (&["rep", "tcp://127.0.0.1:0"], "how to answer"),
        (&["rep", "tcp://127.0.0.1:0", "x", "--echo"], "how to answer"),
        (&["pull", "tcp://127.0.0.1:0", "topic"], "not \"topic\""),
    ] {
        failed(&run(words.iter().copied()), 2, what);
    }
    for words in [
        &["req"][..],
        &["req", "tcp://127.0.0.1:1", "x", "--deadline", "soon"],
        &["rep", "tcp://127.0.0.1:0", "--listen", "--dial", "--echo"],
        &["pull", "tcp://127.0.0.1:0", "--jobs", "2"],
        &["sub", "tcp://127.0.0.1:0", "--json", "--format", "hex"],
    ] {
        assert_eq!(run(words.iter().copied()).code, Some(2), "{words:?}");
    }
}

#[test]
fn a_message_above_the_receive_limit_is_reported_and_is_exit_8() {
    const LIMIT: [&str; 5] = ["tcp://127.0.0.1:0", "--receive-limit", "16", "--count", "1"];
    let long = "far more than sixteen bytes";
    for (role, partner, count) in [
        ("pull", "push", "1 message received · 1 error"),
        ("rep", "req", "1 request · 1 reply · 1 error"),
    ] {
        let mut words = vec![role];
        words.extend(LIMIT);
        words.extend((role == "rep").then_some("--echo"));
        let (receiver, at) = Running::listening(&words, b"");
        let sender = Running::start(&[partner, &at, long, "--deadline", "10s"], b"");
        let line = receiver.until_err("closed  ");
        assert!(line.contains("16"), "{line}");
        drop(sender);
        assert_eq!(run([partner, &at, "short"]).code, Some(0));
        let ended = receiver.end();
        assert_eq!(ended.code, Some(8), "{ended:?}");
        assert!(ended.err.contains(count), "{ended:?}");
    }
}

#[test]
fn a_push_of_one_message_that_is_too_long_for_its_peer_is_exit_8() {
    let path = std::env::temp_dir().join(format!("wigwag-too-long-{}", std::process::id()));
    let ipc = format!("ipc://{}", path.display());
    // On ipc the kernel tells the sender only if a part of the message was not read.
    for (listens, dials, bytes) in [
        ("pull", "push", 2_000),
        ("push", "pull", 2_000),
        ("pull", "push", 1 << 20),
        ("push", "pull", 1 << 20),
    ] {
        let address = if bytes > 2_000 { &ipc } else { "tcp://127.0.0.1:0" };
        let words = |role: &'static str, address| match role {
            "push" => vec!["push", "--listen", address, "--whole"],
            _ => vec!["pull", "--listen", address, "--receive-limit", "1k"],
        };
        let body = vec![b'x'; bytes];
        // Only push reads its input.
        let input = |role| if role == "push" { &body[..] } else { b"" };
        let (first, at) = Running::listening(&words(listens, address), input(listens));
        let mut second = words(dials, &at);
        second[1] = "--dial";
        let second = Running::start(&second, input(dials));
        let (push, pull) = if listens == "push" { (first, second) } else { (second, first) };
        let ended = push.end();
        assert_eq!(ended.code, Some(8), "{address}: {ended:?}");
        let what = format!(
            "error: the peer closed the connection when it was sent a message of {bytes} bytes"
        );
        assert!(ended.err.contains(&what), "{address}: {ended:?}");
        assert!(ended.err.contains("--receive-limit"), "{address}: {ended:?}");
        assert!(ended.err.contains("1 message sent · 1 error"), "{address}: {ended:?}");
        pull.until_err("closed  ");
    }
}

#[test]
fn a_quiet_command_still_reports_a_refused_message() {
    let words = ["push", "--listen", "tcp://127.0.0.1:0", "far more than sixteen bytes"];
    let (_push, at) = Running::listening(&words, b"");
    let pull = Running::start(&["pull", "--dial", &at, "--receive-limit", "16", "-q"], b"");
    let line = pull.until_err("closed  ");
    assert!(line.contains("the limit is 16"), "{line}");
    assert_eq!(pull.interrupt().err.lines().count(), 1, "nothing else is printed");
}

/// The start of a command needs some descriptors for itself.
#[test]
fn a_command_without_descriptors_says_which_limit_to_raise() {
    let mut shell = Command::new("sh");
    let wigwag = env!("CARGO_BIN_EXE_wigwag");
    shell.args(["-c", &format!("ulimit -n 5; exec {wigwag} rep tcp://127.0.0.1:0 --echo")]);
    let said = Running::of(shell, b"").end();
    failed(&said, 1, "Too many open files");
    assert!(said.err.contains("ulimit -n"), "{said:?}");
}
