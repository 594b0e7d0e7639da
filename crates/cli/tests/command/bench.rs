//! `wigwag bench`: the verdict, the numbers of a clean run, and every exit code.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::Value;

use crate::process::{Said, run};
use crate::running::Running;

const SCHEMA: &str = include_str!("../../../../docs/schema/bench-1.json");

/// Parses the document of a measurement and checks it against the schema.
fn document(said: &Said) -> Value {
    let document: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{said:?}"));
    let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    assert_eq!(
        wigwag_lab::results::schema::faults_against(&schema, &document),
        [""; 0],
        "{said:?}"
    );
    document
}

/// Maps the number and the body of a request to its replies.
type Reply = fn(u64, &[u8]) -> Vec<Vec<u8>>;

/// Starts a REP peer that sends the replies of `reply`: none, one or more per request. It is written
/// by hand, because no socket of the library misbehaves in this way.
fn bad_rep(reply: Reply) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let place = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream, reply));
        }
    });
    format!("tcp://{place}")
}

fn answer(mut stream: TcpStream, reply: Reply) -> Option<()> {
    stream.write_all(b"\0SP\0\0\x31\0\0").ok()?;
    stream.read_exact(&mut [0; 8]).ok()?;
    for number in 0.. {
        let mut length = [0; 8];
        stream.read_exact(&mut length).ok()?;
        let mut request = vec![0; u64::from_be_bytes(length) as usize];
        stream.read_exact(&mut request).ok()?;
        let (id, body) = request.split_at(4);
        for body in reply(number, body) {
            stream.write_all(&(4 + body.len() as u64).to_be_bytes()).ok()?;
            stream.write_all(&[id, &body].concat()).ok()?;
        }
    }
    None
}

#[test]
fn an_echo_is_measured_and_every_reply_is_verified() {
    let (_rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"");
    let said = run(["bench", "latency", &at, "--count", "1000"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    assert!(said.out.starts_with("verified  1,000 of 1,000 replies right, 0 lost"), "{said:?}");
    assert!(said.out.contains("p99 ") && !said.out.contains("p99.9"), "{said:?}");
    let said = run([
        "bench",
        "latency",
        &at,
        "--count",
        "50",
        "--size",
        "100k",
        "--clients",
        "3",
        "--json",
    ]);
    let found = document(&said);
    assert_eq!((said.code, &found["verified"]["received"]), (Some(0), &50.into()), "{said:?}");
    assert_eq!(
        (&found["sent_bytes"], &found["received_bytes"]),
        (&5_120_000.into(), &5_120_000.into())
    );
    assert_eq!((&found["mode"], &found["round_trip_us"]["p90"]), (&"req".into(), &Value::Null));
    assert!(found["rate"]["overall"].as_f64() > Some(0.0));
}

/// A socket refuses messages above 1 MiB unless it is told otherwise.
#[test]
fn long_messages_are_measured_too() {
    let words = ["rep", "tcp://127.0.0.1:0", "--echo", "--receive-limit", "4m"];
    let (_rep, at) = Running::listening(&words, b"");
    let said = run(["bench", "latency", &at, "--size", "2m", "--count", "3"]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn a_timed_run_has_whole_seconds() {
    let (_rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"");
    let said = run(["bench", "throughput", &at, "--duration", "1200ms", "--json"]);
    let found = document(&said);
    assert_eq!((said.code, &found["mode"], &found["clients"]), (Some(0), &"req".into(), &8.into()));
    assert_eq!(found["rate"]["whole_seconds"], 1, "{said:?}");
}

#[test]
fn a_pair_that_echoes_can_be_measured() {
    for (echo, bench) in [(&[][..], "--pair"), (&["--v0"], "--pair-v0")] {
        let words = [&["pair", "--listen", "tcp://127.0.0.1:0", "--echo"][..], echo].concat();
        let (_pair, at) = Running::listening(&words, b"");
        let said = run(["bench", "latency", &at, bench, "--count", "100", "--json"]);
        assert_eq!((said.code, &document(&said)["mode"]), (Some(0), &"pair".into()), "{said:?}");
    }
}

#[test]
fn the_service_verifies_pushed_messages() {
    let (serve, at) = Running::listening(&["bench", "serve", "tcp://127.0.0.1:0"], b"");
    for clients in ["1", "3"] {
        let words =
            ["bench", "throughput", &at, "--count", "20000", "--clients", clients, "--json"];
        let said = run(words);
        let found = document(&said);
        assert_eq!((said.code, &found["mode"]), (Some(0), &"push".into()), "{said:?}");
        assert_eq!(found["verified"]["received"], 20_000, "{said:?}");
    }
    let folder = std::env::temp_dir().join(format!("wigwag-bench-{}", std::process::id()));
    let path = format!("ipc://{}", folder.display());
    let (_serve, at) = Running::listening(&["bench", "serve", &path], b"");
    let said = run(["bench", "throughput", &at, "--count", "1000", "--clients", "2"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("verified  1,000 of 1,000 messages right"), "{said:?}");
    assert_eq!(run(["bench", "latency", &at, "--count", "10"]).code, Some(0));
    assert_eq!(serve.interrupt().code, Some(130));
}

/// A run with any kind of wrong reply ends with exit code 6 and without numbers.
#[test]
fn a_peer_that_changes_replaces_or_duplicates_replies_gets_no_numbers() {
    let fixed = |_: u64, _: &[u8]| vec![b"pong".to_vec()];
    let one_bit = |number: u64, body: &[u8]| {
        let mut body = body.to_vec();
        let last = body.len() - 1;
        body[last] ^= u8::from(number == 70);
        vec![body]
    };
    let doubles = |number: u64, body: &[u8]| vec![body.to_vec(); if number == 50 { 2 } else { 1 }];
    let cases: [(Reply, &str); 3] =
        [(fixed, "corrupt"), (one_bit, "corrupt"), (doubles, "duplicated")];
    for (peer, what) in cases {
        let said = run(["bench", "latency", &bad_rep(peer), "--count", "100", "--json"]);
        let found = document(&said);
        assert_eq!((said.code, &found["verdict"]), (Some(6), &"void".into()), "{what} {said:?}");
        assert!(found["verified"][what].as_u64() > Some(0), "{what} {said:?}");
        assert_eq!((&found["rate"], &found["round_trip_us"]), (&Value::Null, &Value::Null));
        assert!(said.err.contains("--expect TEXT"), "{said:?}");
    }
}

#[test]
fn missing_replies_are_lost_and_a_peer_that_never_answers_is_exit_4() {
    let stops: Reply = |number, body| if number < 30 { vec![body.to_vec()] } else { Vec::new() };
    let said = run([
        "bench",
        "latency",
        &bad_rep(stops),
        "--count",
        "100",
        "--deadline",
        "200ms",
        "--json",
    ]);
    let found = document(&said);
    assert_eq!((said.code, &found["verified"]["lost"]), (Some(6), &1.into()), "{said:?}");
    assert!(found["trouble"].as_str().unwrap().contains("no reply arrived within 200ms"));
    let never: Reply = |_, _| Vec::new();
    let said = run(["bench", "latency", &bad_rep(never), "--deadline", "100ms"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.out.starts_with("NOT VERIFIED"), "{said:?}");
}

#[test]
fn a_fixed_reply_is_compared_with_the_expected_text() {
    let (_rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "pong"], b"");
    let bench = |words: &[&'static str]| {
        run(["bench", "latency", &at, "--count", "20"].into_iter().chain(words.iter().copied()))
    };
    assert_eq!(bench(&["--expect", "pong"]).code, Some(0));
    assert_eq!(bench(&["--expect", "ping"]).code, Some(6));
    assert_eq!(bench(&[]).code, Some(6));
}

#[test]
fn a_condition_that_holds_is_exit_7_and_prints_the_figure() {
    let (_rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"");
    let bench =
        |gate: &'static str| run(["bench", "latency", &at, "--count", "200", "--fail-if", gate]);
    assert_eq!(bench("p50>1h").code, Some(0));
    let said = bench("rate<1e12");
    assert_eq!(said.code, Some(7), "{said:?}");
    assert!(said.err.starts_with("failed: rate<1e12: it is "), "{said:?}");
    let said = bench("p99>1h");
    assert_eq!(said.code, Some(7), "{said:?}");
    assert!(said.err.contains("no such figure"), "200 samples are too few for it: {said:?}");
    assert_eq!(bench("p98>1h").code, Some(2));
}

#[test]
fn the_other_exit_codes_are_those_of_the_socket_commands() {
    assert_eq!(run(["bench", "latency", "tcp://127.0.0.1:1", "--wait", "0"]).code, Some(3));
    let (_pull, at) = Running::listening(&["pull", "tcp://127.0.0.1:0"], b"");
    assert_eq!(run(["bench", "throughput", &at]).code, Some(5));
    assert_eq!(run(["bench", "latency", &at, "--size", "5"]).code, Some(2));
    assert_eq!(run(["bench", "latency", &at, "--duration", "0"]).code, Some(2));
    assert_eq!(run(["bench", "latency", &at, "--clients", "0"]).code, Some(2));
}

#[test]
fn ctrl_c_still_prints_the_measurement() {
    let (_serve, at) = Running::listening(&["bench", "serve", "tcp://127.0.0.1:0"], b"");
    for kind in ["latency", "throughput"] {
        let bench = Running::start(&["bench", kind, &at, "--duration", "1h", "--json"], b"");
        crate::process::eventually("it handles signals", || {
            crate::process::catches_interrupts(bench.pid())
        });
        let said = bench.interrupt();
        let found = document(&said);
        assert_eq!((said.code, &found["interrupted"]), (Some(130), &true.into()), "{said:?}");
        assert_eq!(found["verified"]["sent"], found["verified"]["received"], "{said:?}");
    }
}
