//! `--exec`: the commands that messages run, and what becomes of their output and failures.

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;

use crate::process::run;
use crate::running::Running;

#[test]
fn the_final_line_end_of_a_reply_is_kept_on_request() {
    for (more, printed) in [(&[][..], "hi\n"), (&["--keep-line-end"], "hi\n\n")] {
        let words = [&["rep", "tcp://127.0.0.1:0", "--exec", "echo hi"][..], more].concat();
        let (_rep, at) = Running::listening(&words, b"");
        assert_eq!(run(["req", &at, "x"]).out, printed, "{more:?}");
    }
}

#[test]
fn a_command_that_fails_is_reported_and_is_exit_1_in_every_role() {
    for (role, partner, more) in [
        ("pull", "push", &[][..]),
        ("pull", "push", &["--jobs", "2"]),
        ("rep", "req", &["--jobs", "2"]),
    ] {
        let words = [role, "tcp://127.0.0.1:0", "--exec", "exit 3", "--count", "1"];
        let (running, at) = Running::listening(&[&words, more].concat(), b"");
        let _ = run([partner, &at, "x", "--deadline", "300ms"]);
        let ended = running.end();
        assert_eq!(ended.code, Some(1), "{role} {more:?}: {ended:?}");
        assert!(ended.err.contains("exit status: 3"), "{role} {more:?}: {ended:?}");
    }
}

#[test]
fn a_command_of_pull_that_takes_too_long_is_killed() {
    let words = ["pull", "tcp://127.0.0.1:0", "--exec", "sleep 600", "--deadline", "2s"];
    let (pull, at) = Running::listening(&[&words[..], &["--count", "1"]].concat(), b"");
    assert_eq!(run(["push", &at, "x"]).code, Some(0));
    let ended = pull.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("longer than 2s"), "{ended:?}");
}

/// With two peers nobody knows which of them has sent a message.
#[test]
fn a_command_has_no_peer_of_an_earlier_command_in_its_environment() {
    let mut rep = Command::new(env!("CARGO_BIN_EXE_wigwag"));
    rep.args(["rep", "tcp://127.0.0.1:0", "-v", "--exec", "echo \"[$WIGWAG_PEER]\""]);
    rep.env("WIGWAG_PEER", "tcp://192.0.2.1:1");
    let rep = Running::of(rep, b"");
    let line = rep.until_err("listening  ");
    let at = line.split_whitespace().nth(1).expect("an address");
    // SPEC: the first eight bytes of a REQ socket.
    let mut other = TcpStream::connect(at.trim_start_matches("tcp://")).expect("it listens");
    other.write_all(b"\0SP\0\0\x30\0\0").expect("it reads");
    rep.until_err("connected");
    let said = run(["req", at, "x"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "[]\n"), "{said:?}");
    drop(other);
}
