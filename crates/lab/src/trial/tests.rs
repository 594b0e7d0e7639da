use std::process::Command;

use super::*;
use crate::results::cpu_by_side::SideName;

/// A shell loop that takes a few tenths of a second of processor time.
const WORK: &str = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";

fn program(side: Option<SideName>, script: &str, accounts: usize) -> ProgramSpec {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    ProgramSpec {
        title: format!("it ({side:?})"),
        side,
        command,
        orders: Vec::new(),
        measured: true,
        stops_clock: accounts > 0,
        accounts,
        memory_max: MEMORY_MAX,
    }
}

/// A trial of two programs, of which the one that gets GO works and gives the account.
fn trial(server_works: bool) -> Outcome {
    let works =
        |ready: &str| format!("echo {ready}; read go; {WORK}; echo '{{}}'; read end; exit 0");
    let waits = |ready: &str| format!("echo {ready}; read end; exit 0");
    let (server, worker) = match server_works {
        true => (works("READY 7"), waits("READY")),
        false => (waits("READY 7"), works("READY")),
    };
    let server = program(Some(SideName::Server), &server, usize::from(server_works));
    let worker = program(Some(SideName::Client), &worker, usize::from(!server_works));
    let programs = TrialPrograms::of(worker);
    let trial = TrialPrograms { server: Some(server), server_begins: server_works, ..programs };
    run_trial(trial, CONTRACT, &AtomicBool::new(false)).expect("both follow the contract")
}

/// The sides of a trial are real processes here, one of which works and the other one waits.
#[test]
fn the_side_that_works_has_the_processor_time_and_both_sides_add_up() {
    for server_works in [true, false] {
        let outcome = trial(server_works);
        let [server, client] = outcome.sides.as_slice() else { panic!("{outcome:?}") };
        assert_eq!([server.side, client.side], [Some(SideName::Server), Some(SideName::Client)]);
        let (busy, idle) = if server_works { (server, client) } else { (client, server) };
        assert!(busy.cpu_seconds > 0.05, "{outcome:?}");
        assert!(idle.cpu_seconds < busy.cpu_seconds / 10.0, "{outcome:?}");
        let sum = server.cpu_seconds + client.cpu_seconds;
        assert!((sum - outcome.cost.cpu_seconds).abs() < 1e-9, "{outcome:?}");
        assert_eq!(outcome.programs, 2);
    }
}

#[test]
fn a_program_without_another_one_is_one_program() {
    let script = format!("echo READY; read go; {WORK}; echo '{{}}'");
    let trial = TrialPrograms::of(program(None, &script, 1));
    let outcome = run_trial(trial, CONTRACT, &AtomicBool::new(false)).expect("it is well");
    assert_eq!((outcome.programs, outcome.sides.len()), (1, 1));
}
