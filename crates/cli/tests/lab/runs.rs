//! `wigwag lab`: the verdicts of the embedded participants, and what bad input comes to.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use wigwag_lab::run::CALIBRATIONS;

use crate::process::{
    catches_interrupts, children_of, eventually, eventually_within, finish, is_gone, run, signal,
    start,
};

/// Time for the first window of a quick run of two participants: ten trials of a quarter of a second,
/// and much room for a machine that is shared.
const WINDOW_MAX: Duration = Duration::from_secs(60);

/// A folder of peers that is gone when the test is.
pub(crate) struct Peers(PathBuf);

impl Peers {
    pub(crate) fn new(test: &str) -> Peers {
        let folder = format!("wigwag-peers-{test}-{}", std::process::id());
        let peers = Peers(std::env::temp_dir().join(folder));
        fs::create_dir_all(&peers.0).expect("a temporary folder");
        peers
    }

    pub(crate) fn add(&self, name: &str, rest: &str) {
        let folder = self.0.join(name);
        fs::create_dir_all(&folder).expect("a temporary folder");
        let text = format!("name = {name:?}\nlanguage = \"sh\"\nlicense = \"MIT\"\n{rest}");
        fs::write(folder.join("peer.toml"), text).expect("a new file");
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("a plain name")
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The roles of an embedded participant, to be played under any name.
pub(crate) fn roles(embedded: &str, roles: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_wigwag");
    let line = |role: &&str| {
        format!("{role:?} = [{program:?}, \"lab-participant\", {embedded:?}, {role:?}]\n")
    };
    let lines: String = roles.iter().map(line).collect();
    format!("[role]\n{lines}")
}

pub(crate) fn rows(document: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(document).expect("the document is JSON");
    assert_eq!(document["schema"], "wigwag.lab/1");
    assert_eq!(wigwag_lab::results::schema::faults(&document), [""; 0]);
    document["rows"].as_array().expect("a document has rows").clone()
}

pub(crate) fn has_no_number(row: &Value) {
    for figure in ["rate", "cpu_s_per_million", "rtt_us", "peak_rss_bytes", "ratio_to_raw"] {
        assert!(row[figure].is_null(), "{figure} of a void row: {row}");
    }
    assert_eq!(row["runs"], Value::Array(Vec::new()), "{row}");
}

/// The bad participants of all workloads, and the reasons, are looked at in `known_bad`.
#[test]
fn a_quick_run_finds_every_bad_participant_out_and_gives_the_honest_ones_numbers() {
    let _alone = crate::alone();
    let said = run(["lab", "run", "pingpong", "--quick", "--json", "-"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let rows = rows(&said.out);
    for row in &rows {
        match row["known_bad"].as_bool().unwrap() {
            true if row["verdict"] == "void" => has_no_number(row),
            // Whether something was said against it is what the exit code tells.
            true => assert_eq!(row["verdict"], "flagged", "{row}"),
            false => {
                assert!(row["rate"]["median"].as_f64() > Some(0.0), "{row}");
                assert_eq!(row["verified"]["sent"], row["verified"]["received"], "{row}");
                assert!(row["ratio_to_raw"]["median"].as_f64() > Some(0.0), "{row}");
            }
        }
    }
}

/// The rows of a quick run of some cells of remote, by raw and wigwag.
fn remote(cells: &[&str]) -> Rows {
    some_cells("remote", "raw,wigwag", cells)
}

fn some_cells(workload: &str, peers: &str, cells: &[&str]) -> Rows {
    let words = ["lab", "run", workload, "--quick", "--runs", "1", "--peers", peers];
    let cells = cells.iter().flat_map(|cell| ["--cell", *cell]);
    let said = run(words.into_iter().chain(cells).chain(["--json", "-"]));
    assert_eq!(said.code, Some(0), "{}\n{}", said.err, said.out);
    Rows(rows(&said.out))
}

struct Rows(Vec<Value>);

impl Rows {
    fn row(&self, cell: &str, name: &str) -> &Value {
        let found = self.0.iter().find(|row| row["cell"] == cell && row["participant"] == name);
        found.unwrap_or_else(|| panic!("{cell}, {name}: {:?}", self.0))
    }
}

/// Naive loops of two million, and fixed rates.
#[test]
fn a_quick_run_of_remote_floods_and_paces() {
    let _alone = crate::alone();
    let rows = remote(&["naive", "naive ask", "paced 50 %", "paced 80 %", "paced 95 %"]);
    assert_eq!(rows.0.len(), 10, "those and no other");
    for name in ["raw", "wigwag"] {
        for cell in ["naive", "naive ask"] {
            let row = rows.row(cell, name);
            assert_eq!(row["verified"]["received"], 2_000_000, "{row}");
            assert!(row["peak_rss_bytes"].as_u64() < Some(200 << 20), "{row}");
        }
        for cell in ["paced 50 %", "paced 80 %", "paced 95 %"] {
            let row = rows.row(cell, name);
            let latency = &row["latency_us"];
            assert_eq!(latency["samples"], row["verified"]["received"], "{row}");
            assert!(latency["p50"].as_f64() > Some(0.0) && row["rtt_us"].is_null(), "{row}");
            let counts = latency["bins"].as_array().unwrap().iter();
            let counted: u64 = counts.map(|bin| bin[1].as_u64().unwrap()).sum();
            assert_eq!(latency["samples"], counted, "{row}");
            // A rate that was ordered is no comparison.
            assert!(row["rate_ordered"].as_u64() > Some(0) && row["ratio_to_raw"].is_null());
        }
    }
}

#[test]
fn a_quick_run_of_remote_goes_a_long_way_and_is_cut() {
    let _alone = crate::alone();
    let delayed = ["tell, 10 ms", "ask, 10 ms"];
    let relayed = ["tell, relayed", "ask, relayed"];
    let far = ["rtt, 10 ms", "chain, 10 ms"];
    let rows = remote(&[&delayed[..], &relayed, &far, &["tell, ten cuts"]].concat());
    let chain = rows.row(far[1], "wigwag");
    assert_eq!(chain["verified"]["received"], chain["verified"]["sent"], "{chain}");
    assert!(chain["kept"]["median"].as_f64() > Some(0.0), "{chain}");
    for name in ["raw", "wigwag"] {
        for cell in delayed.iter().chain(&relayed) {
            let row = rows.row(cell, name);
            assert_eq!(row["verified"]["received"], row["verified"]["sent"], "{row}");
            let is_delayed = delayed.contains(cell);
            assert_eq!(row["kept"]["median"].as_f64() > Some(0.0), is_delayed, "{row}");
            assert!(row["ratio_to_raw"]["median"].as_f64() > Some(0.0), "{row}");
            assert!(row["runs"][0]["relay_cpu_seconds"].as_f64() > Some(0.0), "{row}");
        }
    }
    has_no_number(rows.row("tell, ten cuts", "raw"));
    let cut = rows.row("tell, ten cuts", "wigwag");
    assert_eq!(cut["verified"]["received"], cut["verified"]["sent"], "{cut}");
    let cuts = cut["cuts"]["cuts"].as_array().unwrap();
    let is_told = cut["reasons"].to_string().contains("of 10 cuts took place");
    assert!(!cuts.is_empty() && (cuts.len() == 10) != is_told, "{cut}");
    let at = |cut: &Value| cut["at_ms"].as_f64().unwrap();
    assert!(cuts.windows(2).all(|two| at(&two[1]) - at(&two[0]) >= 100.0), "{cut}");
    assert!(cut["cuts"]["resumed_ms"]["min"].as_f64() > Some(0.0), "{cut}");
}

#[test]
fn a_quick_run_of_remote_has_the_cells_that_are_wigwags_own() {
    let _alone = crate::alone();
    let own = [
        "tell, MessagePack",
        "tell, 1000 actors",
        "tell, 1000 actors at random",
        "tell, 4 links",
        "tell, 1000 links",
        "stream",
        "upload",
        "callback",
    ];
    let rows = remote(&own);
    for cell in own {
        let row = rows.row(cell, "wigwag");
        assert_eq!(row["verified"]["received"], row["verified"]["sent"], "{row}");
        assert!(row["rate"]["median"].as_f64() > Some(0.0), "{row}");
    }
}

/// Each pattern, transport and number of senders once.
#[test]
fn a_quick_run_of_sp_passes_messages_over_every_transport() {
    let _alone = crate::alone();
    let round_trips = ["req 111 B tcp", "req 111 B ipc", "req 111 B inproc"];
    let one_way = [
        "push 128 B tcp",
        "push 64 KiB ipc",
        "push 16 B inproc",
        "pair 4 KiB tcp",
        "push 16 B tcp, 4 threads",
        "push 16 B tcp, 100 connections",
    ];
    let rows = some_cells("sp", "raw,wigwag", &[&round_trips[..], &one_way].concat());
    for name in ["raw", "wigwag"] {
        for cell in round_trips.iter().chain(&one_way) {
            let row = rows.row(cell, name);
            assert_eq!(row["verified"]["received"], row["verified"]["sent"], "{row}");
            assert!(row["ratio_to_raw"]["median"].as_f64() > Some(0.0), "{row}");
            let is_timed = row["rtt_us"]["p50"].as_f64() > Some(0.0);
            assert_eq!(is_timed, round_trips.contains(cell), "{row}");
            assert!(cell.contains("tcp") || row["runs"][0]["wire_bytes"].is_null(), "{row}");
        }
        assert_eq!(rows.row("push 64 KiB ipc", name)["message_bytes"], 64 << 10);
    }
}

/// Each pattern of sp and each exchange of remote once, and each transport but tcp, ipc and inproc.
#[test]
fn a_quick_run_passes_messages_over_tls_websocket_and_shared_memory() {
    let _alone = crate::alone();
    let sockets = ["req 111 B wss", "push 16 B tls", "push 64 KiB ws"];
    let nodes = ["tell, wss", "ask, shm", "rtt, tls"];
    for (workload, cells) in [("sp", sockets), ("remote", nodes)] {
        let rows = some_cells(workload, "raw,wigwag", &cells);
        for name in ["raw", "wigwag"] {
            for cell in cells {
                let row = rows.row(cell, name);
                assert_eq!(row["verified"]["received"], row["verified"]["sent"], "{row}");
                assert!(row["ratio_to_raw"]["median"].as_f64() > Some(0.0), "{row}");
                // The bytes of shared memory cross no device.
                let is_counted = row["runs"][0]["wire_bytes"].as_u64() > Some(0);
                assert_eq!(is_counted, !cell.ends_with("shm"), "{row}");
            }
        }
    }
}

/// Every message of PUB is accounted for, at every peer that is measured; beside a third one that
/// dies, the next one is served.
#[test]
fn a_quick_run_of_sp_sends_to_several_peers() {
    let _alone = crate::alone();
    let published =
        ["pub 2 KiB tcp, 3 peers", "pub 2 KiB tcp, slow peer", "pub 2 KiB tcp, dying peer"];
    let balanced =
        ["push 2 KiB tcp, 3 peers", "push 2 KiB tcp, slow peer", "push 2 KiB tcp, dying peer"];
    let rows = some_cells("sp", "wigwag", &[published, balanced].concat());
    assert_eq!(rows.0.len(), 6, "those and no other");
    for cell in published.into_iter().chain(balanced) {
        let row = rows.row(cell, "wigwag");
        let verified = |name: &str| row["verified"][name].as_u64().unwrap();
        assert_eq!(verified("sent"), verified("received") + verified("lost"), "{row}");
        // A busy machine may miss messages, and the row says so.
        let is_told = row["reasons"].to_string().contains("read all the while missed");
        assert_eq!(verified("lost") > 0, is_told, "{row}");
        assert_eq!(row["runs"][0]["messages"], verified("received"), "{row}");
        assert_eq!(row["rate_ordered"], 10_000, "{row}");
        assert!(row["latency_us"]["p99"].as_f64() > Some(0.0), "{row}");
        assert!(row["runs"][0]["grown_bytes"].as_u64() < Some(16 << 20), "{row}");
        assert_eq!(row["runs"][0]["deaths"].as_u64() > Some(0), cell.contains("dying"), "{row}");
        assert_eq!(row["kept"].is_null(), cell.contains("3 peers"), "{row}");
    }
    let each = rows.row(published[0], "wigwag")["verified"]["sent"].as_u64().unwrap();
    assert_eq!(each, 2 * 2_500);
}

/// Of so many actors the account has sums.
#[test]
fn a_quick_run_of_remote_tells_a_hundred_thousand_actors() {
    let _alone = crate::alone();
    let rows =
        some_cells("remote", "raw", &["tell, 100000 actors", "tell, 100000 actors at random"]);
    assert_eq!(rows.0.len(), 2, "those and no other");
    for row in &rows.0 {
        assert_eq!(row["verified"]["received"], row["verified"]["sent"], "{row}");
        assert!(row["rate"]["median"].as_f64() > Some(0.0), "{row}");
    }
}

#[test]
fn a_quick_run_of_remote_sends_every_shape() {
    let _alone = crate::alone();
    let words = ["tell, u64", "tell, u64, task", "tell, u64, thread"];
    let others = ["tell, two methods", "tell, text", "tell, struct"];
    let blocks = ["tell, vec 1 KiB", "tell, vec 60 KiB", "tell, bytes 16 KiB"];
    let rows = remote(&[words, others, blocks].concat());
    assert_eq!(rows.0.len(), 18, "those and no other");
    for row in &rows.0 {
        assert_eq!(row["verified"]["received"], row["verified"]["sent"], "{row}");
        assert!(row["rate"]["median"].as_f64() > Some(0.0), "{row}");
    }
}

#[test]
fn unknown_and_missing_peers_are_reported_with_the_mend() {
    let _alone = crate::alone();
    let peers = Peers::new("missing");
    peers.add(
        "gopher",
        "fetches = \"2 MB of gophers\"\nsetup = [[\"sh\", \"-c\", \"echo made > made\"]]\n\
         installed = \"made\"\n\
         version = [\"echo\", \"gopher 1.2\"]\n[role]\ncounter = [\"sh\", \"-c\", \"exit 3\"]\n",
    );
    let lab = |words: &[&str]| {
        run(["lab", "--peers-folder", peers.path()].into_iter().chain(words.iter().copied()))
    };
    let said = lab(&["run", "conter"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("did you mean counter?"), "{said:?}");
    let said = lab(&["run", "counter", "--peers", "gofer"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("did you mean gopher?"), "{said:?}");
    let said = lab(&["run", "counter", "--cell", "1 senders"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("did you mean 1 sender"), "{said:?}");
    // A part of a name, and the name of nothing.
    let said = lab(&["run", "http", "--peers", "raw", "--cell", "pipelined"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("did you mean \"server, pipelined\" or "), "{said:?}");
    let said = lab(&["run", "http", "--peers", "raw", "--cell", "thirty-two"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("the cells are "), "{said:?}");
    assert!(said.err.contains("; \"server, pipelined\""), "{said:?}");
    let listed = lab(&["list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    assert!(listed.out.contains("not installed: made is not there: wigwag lab setup gopher"));

    // A language stands for all its peers.
    let run_it = ["run", "counter", "--peers", "SH", "--quick", "--json", "-"];
    let missing = lab(&run_it);
    let [row] = rows(&missing.out).try_into().unwrap();
    assert_eq!((missing.code, &row["verdict"]), (Some(0), &"notinstalled".into()));
    has_no_number(&row);
    let set_up = lab(&["setup", "gopher"]);
    assert_eq!((set_up.code, set_up.out.as_str()), (Some(0), "gopher is installed\n"));
    let fetches = set_up.err.find("gopher: fetches 2 MB of gophers");
    let runs = set_up.err.find("gopher: runs sh -c");
    assert!(fetches.is_some() && fetches < runs, "{set_up:?}");
    let void = lab(&run_it);
    let [row] = rows(&void.out).try_into().unwrap();
    assert_eq!((void.code, &row["verdict"]), (Some(6), &"void".into()));
    assert_eq!(row["version"], "gopher 1.2");
}

#[test]
fn all_is_every_peer_that_is_not_installed_and_one_that_fails_is_told_at_the_end() {
    let peers = Peers::new("all");
    let peer = |script: &str| {
        format!(
            "setup = [[\"sh\", \"-c\", \"{script}\"]]\ninstalled = \"made\"\n\
             [role]\ncounter = [\"sh\"]\n"
        )
    };
    peers.add("broken", &peer("exit 3"));
    peers.add("gopher", &peer("touch made; echo once >> count"));
    let all = || run(["lab", "--peers-folder", peers.path(), "setup", "all"]);

    let first = all();
    assert_eq!((first.code, first.out.as_str()), (Some(1), "gopher is installed\n"), "{first:?}");
    assert!(first.err.ends_with("broken: sh -c exit 3 ended with exit status: 3\n"), "{first:?}");

    // The next call tries only what is missing.
    let next = all();
    assert_eq!((next.code, next.out.as_str()), (Some(1), ""), "{next:?}");
    peers.add("broken", &peer("touch made"));
    let last = all();
    assert_eq!((last.code, last.out.as_str()), (Some(0), "broken is installed\n"), "{last:?}");
    assert_eq!(fs::read_to_string(peers.0.join("gopher/count")).unwrap(), "once\n");
}

#[test]
fn a_condition_that_holds_fails_the_run() {
    let _alone = crate::alone();
    let run_with = |condition: &str| {
        let words = ["lab", "run", "counter", "--quick", "--runs", "1", "--peers", "raw"];
        run(words.into_iter().chain(["--fail-if", condition]))
    };
    assert_eq!(run_with("counter/1 sender/raw.rate<1").code, Some(0));
    assert_eq!(run_with("counter/1 sender/raw.rate>1").code, Some(7));
    // The counter has no round trip.
    let nothing = run_with("counter/1 sender/raw.rtt_us>1");
    assert_eq!(nothing.code, Some(7), "{nothing:?}");
    assert_eq!(run_with("speed").code, Some(2));
}

#[test]
fn a_condition_on_a_row_that_the_run_lacks_is_refused_before_the_run() {
    let refused = |condition: &str, reason: &str| {
        // This many rounds would outlast the test.
        let words = ["lab", "run", "counter", "--quick", "--runs", "900", "--peers", "raw"];
        let said = run(words.into_iter().chain(["--fail-if", condition]));
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
        assert!(said.err.contains(reason), "{said:?}");
    };
    refused("counter/1 sendr/raw.rate>1", "did you mean 1 sender");
    refused("counter/1 sender/wigwag.rate>1", "this run has no row counter/1 sender/wigwag");
    refused("remote/1 sender/raw.rate>1", "this run has no row remote/1 sender/raw");
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_leaves_no_process() {
    let _alone = crate::alone();
    let words = ["lab", "run", "counter", "--quick", "--peers", "raw,wigwag", "--runs", "900"];
    let child = start(words.into_iter().chain(["--json", "-"]));
    let pid = child.id();
    eventually("the lab listens for Ctrl-C", || catches_interrupts(pid));
    // Each trial is a program of its own, and the first ones measure no window.
    let mut programs = BTreeSet::new();
    eventually_within(WINDOW_MAX, "a window is measured", || {
        programs.extend(children_of(pid));
        programs.len() > 2 * CALIBRATIONS + 1
    });
    signal(pid, "INT");
    let said = finish(child);
    assert_eq!(said.code, Some(130), "{said:?}");
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["interrupted"], true);
    assert!(!document["rows"].as_array().unwrap().is_empty(), "{document}");
    for program in programs {
        eventually("the participants end", || is_gone(program));
    }
}

#[test]
fn results_that_cannot_be_written_are_an_error_before_the_measurement() {
    for option in ["--json", "--html"] {
        let said = run(["lab", "run", "counter", "--quick", option, "/no/such/folder/results"]);
        assert_eq!(said.code, Some(9), "{said:?}");
        assert!(said.err.contains("the results cannot be written"), "{said:?}");
        assert!(said.err.contains(" hint: name a file in a folder that exists"), "{said:?}");
        assert_eq!(said.out, "");
    }
}

#[test]
fn a_document_becomes_a_page_and_is_like_itself() {
    let _alone = crate::alone();
    let folder = Peers::new("documents");
    let (json, html) = (folder.0.join("a.json"), folder.0.join("a.html"));
    let (json, html) = (json.to_str().unwrap(), html.to_str().unwrap());
    let words = ["lab", "run", "counter", "--quick", "--runs", "1", "--peers", "raw", "--json"];
    let said = run(words.into_iter().chain([json]));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(run(["lab", "report", json, "--html", html]).code, Some(0));
    assert!(fs::read_to_string(html).unwrap().contains("<html"));
    let together = folder.0.join("all.json");
    let together = together.to_str().unwrap();
    assert_eq!(run(["lab", "report", json, "--json", together]).code, Some(0));
    assert_eq!(
        rows(&fs::read_to_string(together).unwrap()).len(),
        rows(&fs::read_to_string(json).unwrap()).len()
    );
    let twice = run(["lab", "report", json, json, "--html", html]);
    assert_eq!(twice.code, Some(8), "{twice:?}");
    assert!(twice.err.contains("is in two documents"), "{twice:?}");
    assert_eq!(run(["lab", "report", json]).code, Some(2), "neither page nor document");
    let compared = run(["lab", "compare", json, json]);
    assert_eq!(compared.code, Some(0), "{compared:?}");
    for (path, why) in [("/nowhere.json", "No such file"), (html, "is not the document of a run")] {
        let said = run(["lab", "compare", json, path]);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(said.err.contains(why), "{said:?}");
        assert!(said.err.contains("`wigwag lab run WORKLOADS --json FILE`"), "{said:?}");
    }
}

/// Two builds of one kernel have different names.
#[test]
fn documents_of_two_kernels_are_compared_and_joined_where_that_is_allowed() {
    let folder = Peers::new("kernels");
    let text = include_str!("../../../lab/tests/fixtures/lab-1.json");
    let mut documents = [(); 2].map(|()| serde_json::from_str::<Value>(text).unwrap());
    documents[1]["environment"]["kernel"] = "Linux 9.9-2".into();
    let written = |document: &Value, name: &str| {
        let path = folder.0.join(name).to_str().unwrap().to_owned();
        fs::write(&path, document.to_string()).unwrap();
        path
    };
    let [old, new] = [("old", 0), ("new", 1)].map(|(name, at)| written(&documents[at], name));
    let refused = run(["lab", "compare", &old, &new]);
    assert_eq!(refused.code, Some(8), "{refused:?}");
    assert!(refused.err.contains("add --any-kernel"), "{refused:?}");
    let compared = run(["lab", "compare", "--any-kernel", &old, &new]);
    assert_eq!(compared.code, Some(0), "{compared:?}");
    assert!(compared.out.starts_with("Allowed to differ: kernel: "), "{compared:?}");
    assert!(compared.out.contains("rows agree (100 %)"), "{compared:?}");

    for (document, remote) in documents.iter_mut().zip([false, true]) {
        let rows = document["rows"].as_array_mut().unwrap();
        rows.retain(|row| (row["workload"] == "remote") == remote);
    }
    let [old, new] = [("others", 0), ("remote", 1)].map(|(name, at)| written(&documents[at], name));
    let report = ["lab", "report", &old, &new, "--json", "-"];
    assert_eq!(run(report).code, Some(8));
    let joined = run(report.into_iter().chain(["--any-kernel"]));
    assert_eq!(joined.code, Some(0), "{joined:?}");
    let joined: Value = serde_json::from_str(&joined.out).unwrap();
    let kernels = joined["environment"]["kernel"].as_str().unwrap();
    assert!(kernels.ends_with(", Linux 9.9-2"), "{kernels}");
    assert!(rows(&joined.to_string()).len() > 1, "{joined}");
}

/// A result of `wigwag bench`, or of a later release, has other fields: the schema is what is wrong.
#[test]
fn a_document_of_another_schema_and_one_that_is_too_long_are_refused_as_what_they_are() {
    let folder = Peers::new("foreign");
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    let texts = [
        (
            "bench",
            r#"{"schema":"wigwag.bench/1"}"#,
            "has the schema wigwag.bench/1, not wigwag.lab/1",
        ),
        (
            "later",
            r#"{"schema":"wigwag.lab/9","rows":7}"#,
            "has the schema wigwag.lab/9, not wigwag.lab/1",
        ),
        ("fields", r#"{"schema":"wigwag.lab/1"}"#, "is not the document of a run: missing field"),
        ("object", "{}", "it names no schema"),
        ("list", "[]", "it names no schema"),
        ("empty", "", "EOF while parsing"),
    ];
    let refused = |name: &str, why: &str| {
        for words in [["report", "--html", "-"], ["compare", "--across", &path(name)]] {
            let said = run(["lab"].into_iter().chain(words).chain([&*path(name)]));
            assert_eq!(said.code, Some(2), "{name}: {said:?}");
            assert!(said.err.contains(why), "{name}: {said:?}");
        }
    };
    for (name, text, why) in texts {
        fs::write(path(name), text).unwrap();
        refused(name, why);
    }
    // A file with a hole takes no room on the disk.
    fs::File::create(path("long")).unwrap().set_len(64 * 1024 * 1024 + 1).unwrap();
    refused("long", "has more than 67108864 bytes");
}

#[test]
fn a_report_is_printed_where_its_file_is_a_hyphen() {
    let folder = Peers::new("hyphen");
    let document = folder.0.join("lab.json");
    fs::write(&document, include_str!("../../../lab/tests/fixtures/lab-1.json")).unwrap();
    let document = document.to_str().unwrap();
    for (form, begins) in [("--html", "<!doctype html>"), ("--markdown", ""), ("--json", "{")] {
        let file = folder.0.join("page");
        let said = run(["lab", "report", document, form, "-"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.out.starts_with(begins), "{form}: {said:?}");
        assert_eq!(run(["lab", "report", document, form, file.to_str().unwrap()]).code, Some(0));
        assert_eq!(said.out.trim_end(), fs::read_to_string(&file).unwrap().trim_end(), "{form}");
    }
}

/// An older document may have intervals that another rule found.
#[test]
fn the_ratios_of_a_document_are_found_again_from_its_rounds() {
    let folder = Peers::new("ratios");
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    let text = include_str!("../../../lab/tests/fixtures/lab-1.json");
    let mut document: Value = serde_json::from_str(text).unwrap();
    let stale = serde_json::json!({ "median": 7.0, "low": 6.0, "high": 8.0 });
    let mut found = 0;
    for row in document["rows"].as_array_mut().unwrap() {
        for ratio in ["ratio_to_raw", "ratio_to_best_peer"] {
            if !row[ratio].is_null() {
                row[ratio] = stale.clone();
                found += 1;
            }
        }
    }
    assert!(found > 0, "the document has ratios");
    fs::write(path("old.json"), document.to_string()).unwrap();
    let said = run(["lab", "report", &path("old.json"), "--json", &path("new.json")]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let again: Value =
        serde_json::from_str(&fs::read_to_string(path("new.json")).unwrap()).unwrap();
    for row in again["rows"].as_array().unwrap() {
        for ratio in ["ratio_to_raw", "ratio_to_best_peer"] {
            assert_ne!(row[ratio], stale, "{row}");
        }
    }
}
