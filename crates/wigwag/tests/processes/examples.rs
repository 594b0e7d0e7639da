//! The examples of two programs each, started as a reader starts them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::process::Command;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use wigwag_testkit::program::{Program, example};

/// A pause of a worker that is longer than any test.
const AN_HOUR: &str = "3600000";

#[test]
fn members_of_a_chat_hear_each_other_and_find_the_room_again_after_it_was_killed() {
    let mut room = Program::start("chat_room", &["tcp://127.0.0.1:0"]);
    let address = room.line().unwrap();
    let mut anna = Program::start("chat_member", &[&address, "anna"]);
    anna.until("anna is in the room");
    anna.say("is anybody here?");
    let mut ben = Program::start("chat_member", &[&address, "ben"]);
    // Lines that were said before.
    ben.until("anna: is anybody here?");
    ben.until("ben is in the room");
    anna.until("* ben is here");
    ben.say("I am");
    anna.until("ben: I am");

    room.kill();
    let listen = address.strip_suffix("/room").unwrap();
    let room = Program::start("chat_room", &[listen]);
    assert_eq!(room.line().unwrap(), address);
    anna.until("anna is back in the room");
    ben.until("ben is back in the room");
    ben.say("still here");
    anna.until("ben: still here");

    let mut carl = Program::start("chat_member", &[&address, "carl"]);
    carl.until("carl is in the room");
    anna.until("* carl is here");
    carl.kill();
    // Nobody says anything meanwhile: the room notices it by itself.
    anna.until("* carl has vanished");
    ben.end();
    anna.until("* ben has left");
    anna.end();
    assert_eq!(room.end(), [""; 0]);
}

#[test]
fn the_balances_of_a_bank_add_up_after_the_transfers_of_two_tellers_at_once() {
    let bank = Program::start("bank_accounts", &["tcp://127.0.0.1:0"]);
    let address = bank.line().unwrap();
    let tellers = [(); 2].map(|()| Program::start("bank_teller", &[&address]));
    for teller in tellers {
        let said = teller.end();
        let refused = said[0].strip_prefix("refused: the account has ");
        assert!(refused.unwrap().ends_with(", which is less than 1000000"), "{said:?}");
        let counts: Vec<u32> = said[1].split(' ').filter_map(|word| word.parse().ok()).collect();
        assert!(counts[0] + counts[1] == 10_000 && counts[0] > 0 && counts[1] > 0, "{said:?}");
        assert_eq!(said[2], "the accounts had 10000 in all, and have 10000");
    }
    let balances = bank.end().remove(0);
    assert!(balances.ends_with("], 10000 in all"), "{balances}");
}

#[test]
fn each_job_of_a_queue_counts_once_although_workers_are_killed_at_work() {
    let queue = Program::start("pipeline_queue", &["tcp://127.0.0.1:0", "20"]);
    let address = queue.line().unwrap();
    // Where programs start slowly, the first job is free again before the second worker is there.
    let mut anna = Program::start("pipeline_worker", &[&address, "anna", AN_HOUR]);
    let of_anna = anna.line().unwrap().replace("anna has ", "");
    let mut ben = Program::start("pipeline_worker", &[&address, "ben", AN_HOUR]);
    let of_ben = ben.line().unwrap().replace("ben has ", "");
    let carl = Program::start("pipeline_worker", &[&address, "carl", "1"]);
    assert!(carl.line().unwrap().starts_with("carl has job "));
    anna.kill();
    ben.kill();

    assert_eq!(carl.end().last().unwrap(), "no job is left");
    let said = queue.end();
    let mut results = BTreeMap::<&str, u32>::new();
    for line in said.iter().filter(|line| line.ends_with(" steps")) {
        *results.entry(line.split(' ').nth(1).unwrap()).or_default() += 1;
    }
    assert!(results.len() == 20 && results.values().all(|count| *count == 1), "{said:?}");
    for job in [of_anna, of_ben] {
        assert!(said.contains(&format!("{job} is handed out again")), "{job}: {said:?}");
    }
    assert_eq!(said.last().unwrap(), "all 20 jobs are done");
}

#[test]
fn an_observer_talks_to_the_child_that_it_started_and_starts_another_when_it_was_killed() {
    let machine = example("exec_machine");
    let mut observer = Program::start("exec_observer", &[machine.to_str().unwrap()]);
    let first = answering_process(&mut observer);
    assert_eq!(answering_process(&mut observer), first);
    kill_process(first, Signal::KILL).unwrap();
    let second = answering_process(&mut observer);
    assert_ne!(second, first);

    let second = pidfd_open(second, PidfdFlags::empty()).unwrap();
    assert_eq!(observer.end(), [""; 0]);
    assert!(ends_soon(&second), "the program outlives the one that started it");
}

#[test]
fn a_child_that_goes_on_after_its_connection_has_ended_is_killed() {
    let file = std::env::temp_dir().join(format!("wigwag-exec-{}", std::process::id()));
    let (machine, file) = (example("exec_machine").display().to_string(), file.display());
    // The first shell goes on when its machine was killed, longer than the test waits; the second
    // one becomes its machine.
    let script = format!(
        "[ -e {file} ] && exec {machine}; {machine}; echo $$ > {file}; exec sleep 60 <&- >&-"
    );
    let address = format!("sh -c {}", script.replace(' ', "%20"));
    let mut observer = Program::start("exec_observer", &[&address]);
    kill_process(answering_process(&mut observer), Signal::KILL).unwrap();
    answering_process(&mut observer);

    let shell = std::fs::read_to_string(file.to_string()).unwrap();
    // Without the process, it was killed already.
    let ended =
        pidfd_open(Pid::from_raw(shell.trim().parse().unwrap()).unwrap(), PidfdFlags::empty())
            .map_or(true, |shell| ends_soon(&shell));
    assert!(ended, "the child goes on");
    assert_eq!(observer.end(), [""; 0]);
    std::fs::remove_file(file.to_string()).unwrap();
}

/// Makes the observer ask, and returns the process that has answered.
fn answering_process(observer: &mut Program) -> Pid {
    loop {
        observer.say("");
        let said = observer.line().unwrap();
        if let Some((_, process)) = said.split_once(" says process ") {
            return Pid::from_raw(process.parse().unwrap()).unwrap();
        }
        // The call that met the end of the process has failed.
        assert!(said.starts_with("no answer: "), "{said}");
    }
}

/// Waits until the process has ended: its descriptor is readable then.
fn ends_soon(process: &impl AsFd) -> bool {
    let patience = Timespec { tv_sec: 30, tv_nsec: 0 };
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&patience)) == Ok(1)
}

#[test]
fn a_program_that_cannot_be_started_is_named_with_the_reason() {
    let ends = |program: &str| {
        let output = Command::new(example("exec_observer")).arg(program).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let missing = ends("/nowhere/program");
    assert!(missing.contains("No such file or directory"), "{missing}");
    assert!(missing.contains("at: exec:///nowhere/program"), "{missing}");
    let double = ends("program  argument");
    assert!(double.contains("with one space between"), "{double}");
    let code = ends("program%2");
    assert!(code.contains("% is followed by two hex digits"), "{code}");
    // A program that ends earlier may be met by the write of the header instead.
    let silent = ends("sh -c head%20-c%208%20>/dev/null");
    assert!(silent.contains("closed the connection before"), "{silent}");
}

/// The error that `main` returns is printed for people, with its hint on further lines.
#[test]
fn a_program_that_ends_with_an_error_prints_it_for_its_reader() {
    let ends = |arguments: &[&str]| {
        let output = Command::new(example("farewell")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(ends(&[]), "Error: usage: farewell ADDRESS\n");
    let refused = ends(&["tcp://127.0.0.1:9/counter"]);
    let lines: Vec<&str> = refused.lines().filter(|line| !line.contains("ERROR")).collect();
    assert!(lines[0].starts_with("Error: "), "{refused}");
    assert!(lines.iter().any(|line| line.starts_with(" hint: ")), "{refused}");
}
