use super::*;

fn shell(script: &str) -> Program {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Program::start(command, &[("PORT", "0".to_owned())]).unwrap()
}

const SOON: Duration = Duration::from_secs(10);

#[test]
fn a_program_that_follows_the_contract_gives_its_account_and_ends() {
    let mut program = shell(r#"echo READY; read go; echo "{\"said\": \"$go\"}""#);
    assert_eq!(program.ready(SOON, false), Ok(None));
    program.go().unwrap();
    let (account, _) = program.account(SOON).unwrap().unwrap();
    assert_eq!(account, r#"{"said": "GO"}"#);
    assert_eq!(program.expect_exit(SOON), Ok(()));
}

#[test]
fn a_server_prints_its_port_and_ends_on_request() {
    let mut program = shell("echo READY 123; read end");
    assert_eq!(program.ready(SOON, true), Ok(Some(123)));
    assert_eq!(program.stop(SOON), Ok(()));
}

#[test]
fn breaches_of_the_contract_are_named() {
    let ready = |script: &str| shell(script).ready(Duration::from_millis(500), false);
    assert_eq!(ready("echo hello; read x"), Err(ProgramFault::Rubbish("hello".to_owned())));
    assert_eq!(ready("sleep 20"), Err(ProgramFault::NotReady(Duration::from_millis(500))));
    assert!(
        matches!(ready("echo why >&2; exit 3"), Err(ProgramFault::Ended(how)) if how.contains("why"))
    );
    assert!(matches!(shell("echo READY; read x").ready(SOON, true), Err(ProgramFault::NoPort(_))));
}

#[test]
fn a_process_left_behind_is_found_and_ended() {
    let mut program = shell("echo READY; read go; sleep 30 </dev/null >/dev/null 2>&1 & exit 0");
    program.ready(SOON, false).unwrap();
    program.go().unwrap();
    let pid = program.pid();
    assert_eq!(program.expect_exit(SOON), Err(ProgramFault::LeftBehind(1)));
    drop(program);
    assert_eq!(survivors(pid), [0_u32; 0]);
}

/// In a session of its own, and its parent has gone: neither group nor descent tells of it.
#[test]
fn a_process_that_stole_away_is_found_too() {
    let stolen = "(setsid sleep 31 </dev/null >/dev/null 2>&1 &)";
    let mut program = shell(&format!("echo READY; read go; {stolen}; sleep 0.2"));
    program.ready(SOON, false).unwrap();
    program.go().unwrap();
    assert_eq!(program.expect_exit(SOON), Err(ProgramFault::LeftBehind(1)));
}

#[test]
fn a_program_that_ignores_sigterm_is_ended_all_the_same() {
    let mut program = shell("trap '' TERM; echo READY; while :; do sleep 1; done");
    program.ready(SOON, false).unwrap();
    let pid = program.pid();
    drop(program);
    assert_eq!(survivors(pid), [0_u32; 0]);
}
