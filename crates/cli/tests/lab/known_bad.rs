//! The known-bad set under names that tell nothing, and a machine that is not quiet.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use wigwag_lab::bench::embedded::ALL;
use wigwag_lab::bench::results::{Row, Verdict};
use wigwag_lab::bench::series::is_found_out;

use crate::process::{Said, run};

/// A folder of peers that is gone when the test is.
struct Peers(PathBuf);

impl Peers {
    fn new(test: &str) -> Peers {
        let folder = format!("wigwag-peers-{test}-{}", std::process::id());
        let peers = Peers(std::env::temp_dir().join(folder));
        fs::create_dir_all(&peers.0).expect("a temporary folder");
        peers
    }

    /// A peer `name` that plays the roles of the embedded participant `embedded`.
    fn add(&self, name: &str, payload: &str, embedded: &str, roles: &[&str]) {
        let program = env!("CARGO_BIN_EXE_wigwag");
        let line = |role: &&str| {
            format!("{role:?} = [{program:?}, \"lab-participant\", {embedded:?}, {role:?}]\n")
        };
        let lines: String = roles.iter().map(line).collect();
        let folder = self.0.join(name);
        fs::create_dir_all(&folder).expect("a temporary folder");
        let known = ALL.iter().find(|it| it.name == embedded).expect("an embedded participant");
        let cells = known.cells;
        let text = format!(
            "name = {name:?}\nlanguage = \"?\"\nlicense = \"?\"\npayload = {payload:?}\n\
             cells = {cells:?}\n[role]\n{lines}"
        );
        fs::write(folder.join("peer.toml"), text).expect("a new file");
    }

    fn quick(&self, workload: &str, names: &str) -> Said {
        let folder = self.0.to_str().expect("a plain name");
        run([
            "lab",
            "--peers-folder",
            folder,
            "run",
            workload,
            "--quick",
            "--runs",
            "1",
            "--peers",
            names,
            "--json",
            "-",
        ])
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn rows(said: &Said) -> Vec<Row> {
    let document: Value = serde_json::from_str(&said.out).expect("the document is JSON");
    assert_eq!(wigwag_lab::bench::schema::faults(&document), [""; 0]);
    serde_json::from_value(document["rows"].clone()).expect("rows")
}

/// A word that tells nothing, another one in every run.
fn word(random: &mut u64) -> String {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    (0..8).map(|letter| char::from(b'a' + (*random >> (letter * 7)) as u8 % 26)).collect()
}

/// No verdict looks at a name, and none knows that it must find somebody out.
#[test]
fn every_bad_participant_is_found_out_under_a_name_that_tells_nothing() {
    let _alone = crate::alone();
    let peers = Peers::new("names");
    let seed = u64::from(std::process::id()).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    eprintln!("seed {seed}");
    let mut random = seed;
    let mut names = Vec::new();
    for bad in ALL.iter().filter(|it| it.known_bad) {
        let roles: Vec<&str> = bad.roles.iter().map(|role| role.name()).collect();
        let name = word(&mut random);
        peers.add(&name, "tokens", bad.name, &roles);
        names.push((name, bad.name));
    }
    peers.add("eve", "tokens", "raw", &["counter", "pingpong.server"]);
    names.push(("eve".to_owned(), "raw"));
    let list: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
    let said = peers.quick("all", &list.join(","));
    assert_eq!(said.code, Some(6), "{said:?}");
    let rows = rows(&said);
    for (name, played) in &names {
        let theirs: Vec<&Row> = rows.iter().filter(|row| row.participant == *name).collect();
        assert!(!theirs.is_empty(), "{played} stands nowhere");
        for row in theirs {
            let verdict = row.verdict;
            assert_eq!(is_found_out(row), *played != "raw", "{played}: {verdict:?} {row:?}");
        }
    }
}

/// With Ping and Pong every reply is right, so the evidence is in what came too early, what was
/// open at once, and what was left unread.
#[test]
fn fixed_payloads_hide_nobody_who_reads_a_quarter() {
    let _alone = crate::alone();
    let peers = Peers::new("fixed");
    peers.add("quarter", "fixed", "broken-one-byte", &["pingpong.server"]);
    peers.add("unread", "fixed", "broken-nibble", &["pingpong.client"]);
    peers.add("honest", "fixed", "raw", &["pingpong.server"]);
    peers.add("driver", "fixed", "raw", &["pingpong.client"]);
    let said = peers.quick("pingpong", "quarter,unread,honest,driver");
    let rows = rows(&said);
    let row = |name: &str| rows.iter().find(|row| row.participant == name).expect("a row");
    let reasons = |name: &str| row(name).reasons.join("; ");
    assert!(reasons("quarter").contains("before their request was sent"), "{rows:?}");
    let unread = reasons("unread");
    assert!(unread.contains("in flight") && unread.contains("were reset"), "{unread}");
    for honest in ["honest", "driver"] {
        assert!(!is_found_out(row(honest)), "{rows:?}");
        assert!(row(honest).rate.is_some(), "{rows:?}");
    }
}

/// Somebody else's program, which keeps one processor busy.
struct Load(Child);

impl Load {
    fn start() -> Load {
        let mut shell = Command::new("sh");
        // It ends by itself should nobody end it.
        shell.args(["-c", "ulimit -t 60; while :; do :; done"]).stdin(Stdio::null());
        Load(shell.spawn().expect("sh"))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// It is a result that there was no quiet window, and not the participant's fault.
#[test]
fn under_a_foreign_load_no_window_is_quiet_and_the_run_succeeds() {
    let _alone = crate::alone();
    let load = Load::start();
    let words = ["lab", "run", "counter", "--quick", "--runs", "1", "--peers", "raw"];
    let said = run(words.into_iter().chain(["--json", "-"]));
    drop(load);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let [row] = rows(&said).try_into().expect("one row");
    assert_eq!(row.verdict, Verdict::Flagged, "{row:?}");
    assert!(row.reasons[0].starts_with("no quiet window in 1 of 1 rounds"), "{row:?}");
    assert!(row.rate.is_some() && !is_found_out(&row), "{row:?}");
}
