//! Environment variables for options, and the precedence of the command line.

use std::process::Command;

use crate::process::Said;
use crate::running::Running;
use crate::sockets::document;

/// Runs a command with these variables until it ends.
fn run(variables: &[(&str, &str)], words: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wigwag"));
    command.args(words).envs(variables.iter().copied());
    Running::of(command, b"").end()
}

fn echo() -> (Running, String) {
    Running::listening(&["rep", "tcp://127.0.0.1:0", "--echo"], b"")
}

#[test]
fn a_variable_sets_its_option_and_the_command_line_has_precedence() {
    let (_rep, at) = echo();
    let hex = [("WIGWAG_FORMAT", "hex"), ("WIGWAG_COUNT", "2"), ("WIGWAG_INTERVAL", "1ms")];
    let said = run(&hex, &["req", &at, "AB", "-q"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "4142\n4142\n"), "{said:?}");
    let said = run(&hex, &["req", &at, "AB", "-q", "--format", "line", "--count", "1"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "AB\n"), "{said:?}");
    // An empty variable is ignored.
    let said = run(&[("WIGWAG_FORMAT", "")], &["req", &at, "AB"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "AB\n"), "{said:?}");
    let said = run(&[("WIGWAG_WAIT", "10ms")], &["req", "tcp://127.0.0.1:1", "x"]);
    assert_eq!(said.code, Some(3), "{said:?}");
}

#[test]
fn a_switch_is_1_or_0_and_yields_to_a_conflicting_option() {
    let (_rep, at) = echo();
    let said = run(&[("WIGWAG_JSON", "1")], &["req", &at, "x"]);
    let reply = document(said.out.trim_end());
    assert_eq!((said.code, reply["body"].as_str()), (Some(0), Some("x")), "{said:?}");
    for (value, format) in [("0", "line"), ("1", "line")] {
        let said = run(&[("WIGWAG_JSON", value)], &["req", &at, "x", "--format", format]);
        assert_eq!((said.code, said.out.as_str()), (Some(0), "x\n"), "{said:?}");
    }
    let said = run(&[("WIGWAG_QUIET", "yes")], &["req", &at, "x", "-v"]);
    assert!(said.err.contains("connected"), "{said:?}");
    let said = run(&[("WIGWAG_LISTEN", "1")], &["req", "--dial", &at, "x"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "x\n"), "{said:?}");
    // A variable whose option requires another option has no effect without it.
    let said = run(&[("WIGWAG_JOBS", "4"), ("WIGWAG_V0", "1")], &["req", &at, "x"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "x\n"), "{said:?}");
}

#[test]
fn an_invalid_value_is_an_error_that_names_the_variable() {
    let nowhere = "tcp://127.0.0.1:1";
    for (variable, value, reason) in [
        ("WIGWAG_DEADLINE", "soon", "expected a time"),
        ("WIGWAG_RECEIVE_LIMIT", "-1", "expected a number of bytes"),
        ("WIGWAG_COUNT", "many", "invalid digit"),
        ("WIGWAG_FORMAT", "xml", "expected one of line, raw, quoted"),
        ("WIGWAG_JSON", "maybe", "expected 1 or 0"),
    ] {
        let said = run(&[(variable, value)], &["req", nowhere, "x"]);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
        let begin = format!("error: {variable} is {value:?}: {reason}");
        assert!(said.err.starts_with(&begin), "{begin}: {said:?}");
        assert!(said.err.contains(&format!(" hint: unset {variable} ")), "{said:?}");
    }
    let said = run(&[("WIGWAG_JOBS", "0")], &["rep", nowhere, "--exec", "cat"]);
    assert!(said.code == Some(2) && said.err.contains("WIGWAG_JOBS is \"0\""), "{said:?}");
    let both = [("WIGWAG_QUIET", "1"), ("WIGWAG_VERBOSE", "1")];
    let said = run(&both, &["device", nowhere, nowhere, "--pair", "bus"]);
    let clash = "WIGWAG_QUIET and WIGWAG_VERBOSE conflict";
    assert!(said.code == Some(2) && said.err.contains(clash), "{said:?}");
    // A command without the option, or with the option on its line, ignores the variable.
    let bad = [("WIGWAG_DEADLINE", "soon")];
    assert_eq!(run(&bad, &["--version"]).code, Some(0));
    assert_eq!(
        run(&bad, &["req", nowhere, "x", "--deadline", "1s", "--wait", "1ms"]).code,
        Some(3)
    );
}

/// Messages and commands come only from the command line.
#[test]
fn no_variable_sets_what_is_sent_or_executed() {
    let (_rep, at) = echo();
    let others = [("WIGWAG_EXEC", "echo no"), ("WIGWAG_DATA", "no"), ("WIGWAG_ECHO", "1")];
    let said = run(&others, &["req", &at, "x"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "x\n"), "{said:?}");
    let said = run(&others, &["rep", "tcp://127.0.0.1:0"]);
    assert!(said.code == Some(2) && said.err.contains("not clear how to answer"), "{said:?}");
}
