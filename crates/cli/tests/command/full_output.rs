//! Results that cannot be written: `/dev/full` refuses every write.

use std::process::{Command, Stdio};

use crate::process::{Said, Serving};
use crate::running::Running;

/// Runs a command line of the shell with `wigwag` in front and a full standard output.
fn on_full_output(words: &str) -> Said {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec {} {words} > /dev/full", env!("CARGO_BIN_EXE_wigwag"))]);
    shell.stdin(Stdio::null());
    Running::of(shell, b"").end()
}

fn says_so(said: &Said, words: &str) {
    assert_eq!(said.code, Some(9), "{words}: {said:?}");
    let what = "error: a result cannot be written: No space left on device";
    assert_eq!(said.err.matches(what).count(), 1, "{words}: {said:?}");
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let serving = Serving::start();
    let (node, sum) = (&serving.address, serving.actor("sum"));
    for words in [
        format!("ask {sum} add 2 3"),
        format!("describe {sum}"),
        format!("describe {sum} --json"),
        format!("describe {node}"),
        format!("metrics {node}"),
        format!("top {node} --count 1"),
        "completions bash".to_owned(),
        "--help".to_owned(),
        "--version".to_owned(),
        "req --help".to_owned(),
        "man".to_owned(),
    ] {
        says_so(&on_full_output(&words), &words);
    }
}

/// A text of the parser is a result too, and a closed pipe no error.
#[test]
fn help_to_a_reader_that_has_gone_ends_silently() {
    let mut shell = Command::new("sh");
    let wigwag = env!("CARGO_BIN_EXE_wigwag");
    shell.args(["-c", &format!("{{ {wigwag} --help; echo $? >&2; }} | true")]);
    let said = Running::of(shell, b"").end();
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", "0\n"));
}

#[test]
fn a_message_that_cannot_be_written_is_an_error_of_the_session() {
    let (_rep, at) = Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"");
    let words = format!("req {at} hello");
    let said = on_full_output(&words);
    says_so(&said, &words);
    assert!(said.err.contains("1 reply · 1 error"), "{said:?}");

    let (_push, at) =
        Running::listening(&["push", "--listen", "tcp://127.0.0.1:0", "x", "--count", "1"], b"");
    let words = format!("pull --dial {at} --exec 'echo done' --jobs 2 --count 1");
    says_so(&on_full_output(&words), &words);
}
