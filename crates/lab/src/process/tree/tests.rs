use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::*;

#[test]
fn children_and_orphans_belong_to_the_family() {
    use std::os::unix::process::CommandExt;
    let script = "sleep 20 & (sleep 21 &) ; wait";
    let mut shell = Command::new("sh")
        .args(["-c", script])
        .process_group(0)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    // The shell between them is one of the family too, for a moment.
    let sleeps = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.trim_end() == "sleep"
    };
    let mut left = Vec::new();
    while left.len() < 2 && begun.elapsed().as_secs() < 10 {
        left = survivors(shell.id()).into_iter().filter(sleeps).collect();
        std::thread::yield_now();
    }
    for pid in &left {
        let pid = rustix::process::Pid::from_raw(*pid as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    shell.kill().unwrap();
    shell.wait().unwrap();
    assert_eq!(left.len(), 2);
}

/// User and system time stand first, then those of waited-for children.
#[test]
fn the_time_of_a_process_and_that_of_the_children_it_has_waited_for_are_told_apart() {
    let text = "6465 (a ) b) R 1 7 3394 0 -1 4194304 101 0 0 0 31 11 5 3 20 0 1 0 115431";
    let stat = ProcStat::parse(text).unwrap();
    assert_eq!((stat.parent, stat.group, stat.started), (1, 7, 115_431));
    assert_eq!((stat.own_seconds, stat.waited_for_seconds), (0.42, 0.08));
}

/// A shell that starts a child once its input says so, has the kernel end it after about a second
/// of processor time, and takes next to none itself.
fn shell_with_a_busy_child() -> (Child, ChildStdin, ChildStdout) {
    let script = "read go; (ulimit -t 1; while :; do :; done); echo over; read end";
    let mut shell = Command::new("sh")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (input, output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
    (shell, input, output)
}

#[test]
fn the_time_of_a_child_that_ended_between_two_samples_counts() {
    let (mut shell, mut input, mut output) = shell_with_a_busy_child();
    let mut tree = ProcessTree::new(shell.id());
    tree.begin();
    input.write_all(b"go\n").unwrap();
    output.read_exact(&mut [0; 5]).unwrap();
    let cost = tree.end();
    drop(input);
    shell.wait().unwrap();
    // The kernel ends it by ticks, which may be more than what it really took.
    assert!(cost.cpu_seconds > 0.4, "{cost:?}");
    assert!(cost.peak_rss_bytes > 0 && cost.threads_max >= 1, "{cost:?}");
}

#[test]
fn the_time_of_a_child_that_was_seen_and_then_waited_for_counts_once() {
    let (mut shell, mut input, mut output) = shell_with_a_busy_child();
    let mut tree = ProcessTree::new(shell.id());
    tree.begin();
    input.write_all(b"go\n").unwrap();
    while tree.spent() < 0.2 {
        tree.sample();
    }
    output.read_exact(&mut [0; 5]).unwrap();
    let cost = tree.end();
    let told = spent_by(shell.id()).unwrap();
    drop(input);
    shell.wait().unwrap();
    // Each of four counts of the kernel is good to a tick.
    assert!((told - cost.cpu_seconds).abs() < 0.05, "{told}: {cost:?}");
}

/// A parent that waits for no child, and one that ended before its own.
#[test]
fn the_time_of_a_process_that_is_not_reaped_is_kept() {
    let process = |parent, own, waited_for, gone| ProcessCounters { parent, own, waited_for, gone };
    let mut reading = Snapshot::default();
    reading.processes.insert(10, process(1, 1.0, 0.0, false));
    reading.processes.insert(11, process(10, 2.0, 0.0, true));
    reading.processes.insert(12, process(1, 4.0, 0.0, true));
    reading.processes.insert(13, process(12, 8.0, 0.0, false));
    assert_eq!(reading.seconds(), 15.0);
    // It has waited for one that was seen and for one that was not.
    reading.processes.insert(10, process(1, 1.0, 2.5, false));
    assert_eq!(reading.seconds(), 15.5);
}
