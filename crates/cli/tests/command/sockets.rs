//! Two socket commands that talk to each other, in every protocol and format.

use std::io::Write as _;
use std::net::{Shutdown, TcpStream};

use serde_json::Value;

use crate::process::{Said, run, signal};
use crate::running::{Running, with_input};

const SCHEMA: &str = include_str!("../../../../docs/schema/socket-1.json");

/// Parses a document and checks it against the schema.
pub(crate) fn document(line: &str) -> Value {
    let document: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    assert_eq!(wigwag_lab::results::schema::faults_against(&schema, &document), [""; 0], "{line}");
    document
}

fn ok(said: &Said, out: &str) {
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(0), out, ""), "{said:?}");
}

#[test]
fn a_request_prints_its_reply_and_nothing_else() {
    let (rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"");
    ok(&run(["req", &at, "{\"a\":2}"]), "{\"a\":2}\n");
    ok(&run(["req", &at, "--data", "", "--format", "quoted"]), "\"\"\n");
    ok(&run(["req", &at, "http://is/no/address"]), "http://is/no/address\n");
    let ended = rep.interrupt();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.err.contains("3 requests · 3 replies · 0 errors · 3 peers · p50 "), "{ended:?}");
}

#[test]
fn a_listener_prints_its_address_and_the_peers_that_can_dial() {
    let (rep, at) = Running::listening(&["rep", "tcp://:0", "OK"], b"");
    let port = at.strip_prefix("tcp://[::]:").expect("every address");
    let line = rep.until_err("listening");
    assert!(line.ends_with("REP  (any nanomsg, NNG or mangos REQ can dial)"), "{line}");
    ok(&run(["req", &format!("tcp://:{port}"), "hi"]), "OK\n");
}

#[test]
fn a_request_over_shared_memory_is_answered_by_another_process() {
    let file = std::env::temp_dir().join(format!("wigwag-command-{}.shm", std::process::id()));
    let address = format!("shm://{}", file.display());
    let (rep, at) = Running::listening(&["rep", &address, "--echo"], b"");
    assert_eq!(at, address);
    let line = rep.until_err("listening");
    assert!(line.ends_with("REP  (any wigwag REQ can dial)"), "{line}");
    ok(&run(["req", &address, "hello"]), "hello\n");
    let other = run(["req", &address.replace("shm://", "ipc://"), "hello"]);
    assert_eq!(other.code, Some(3), "{other:?}");
    rep.interrupt();
}

#[test]
fn each_line_is_a_request_and_the_summary_has_percentiles() {
    let (_rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"");
    let said = with_input(&["req", &at], b"one\ntwo\n\nfour");
    assert_eq!((said.code, said.out.as_str()), (Some(0), "one\ntwo\n\nfour\n"), "{said:?}");
    assert!(said.err.starts_with("4 requests · 4 replies · 0 errors · 1 peer · p50 "), "{said:?}");
    let said = with_input(&["req", &at, "--whole", "-q"], b"one\ntwo\n");
    ok(&said, "one\ntwo\n\n");
    let said = with_input(&["req", &at, "--count", "2", "-q"], b"one\ntwo\nthree\n");
    ok(&said, "one\ntwo\n");
    let said = with_input(&["req", &at, "x", "--count", "3", "--interval", "1ms", "-q"], b"");
    ok(&said, "x\nx\nx\n");
}

#[test]
fn a_file_is_sent_whole() {
    let (_rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"");
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let said = run(["req", &at, "--file", file, "--format", "raw"]);
    ok(&said, include_str!("../../Cargo.toml"));
}

#[test]
fn every_format_prints_the_message_in_its_own_form() {
    let (_rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"");
    for (format, printed) in [
        ("line", "{ \"a\": \"\\n\" }\n"),
        ("raw", "{ \"a\": \"\\n\" }"),
        ("quoted", "\"{ \\\"a\\\": \\\"\\\\n\\\" }\"\n"),
        ("hex", "7b202261223a20225c6e22207d\n"),
        ("json", "{\"a\":\"\\n\"}\n"),
    ] {
        ok(&run(["req", &at, "{ \"a\": \"\\n\" }", "--format", format]), printed);
    }
    // A byte string of five bytes begins with 0xc4, which is not UTF-8, and the length.
    let said = with_input(&["req", &at, "hello", "--format", "msgpack"], b"");
    ok(&said, "\u{fffd}\u{5}hello");
}

#[test]
fn a_command_answers_with_the_message_as_its_input() {
    let words =
        ["rep", "tcp://127.0.0.1:0", "--exec", "tr a-z A-Z; echo \" $WIGWAG_SEQ $WIGWAG_PEER\""];
    let (_rep, at) = Running::listening(&words, b"");
    let said = run(["req", &at, "hello"]);
    assert!(said.out.starts_with("HELLO 1 tcp://127.0.0.1:"), "{said:?}");
    assert!(run(["req", &at, "again"]).out.starts_with("AGAIN 2 "));
}

#[test]
fn a_command_that_fails_is_reported_and_gives_no_reply() {
    let (rep, at) =
        Running::listening(&["rep", "tcp://127.0.0.1:0", "--exec", "exit 3", "--count", "1"], b"");
    let said = run(["req", &at, "x", "--deadline", "300ms"]);
    assert_eq!((said.code, said.out.as_str()), (Some(4), ""), "{said:?}");
    assert!(said.err.contains("no reply arrived within 300ms"), "{said:?}");
    let ended = rep.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("exit status: 3") && ended.err.contains("message 1 from tcp://"));
    assert!(ended.err.contains("1 request · 0 replies · 1 error"), "{ended:?}");
}

#[test]
fn a_command_that_takes_too_long_is_killed() {
    let words =
        ["rep", "tcp://127.0.0.1:0", "--exec", "sleep 60", "--deadline", "100ms", "--count", "1"];
    let (rep, at) = Running::listening(&words, b"");
    let _ = run(["req", &at, "x", "--deadline", "500ms"]);
    let ended = rep.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("longer than 100ms"), "{ended:?}");
}

/// The two commands wait for each other, so they end only if both run at once.
#[test]
fn jobs_answer_requests_concurrently() {
    let folder = std::env::temp_dir().join(format!("wigwag-jobs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let exec = format!(
        "cd {}; touch $WIGWAG_SEQ; while [ ! -e 1 ] || [ ! -e 2 ]; do sleep 0.01; done; cat",
        folder.display()
    );
    let words = ["rep", "tcp://127.0.0.1:0", "--exec", &exec, "--jobs", "2", "--count", "2"];
    let (rep, at) = Running::listening(&words, b"");
    let (one, two) =
        (Running::start(&["req", &at, "a"], b""), Running::start(&["req", &at, "b"], b""));
    assert_eq!((one.end().out.as_str(), two.end().out.as_str()), ("a\n", "b\n"));
    let ended = rep.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("2 requests · 2 replies · 0 errors"), "{ended:?}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_publisher_waits_for_its_subscriber_which_filters_topics() {
    let (publisher, at) =
        Running::listening(&["pub", "tcp://127.0.0.1:0"], b"weather. rain\nnews\nweather. sun\n");
    let said = run(["sub", &at, "weather.", "--count", "2", "-q"]);
    ok(&said, "weather. rain\nweather. sun\n");
    let ended = publisher.end();
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.err.contains("3 messages sent · 0 errors · 1 peer"), "{ended:?}");
    let (_publisher, at) = Running::listening(&["pub", "tcp://127.0.0.1:0"], b"a1\nb1\nc1\na2\n");
    ok(&run(["sub", &at, "a", "c", "--count", "3", "-q"]), "a1\nc1\na2\n");
}

#[test]
fn pushed_messages_are_pulled_in_order() {
    let (pull, at) = Running::listening(&["pull", "tcp://127.0.0.1:0", "--count", "500"], b"");
    let lines: String = (0..500).map(|number| format!("job {number}\n")).collect();
    let said = with_input(&["push", &at], lines.as_bytes());
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{said:?}");
    let pulled = pull.end();
    assert_eq!((pulled.code, pulled.out), (Some(0), lines));
}

#[test]
fn pulled_messages_are_passed_to_concurrent_commands() {
    let words =
        ["pull", "tcp://127.0.0.1:0", "--exec", "cat; echo", "--jobs", "4", "--count", "20"];
    let (pull, at) = Running::listening(&words, b"");
    let said = run(["push", &at, "job", "--count", "20"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let pulled = pull.end();
    assert_eq!((pulled.code, pulled.out), (Some(0), "job\n".repeat(20)));
}

#[test]
fn a_survey_prints_every_answer_that_arrives_in_time() {
    let (_one, first) = Running::listening(&["respond", "tcp://127.0.0.1:0", "me"], b"");
    let (_two, second) = Running::listening(&["respond", "tcp://127.0.0.1:0", "and me"], b"");
    let said = run(["survey", &first, &second, "who?", "--deadline", "2s"]);
    let mut answers: Vec<&str> = said.out.lines().collect();
    answers.sort_unstable();
    assert_eq!((said.code, answers), (Some(0), vec!["and me", "me"]), "{:?}", said.err);
    assert!(said.err.contains("1 survey · 2 answers · 0 errors · 2 peers"), "{}", said.err);
}

#[test]
fn a_pair_talks_in_both_directions() {
    for version in [&[][..], &["--v0"]] {
        let words =
            [&["pair", "--listen", "tcp://127.0.0.1:0", "--count", "2"][..], version].concat();
        let (one, at) = Running::listening(&words, b"to the dialer\n");
        let words = [&["pair", &at, "--count", "1", "-q"][..], version].concat();
        ok(&with_input(&words, b"a\nb\n"), "to the dialer\n");
        let one = one.end();
        assert_eq!((one.code, one.out.as_str()), (Some(0), "a\nb\n"), "{one:?}");
    }
}

#[test]
fn bus_and_star_reach_all_peers_and_a_star_forwards() {
    let (bus, at) =
        Running::listening(&["bus", "--listen", "tcp://127.0.0.1:0", "--count", "1"], b"");
    ok(&run(["bus", &at, "hi", "--count", "0"]), "");
    assert_eq!(bus.end().out, "hi\n");
    let (star, at) = Running::listening(&["star", "--listen", "tcp://127.0.0.1:0", "-v"], b"");
    let far = Running::start(&["star", &at, "--count", "1"], b"");
    // The star in the middle must know the far one before it can forward to it.
    star.until_err("connected");
    ok(&run(["star", &at, "hi", "--count", "0"]), "");
    assert_eq!(far.end().out, "hi\n");
}

/// The peer connects, sends and closes while the command is stopped.
#[test]
fn a_message_of_a_peer_that_has_left_is_received() {
    let (bus, at) =
        Running::listening(&["bus", "--listen", "tcp://127.0.0.1:0", "--count", "1"], b"");
    signal(bus.pid(), "STOP");
    let mut peer = TcpStream::connect(at.trim_start_matches("tcp://")).unwrap();
    peer.write_all(b"\0SP\0\0\x70\0\0\0\0\0\0\0\0\0\x02hi").unwrap();
    peer.shutdown(Shutdown::Write).unwrap();
    signal(bus.pid(), "CONT");
    assert_eq!(bus.end().out, "hi\n");
}

#[test]
fn one_socket_listens_and_dials_at_several_addresses() {
    let (_one, first) = Running::listening(&["rep", "tcp://127.0.0.1:0", "one"], b"");
    let (req, at) = Running::listening(
        &["req", &first, "--and-listen", "tcp://127.0.0.1:0", "x", "--interval", "20ms"],
        b"",
    );
    let _two = Running::start(&["rep", "--dial", &at, "two"], b"");
    req.until_out("one");
    req.until_out("two");
    let folder = std::env::temp_dir().join(format!("wigwag-command-{}", std::process::id()));
    let path = format!("ipc://{}", folder.display());
    let (_ipc, at) = Running::listening(&["rep", &path, "over ipc"], b"");
    ok(&run(["req", &at, "x"]), "over ipc\n");
}

#[test]
fn documents_follow_the_schema() {
    let (rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo", "--json"], b"");
    let said = run(["req", &at, "5", "--json"]);
    let reply = document(said.out.trim());
    for (field, value) in
        [("kind", "reply"), ("protocol", "REQ"), ("body", "5"), ("encoding", "utf-8")]
    {
        assert_eq!(reply[field], value, "{reply}");
    }
    assert_eq!((reply["peer"].as_str(), reply["bytes"].as_u64()), (Some(at.as_str()), Some(1)));
    assert!(reply["time_us"].as_f64() > Some(0.0));
    let summary = document(said.err.lines().next_back().unwrap());
    assert_eq!((&summary["sent"], &summary["received"]), (&1.into(), &1.into()));
    let said = with_input(&["req", &at, "--json", "--whole"], b"\xff\0");
    let reply = document(said.out.trim());
    assert_eq!((reply["body"].as_str(), reply["encoding"].as_str()), (Some("ff00"), Some("hex")));
    let ended = rep.interrupt();
    let requests: Vec<Value> = ended.out.lines().map(document).collect();
    assert_eq!((requests.len(), requests[1]["sequence"].as_u64()), (2, Some(2)));
    assert_eq!((&requests[0]["kind"], &requests[0]["time_us"]), (&"request".into(), &Value::Null));
    let summary = document(ended.err.lines().next_back().unwrap());
    assert_eq!(summary["interrupted"], true);
    assert_eq!(summary["time_us"]["samples"], 2, "{summary}");
}
