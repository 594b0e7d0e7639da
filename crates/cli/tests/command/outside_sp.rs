//! The command against nanocat of nanomsg and nngcat of NNG, with each side in both roles.

use std::io::Write;
use std::net::TcpListener;
use std::process::Command;

use crate::process::{eventually, run};
use crate::running::{Running, with_input};

/// Seconds that the other program waits for a message.
const PATIENCE: &str = "20";

const PROGRAMS: [&str; 2] = ["nanocat", "nngcat"];

/// Runs `test` with each program and an address that was free a moment ago, because the programs
/// cannot report a port that the system chose.
fn each(name: &str, test: impl Fn(&str, &str)) {
    if std::env::var("WIGWAG_OUTSIDE").is_ok_and(|value| value == "1") {
        for program in PROGRAMS {
            eprintln!("{name}: {program}");
            let probe = TcpListener::bind("127.0.0.1:0").expect("a free port");
            let at = format!("tcp://{}", probe.local_addr().expect("bound"));
            drop(probe);
            test(program, &at);
        }
    } else {
        // The harness hides output of a passing test, except what is written directly.
        let written = writeln!(
            std::io::stdout(),
            "not run: set WIGWAG_OUTSIDE=1 to talk to nanocat and nngcat"
        );
        written.expect("standard output");
    }
}

/// Starts the other program, which runs until it is dropped.
fn theirs(program: &str, role: &str, how: &str, at: &str, more: &[&str]) -> Running {
    let mut command = Command::new(program);
    command.args([&format!("--{role}"), how, at]).args(more);
    if !matches!(role, "push" | "pub") {
        command.args(["--quoted", "--recv-timeout", PATIENCE]);
    }
    Running::of(command, b"")
}

#[test]
fn our_req_asks_their_rep_and_their_req_our_rep() {
    each("req and rep", |program, at| {
        let rep = theirs(program, "rep", "--bind", at, &["--data", "answer"]);
        let said = run(["req", at, "question", "--wait", "10s"]);
        assert_eq!((said.code, said.out.as_str()), (Some(0), "answer\n"), "{program} {said:?}");
        rep.until_out("\"question\"");
        drop(rep);
        let (ours, at) =
            Running::listening(&["rep", "tcp://127.0.0.1:0", "--exec", "tr a-z A-Z"], b"");
        let req = theirs(program, "req", "--connect", &at, &["--data", "hello"]);
        req.until_out("\"HELLO\"");
        drop(req);
        assert!(ours.interrupt().err.contains("1 request · 1 reply · 0 errors"));
    });
}

#[test]
fn our_pub_reaches_their_sub_and_their_pub_our_sub() {
    each("pub and sub", |program, at| {
        let words = ["pub", "tcp://127.0.0.1:0", "wind/north", "--interval", "20ms"];
        let (_ours, ours_at) = Running::listening(&words, b"");
        theirs(program, "sub", "--connect", &ours_at, &["--subscribe", "wind"])
            .until_out("\"wind/north\"");
        let _theirs =
            theirs(program, "pub", "--bind", at, &["--data", "wind/west", "--interval", "1"]);
        let said = run(["sub", at, "wind/", "--count", "1", "--wait", "10s", "-q"]);
        assert_eq!((said.code, said.out.as_str()), (Some(0), "wind/west\n"), "{program} {said:?}");
    });
}

#[test]
fn our_push_feeds_their_pull_and_their_push_our_pull() {
    each("push and pull", |program, at| {
        let pull = theirs(program, "pull", "--bind", at, &[]);
        let said = with_input(&["push", at, "--wait", "10s"], b"one\ntwo\n");
        assert_eq!(said.code, Some(0), "{program} {said:?}");
        pull.until_out("\"two\"");
        let (ours, ours_at) = Running::listening(
            &["pull", "tcp://127.0.0.1:0", "--count", "1", "--format", "quoted"],
            b"",
        );
        let _push = theirs(program, "push", "--connect", &ours_at, &["--data", "a\tb"]);
        let said = ours.end();
        assert_eq!((said.code, said.out.as_str()), (Some(0), "\"a\\x09b\"\n"), "{program}");
    });
}

#[test]
fn our_survey_is_answered_by_theirs_and_theirs_by_ours() {
    each("survey and respond", |program, at| {
        let _theirs = theirs(program, "respondent", "--bind", at, &["--data", "me"]);
        let said = run(["survey", at, "who?", "--deadline", "1s", "--wait", "10s"]);
        assert_eq!((said.code, said.out.as_str()), (Some(0), "me\n"), "{program} {said:?}");
        let (_ours, ours_at) = Running::listening(&["respond", "tcp://127.0.0.1:0", "--echo"], b"");
        // Their first survey may be sent before a peer is connected, so it is repeated.
        let more = ["--data", "who?", "--interval", "1"];
        theirs(program, "surveyor", "--connect", &ours_at, &more).until_out("\"who?\"");
    });
}

#[test]
fn our_pair_talks_to_theirs_of_version_0() {
    each("pair", |program, at| {
        let role = if program == "nanocat" { "pair" } else { "pair0" };
        let theirs = theirs(program, role, "--bind", at, &["--data", "theirs", "--interval", "1"]);
        let said = run(["pair", "--v0", at, "ours", "--count", "1", "--wait", "10s", "-q"]);
        assert_eq!((said.code, said.out.as_str()), (Some(0), "theirs\n"), "{program} {said:?}");
        theirs.until_out("\"ours\"");
    });
}

/// The error names the protocol of the peer, and the command that can talk to it.
#[test]
fn the_error_for_their_wrong_protocol_suggests_the_right_command() {
    each("wrong", |program, at| {
        let _pull = theirs(program, "pull", "--bind", at, &[]);
        eventually("it listens", || run(["req", at, "hi", "--wait", "0"]).code != Some(3));
        let said = run(["req", at, "hi"]);
        assert_eq!(said.code, Some(5), "{program} {said:?}");
        assert!(said.err.contains(&format!("wigwag push {at} hi")), "{program} {said:?}");
    });
}

/// Neither program echoes, so the fixed reply is verified.
#[test]
fn their_rep_is_measured_and_every_reply_verified() {
    each("bench", |program, at| {
        let _rep = theirs(program, "rep", "--bind", at, &["--data", "pong"]);
        let words = ["bench", "latency", at, "--expect", "pong", "--count", "500", "--wait", "10s"];
        let said = run(words);
        assert_eq!(said.code, Some(0), "{program} {said:?}");
        assert!(said.out.starts_with("verified  500 of 500 replies right"), "{program} {said:?}");
        eprintln!("{program}\n{}", said.out);
        let said = run([
            "bench",
            "throughput",
            at,
            "--expect",
            "pong",
            "--count",
            "2000",
            "--clients",
            "4",
        ]);
        assert_eq!(said.code, Some(0), "{program} {said:?}");
        let said = run(["bench", "latency", at, "--count", "10"]);
        assert_eq!(said.code, Some(6), "it does not echo: {program} {said:?}");
    });
}
