//! Child processes: their output, their exit, and that none is left.

use std::process::Command;

use tokio::sync::mpsc::UnboundedReceiver;
use wigwag::io::{self, Child, LaunchError, Limits};
use wigwag::lifecycle::Alive;

use super::recorder::{Heard, RecorderRef, expect_silence, line, next, recorder};
use super::{LONG, alone, until};

fn shell(script: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script]);
    command
}

fn start(command: Command, limits: Limits) -> (RecorderRef, UnboundedReceiver<Heard>, Child) {
    let (actor, heard) = recorder(false);
    let launch = io::child(command).limits(limits);
    let child = launch.deliver(&actor, RecorderRef::child).unwrap();
    (actor, heard, child)
}

/// A process that has ended may remain as a zombie until its parent reaps it.
fn is_gone(id: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{id}/stat")) else { return true };
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z'))
}

#[tokio::test]
async fn a_child_echoes_until_its_input_is_closed() {
    let _alone = alone().await;
    let (actor, mut heard, child) = start(Command::new("/bin/cat"), Limits::default());
    for number in 0..100 {
        child.stdin().write(format!("{number}\n")).await.unwrap();
        assert_eq!(next(&mut heard).await, line(&number.to_string()));
    }
    child.stdin().write("no newline").await.unwrap();
    child.stdin().close();
    assert_eq!(next(&mut heard).await, Heard::Part("no newline".into()));
    assert_eq!(next(&mut heard).await, Heard::Exited(Some(0), None));
    assert!(child.stdin().try_write("more").is_err());
    child.kill();
    let handle = actor.handle().unwrap();
    drop(actor);
    tokio::time::timeout(LONG, handle.ended()).await.unwrap();
    assert_eq!(heard.recv().await, None);
}

#[tokio::test]
async fn both_pipes_are_heard_and_the_exit_comes_last() {
    let _alone = alone().await;
    let script = "for n in 1 2 3; do echo out $n; echo error $n >&2; done; exit 7";
    let (_actor, mut heard, _child) = start(shell(script), Limits::default());
    let (mut output, mut error) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        match next(&mut heard).await {
            Heard::Line(text) => output.push(text),
            Heard::Error(text) => error.push(text),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(output, ["out 1", "out 2", "out 3"]);
    assert_eq!(error, ["error 1", "error 2", "error 3"]);
    assert_eq!(next(&mut heard).await, Heard::Exited(Some(7), None));
}

/// Bytes that a process has written so far.
fn written(id: u32) -> u64 {
    let counts = std::fs::read_to_string(format!("/proc/{id}/io")).unwrap();
    let line = counts.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap();
    line.parse().unwrap()
}

#[tokio::test]
async fn a_child_that_floods_waits_for_its_actor_and_can_be_killed() {
    let _alone = alone().await;
    let limits = Limits::default().granted_by_hand();
    let (_actor, mut heard, child) = start(Command::new("yes"), limits);
    for granted in [1, 100] {
        child.grant(granted);
        for _ in 0..granted {
            assert_eq!(next(&mut heard).await, line("y"));
        }
        expect_silence(&mut heard).await;
    }
    let written = written(child.id());
    assert!(written < 1024 * 1024, "it has written {written} bytes");
    child.kill();
    child.grant(1024 * 1024);
    let mut lines = 0;
    let exit = loop {
        match next(&mut heard).await {
            Heard::Line(text) if text == "y" => lines += 1,
            // A write was cut in the middle of a line.
            Heard::Part(_) => {}
            other => break other,
        }
    };
    assert_eq!(exit, Heard::Exited(None, Some(9)));
    assert!(lines > 1000, "what it had written is delivered: {lines} lines");
    assert!(is_gone(child.id()));
}

#[tokio::test]
async fn children_and_theirs_end_with_the_actor() {
    let _alone = alone().await;
    for end in ["stop", "kill", "panic"] {
        let script = "sleep 1000 & echo $!; wait";
        let (actor, mut heard, child) = start(shell(script), Limits::default());
        let Heard::Line(grandchild) = next(&mut heard).await else { panic!("no line") };
        let grandchild = grandchild.parse().unwrap();
        assert!(!is_gone(child.id()) && !is_gone(grandchild));
        match end {
            "stop" => drop(actor.stop().tell().await),
            "kill" => drop(actor.handle().unwrap().kill()),
            _ => drop(actor.panic().tell().await),
        }
        until(end, || is_gone(child.id()) && is_gone(grandchild)).await;
    }
}

#[tokio::test]
async fn a_pipe_that_somebody_else_holds_does_not_hold_up_the_exit() {
    let _alone = alone().await;
    let script = "sleep 1000 & echo $!";
    let (_actor, mut heard, child) = start(shell(script), Limits::default());
    let Heard::Line(left_behind) = next(&mut heard).await else { panic!("no line") };
    assert_eq!(next(&mut heard).await, Heard::Exited(Some(0), None));
    assert!(is_gone(child.id()));
    let id = rustix::process::Pid::from_raw(left_behind.parse().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_error_that_names_it() {
    let _alone = alone().await;
    let (actor, _heard) = recorder(false);
    let launch = io::child(Command::new("/nowhere/nothing"));
    let refused = launch.deliver(&actor, RecorderRef::child).unwrap_err();
    assert!(matches!(&refused, LaunchError::Refused { .. }));
    assert!(refused.to_string().contains("/nowhere/nothing"), "{refused}");
}

#[tokio::test]
async fn a_silent_pipe_does_not_keep_the_credit_from_the_other() {
    let _alone = alone().await;
    let limits = Limits::default().waiting_max(1);
    let script = "for n in 1 2 3; do echo $n; done; for n in 1 2 3; do echo $n >&2; done";
    let (_actor, mut heard, _child) = start(shell(script), limits);
    let mut all = Vec::new();
    while !matches!(all.last(), Some(Heard::Exited(..))) {
        all.push(next(&mut heard).await);
    }
    assert_eq!(all.len(), 7, "{all:?}");
}
