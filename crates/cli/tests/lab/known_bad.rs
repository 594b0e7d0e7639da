//! The known-bad set under names that tell nothing, and a machine that is not quiet.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use wigwag_lab::participants::embedded::ALL;
use wigwag_lab::process::machine_cpu::MachineCpu;
use wigwag_lab::results::reasons::is_found_out;
use wigwag_lab::results::{Row, Verdict};

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
        let (cells, inside, sp) = (known.cells, known.inside, known.sp);
        let text = format!(
            "name = {name:?}\nlanguage = \"?\"\nlicense = \"?\"\npayload = {payload:?}\n\
             cells = {cells:?}\ninside = {inside:?}\nsp = {sp:?}\n[role]\n{lines}"
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
    assert_eq!(wigwag_lab::results::schema::faults(&document), [""; 0]);
    serde_json::from_value(document["rows"].clone()).expect("rows")
}

/// How often a participant is run before the machine is to blame.
const RUNS_MAX: usize = 3;

/// Whether other programs have kept the lab from looking: the only thing that is said about the row
/// is that the machine was not quiet. Its number is no acquittal then, and its participant is run
/// again.
fn was_disturbed(row: &Row) -> bool {
    let quiet = |reason: &&String| !reason.starts_with("no quiet window");
    row.verdict == Verdict::Flagged
        && !is_found_out(row)
        && row.reasons.iter().filter(quiet).count() < row.reasons.len()
}

/// Length of one look at the machine: the kernel counts it in ticks of 10 ms.
const LOOK: Duration = Duration::from_millis(500);
/// The share of the processors that other programs may take of a machine on which a fault can be
/// seen. Faults were hidden where they took nine tenths.
const FOREIGN_SHARE_MAX: f64 = 0.5;
/// The longest wait for such a look: builds and tests of others as a rule pause sooner.
const QUIET_MAX: Duration = Duration::from_secs(60);

/// Waits until other programs leave the machine alone. After [`QUIET_MAX`] it returns all the same,
/// since another run may see the fault even so.
fn wait_for_quiet() {
    let begun = Instant::now();
    while begun.elapsed() < QUIET_MAX {
        let before = MachineCpu::now();
        thread::sleep(LOOK);
        // This test only sleeps meanwhile.
        if before.foreign_share(&MachineCpu::now(), 0.0) <= FOREIGN_SHARE_MAX {
            return;
        }
    }
}

/// Other programs load the machine so much that a test proves nothing.
fn never_quiet(disturbed: &[&Row]) -> ! {
    panic!(
        "no quiet window in {RUNS_MAX} runs, so some faults were not looked for: other programs load \
         the machine; run the test again when they do not: {disturbed:?}"
    )
}

/// A word that tells nothing, another one in every run.
fn word(random: &mut u64) -> String {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    (0..8).map(|letter| char::from(b'a' + (*random >> (letter * 7)) as u8 % 26)).collect()
}

/// The reason for which each bad participant is found out.
const REASONS: &[(&str, &str)] = &[
    ("broken-drop", "were lost"),
    ("broken-double", "twice"),
    ("broken-mask", "duplicate in the place"),
    ("broken-wrong", "not the same"),
    ("broken-reorder", "out of order"),
    ("broken-due", "from when its asks were due"),
    ("broken-pub-drop", "read all the while missed"),
    ("broken-pub-double", "twice"),
    ("broken-pub-wrong", "not the same"),
    ("broken-pub-reorder", "out of order"),
    ("broken-pub-date", "filled or dated"),
    ("broken-pub-block", "without an account"),
    ("broken-pub-hoard", "of its sender did not stay flat"),
    ("broken-pub-once", "ended before its work was done"),
    ("broken-balance-block", "without an account"),
    ("broken-mute", "was not READY within"),
    ("broken-rubbish", "up and running"),
    ("broken-crash", "something went very wrong"),
    ("broken-hang", "without an account"),
    ("broken-fork", "processes behind"),
    ("broken-one-byte", "wrong"),
    ("broken-eager", "nobody had asked for"),
    ("broken-reply", "wrong"),
    ("broken-deaf", "after SIGTERM"),
    ("broken-quarter", "were lost"),
    ("broken-blind", "replies unread"),
    ("broken-pipeline", "in flight"),
    ("broken-early", "worked before GO"),
    ("broken-leak", "after its account"),
    ("broken-hide", "left their group"),
    ("broken-restart", "ended before their work was done"),
    ("broken-hoard", "did not stay flat"),
    ("broken-guess", "sum of the answers"),
    ("broken-skip", "did not come by every"),
    ("broken-shared", "each with a number of its own"),
    ("broken-silent", "never answered"),
    ("broken-twice", "nobody had asked for"),
    ("broken-cache", "wrong"),
    ("broken-pool", " of 100 connections were at work"),
    ("broken-few", " of 100 connections were at work"),
    ("broken-nagle", "delayed acknowledgement"),
    ("broken-stall", "a stall of 3"),
    ("broken-half", "opened 50 connections of 100"),
    ("broken-nibble", "replies unread"),
];

/// No verdict depends on a name or on whether the participant is known to be bad.
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
    let first = rows(&said);
    for (name, played) in &names {
        let theirs: Vec<&Row> = first.iter().filter(|row| row.participant == *name).collect();
        assert!(!theirs.is_empty(), "{played} stands nowhere");
        if played == &"raw" {
            assert!(theirs.iter().all(|row| !is_found_out(row)), "{theirs:?}");
            continue;
        }
        let reasons = |row: &&Row| row.reasons.join("; ");
        let all: Vec<String> = theirs.iter().map(reasons).collect();
        // Where others take the processors, of this machine or below it, nobody's rate is held, and
        // that is said instead.
        let is_loud = theirs.iter().any(|row| was_disturbed(row))
            || all.iter().any(|said| said.contains("rate was not held"));
        if let Some((_, words)) = REASONS.iter().find(|(bad, _)| bad == played) {
            assert!(is_loud || all.iter().any(|said| said.contains(words)), "{played}: {all:?}");
        }
        let hidden = theirs.into_iter().filter(|row| !is_found_out(row)).cloned().collect();
        look_again(&peers, name, played, hidden);
    }
}

/// Runs a participant again for as long as there are rows in which the machine hid it. Each must
/// find it out in the end; one that the lab could look at and found nothing is a failure at once.
fn look_again(peers: &Peers, name: &str, played: &str, mut hidden: Vec<Row>) {
    for run in 1.. {
        let escaped = hidden.iter().find(|row| !was_disturbed(row));
        assert!(escaped.is_none(), "{played}: {escaped:?}");
        if hidden.is_empty() {
            return;
        }
        if run == RUNS_MAX {
            never_quiet(&hidden.iter().collect::<Vec<_>>());
        }
        eprintln!("{played} is run again: {}", hidden[0].reasons.join("; "));
        wait_for_quiet();
        let again = rows(&peers.quick("all", &format!("{name},eve")));
        for row in &mut hidden {
            let is_same = |it: &&Row| {
                it.participant == name && it.workload == row.workload && it.cell == row.cell
            };
            let same = again.iter().find(is_same);
            *row = same.unwrap_or_else(|| panic!("{played} stands nowhere: {again:?}")).clone();
        }
        hidden.retain(|row| !is_found_out(row));
    }
}

/// With Ping and Pong every reply is right, so the evidence is in what came too early, what was
/// open at once, and what was left unread.
#[test]
fn fixed_payloads_expose_a_participant_that_reads_a_quarter() {
    let _alone = crate::alone();
    let peers = Peers::new("fixed");
    peers.add("quarter", "fixed", "broken-one-byte", &["pingpong.server"]);
    peers.add("unread", "fixed", "broken-nibble", &["pingpong.client"]);
    peers.add("honest", "fixed", "raw", &["pingpong.server"]);
    peers.add("driver", "fixed", "raw", &["pingpong.client"]);
    for run in 1..=RUNS_MAX {
        let rows = rows(&peers.quick("pingpong", "quarter,unread,honest,driver"));
        let row = |name: &str| rows.iter().find(|row| row.participant == name).expect("a row");
        for honest in ["honest", "driver"] {
            assert!(!is_found_out(row(honest)), "{rows:?}");
            assert!(row(honest).rate.is_some(), "{rows:?}");
        }
        let bad = [row("quarter"), row("unread")];
        let disturbed: Vec<&Row> = bad.into_iter().filter(|row| was_disturbed(row)).collect();
        if !disturbed.is_empty() {
            eprintln!("run {run}: no quiet window for {disturbed:?}");
            if run == RUNS_MAX {
                never_quiet(&disturbed);
            }
            wait_for_quiet();
            continue;
        }
        let reasons = |name: &str| row(name).reasons.join("; ");
        assert!(reasons("quarter").contains("before their request was sent"), "{rows:?}");
        let unread = reasons("unread");
        assert!(unread.contains("in flight") && unread.contains("were reset"), "{unread}");
        return;
    }
}

/// Another program, which keeps one processor busy.
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
