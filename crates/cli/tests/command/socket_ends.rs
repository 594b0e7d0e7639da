//! The end of a socket command: Ctrl-C, SIGTERM, SIGHUP, a closed standard output, and its child processes.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::process::{catches_interrupts, children_of, eventually, is_gone, run, signal, start};
use crate::running::Running;

/// Time limit for a command to start.
const START_MAX: Duration = Duration::from_secs(10);

#[test]
fn ctrl_c_is_exit_130_and_prints_the_summary_in_every_role() {
    for (words, line) in [
        (&["rep", "tcp://127.0.0.1:0", "--echo"][..], "0 requests · 0 replies"),
        (&["pull", "tcp://127.0.0.1:0"], "0 messages received"),
        (&["pub", "tcp://127.0.0.1:0"], "0 messages sent"),
        (&["survey", "--listen", "tcp://127.0.0.1:0", "x"], "0 surveys · 0 answers"),
        (&["bus", "--listen", "tcp://127.0.0.1:0"], "0 messages sent · 0 messages received"),
    ] {
        let (running, _) = Running::listening(words, b"");
        let said = running.interrupt();
        assert_eq!(said.code, Some(130), "{words:?} {said:?}");
        assert!(said.err.contains(line), "{words:?} {said:?}");
    }
}

/// The signal comes as soon as the command catches it, while it still starts.
#[test]
fn sigterm_ends_a_command_that_still_waits_for_its_peer() {
    const STARTS: usize = 40;
    for start in 0..STARTS {
        let waiting = Running::start(&["req", "tcp://127.0.0.1:1", "x", "--wait", "1h"], b"");
        let pid = i32::try_from(waiting.pid()).ok().and_then(Pid::from_raw).expect("a process");
        let begun = Instant::now();
        while !catches_interrupts(waiting.pid()) {
            assert!(begun.elapsed() < START_MAX, "it catches no signals");
        }
        kill_process(pid, Signal::TERM).expect("it runs");
        assert_eq!(waiting.end().code, Some(130), "start {start}");
    }
}

#[test]
fn a_closed_standard_output_ends_the_command_silently() {
    let (publisher, at) =
        Running::listening(&["pub", "tcp://127.0.0.1:0", "line", "--interval", "1ms"], b"");
    let program = env!("CARGO_BIN_EXE_wigwag");
    let script = format!("{{ {program} sub {at} -q; echo code $? >&2; }} | head -3");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::null());
    let said = Running::of(shell, b"").end();
    assert_eq!((said.out.as_str(), said.err.as_str()), ("line\nline\nline\n", "code 0\n"));
    drop(publisher);
}

/// A program of `--exec` has a process group of its own, so a terminal that is closed does not end it.
#[test]
fn an_exec_command_does_not_outlive_ctrl_c_or_the_terminal() {
    for name in ["INT", "HUP"] {
        let (pull, at) =
            Running::listening(&["pull", "tcp://127.0.0.1:0", "--exec", "sleep 600 | cat"], b"");
        let push = Running::start(&["push", &at, "x"], b"");
        let mut children = Vec::new();
        eventually("the command runs", || {
            let shells = children_of(pull.pid());
            children = shells.iter().flat_map(|shell| children_of(*shell)).collect();
            children.len() == 2
        });
        drop(push);
        signal(pull.pid(), name);
        assert_eq!(pull.end().code, Some(130), "{name}");
        for child in children {
            eventually("the command is gone", || is_gone(child));
        }
    }
}

#[test]
fn a_command_under_nohup_outlives_its_terminal() {
    let mut shell = Command::new("sh");
    let wigwag = env!("CARGO_BIN_EXE_wigwag");
    shell.args(["-c", &format!("trap '' HUP; exec {wigwag} pull tcp://127.0.0.1:0 --count 1")]);
    let pull = Running::of(shell, b"");
    let line = pull.until_err("listening  ");
    signal(pull.pid(), "HUP");
    let pushed = run(["push", line.split_whitespace().nth(1).expect("an address"), "x"]);
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    let said = pull.end();
    assert_eq!((said.code, said.out.as_str()), (Some(0), "x\n"), "{said:?}");
}

/// The first message is more than a pipe holds, and one byte that was read shows that it is written. The
/// command for it ends when that for the second one runs.
#[test]
fn a_signal_ends_a_command_whose_output_is_not_read() {
    for name in ["INT", "TERM"] {
        let file =
            std::env::temp_dir().join(format!("wigwag-unread-{}-{name}", std::process::id()));
        let file = file.display();
        let second = format!("touch {file}; sleep 600");
        let first = format!("cat; while [ ! -e {file} ]; do sleep 0.01; done");
        let exec = format!("if [ $WIGWAG_SEQ = 1 ]; then {first}; else {second}; fi");
        let exec = ["--exec", &exec, "--jobs", "2"];
        let mut pull = start(["pull", "tcp://127.0.0.1:0"].into_iter().chain(exec));
        let mut err = BufReader::new(pull.stderr.take().expect("piped"));
        let mut line = String::new();
        err.read_line(&mut line).expect("the command prints its address");
        let at = line.split_whitespace().nth(1).expect("an address").to_owned();
        let lines = [&vec![b'x'; 300 << 10][..], b"\n"].concat();
        let push = Running::start(&["push", &at], &lines.repeat(3));
        let mut out = pull.stdout.take().expect("piped");
        out.read_exact(&mut [0]).expect("the command prints the message");
        let commands = children_of(pull.id());
        assert!(!commands.is_empty(), "the second one sleeps");
        signal(pull.id(), name);
        let mut code = None;
        eventually("it ends", || {
            code = pull.try_wait().expect("a child can be waited for");
            code.is_some()
        });
        assert_eq!(code.and_then(|code| code.code()), Some(130), "{name}");
        for command in commands {
            eventually("the command is gone", || is_gone(command));
        }
        drop((push, out));
        std::fs::remove_file(file.to_string()).expect("the second command has made it");
    }
}
