//! `wigwag demo`: the document, Ctrl-C in the middle, and no process left behind.

use std::process::{Child, Command};

use serde_json::Value;

use crate::process::{
    catches_interrupts, children_of, eventually, finish, is_gone, run, signal, start,
};
use crate::running::Running;

/// A demo that goes on until it is ended, once its first programs run; and these.
fn endless(more: &[&str]) -> (Child, Vec<u32>) {
    let words = ["demo", "--rounds", "100000"];
    let child = start(words.into_iter().chain(more.iter().copied()));
    let pid = child.id();
    eventually("the demo listens for Ctrl-C", || catches_interrupts(pid));
    let mut programs = Vec::new();
    eventually("the demo starts its programs", || {
        programs = children_of(pid);
        programs.len() > 1
    });
    (child, programs)
}

fn all_end(programs: &[u32]) {
    eventually("the programs of the demo end", || programs.iter().all(|pid| is_gone(*pid)));
}

#[test]
fn one_round_gives_one_document_in_which_every_ratio_names_its_good_direction() {
    let said = run(["demo", "--json", "--rounds", "1"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["schema"], "wigwag-demo/2");
    for part in ["verified", "raw_verified"] {
        let verified = &document[part];
        assert!(verified["sent"].as_u64() > Some(0), "{verified}");
        assert_eq!(verified["sent"], verified["received"]);
        for damage in ["lost", "duplicated", "reordered", "corrupt"] {
            assert_eq!(verified[damage], 0, "{part} {damage}");
        }
    }
    for (part, better) in [
        ("tell", "higher"),
        ("tell_from_thread", "higher"),
        ("ask", "higher"),
        ("rtt", "lower"),
        ("local_tell", "lower"),
    ] {
        let median = &document[part]["ratio_to_raw"]["median"];
        assert!(median.as_f64() > Some(0.0), "{part}: {median}");
        assert_eq!(document[part]["better"], better, "{part}");
    }
    assert_eq!((&document["rounds"], &document["interrupted"]), (&1.into(), &false.into()));
}

#[test]
fn the_text_begins_with_the_verdict_and_has_a_line_for_each_cell() {
    let said = run(["demo", "--rounds", "1"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    let begins = [
        "verified  wigwag: ",
        "verified  raw: ",
        "  ",
        "tell, one task ",
        "tell, plain thread ",
        "ask, 16k in flight ",
        "ask, one at a time ",
        "local tell ",
    ];
    assert_eq!(lines.len(), begins.len(), "{said:?}");
    for (line, begin) in lines.iter().zip(begins) {
        assert!(line.starts_with(begin), "{begin:?}: {line:?}");
    }
}

#[test]
fn ctrl_c_in_the_middle_prints_what_was_measured_and_leaves_no_process() {
    let (child, first) = endless(&[]);
    // When the programs of the first trials have ended there is something to print.
    all_end(&first);
    let mut programs = Vec::new();
    eventually("more programs run", || {
        programs = children_of(child.id());
        programs.len() > 1
    });
    signal(child.id(), "INT");
    let said = finish(child);
    assert_eq!((said.code, said.err.as_str()), (Some(130), ""), "{said:?}");
    assert!(said.out.contains("  wigwag") && said.out.contains("  raw"), "{said:?}");
    assert!(said.out.contains("\ninterrupted after 0 whole rounds\n"), "{said:?}");
    all_end(&programs);
}

#[test]
fn ctrl_c_before_the_first_figure_still_gives_a_whole_document() {
    let (child, programs) = endless(&["--json"]);
    signal(child.id(), "INT");
    let said = finish(child);
    assert_eq!((said.code, said.err.as_str()), (Some(130), ""), "{said:?}");
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["interrupted"], true);
    all_end(&programs);
}

#[test]
fn a_demo_that_is_killed_takes_its_programs_along() {
    let (child, programs) = endless(&[]);
    signal(child.id(), "KILL");
    assert_eq!(finish(child).code, None, "ended by a signal");
    all_end(&programs);
}

/// Each line that `--serve` suggests works as it stands: those of the command, that of curl, and the
/// address of the live page.
#[test]
fn the_lines_that_serve_suggests_work() {
    let service = Running::start(&["demo", "--serve"], b"");
    service.until_out("curl ");
    let printed = service.out();
    let mut lines = printed.lines();
    let about = lines.next().unwrap_or_default();
    assert!(about.contains("tcp://") && about.contains("http://"), "{about}");
    let (mut worked, mut curls, mut pages) = (0, 0, 0);
    for line in lines {
        let line = match line.split_once(' ') {
            Some((address, _)) if address.starts_with("http://") => {
                format!("curl {address} --silent --fail")
            }
            Some(("wigwag", rest)) if rest.starts_with("top ") => {
                format!("{} {rest} --count 1", env!("CARGO_BIN_EXE_wigwag"))
            }
            Some(("wigwag", rest)) => format!("{} {rest}", env!("CARGO_BIN_EXE_wigwag")),
            _ => format!("{line} --silent"),
        };
        let output = Command::new("sh").args(["-c", &line]).output().expect("a shell");
        assert!(output.status.success(), "{line}: {output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        worked += 1;
        match line.starts_with("curl ") {
            true if text.contains("<title>wigwag</title>") => pages += 1,
            true => {
                assert_eq!(text.trim(), "5");
                curls += 1;
            }
            false => {}
        }
    }
    assert!(worked >= 5 && (curls, pages) == (1, 1), "{printed}");
    assert_eq!(service.interrupt().code, Some(0));
}

/// With `--ui` there is something to see on the page.
#[test]
fn the_load_of_the_live_page_counts() {
    let service = Running::start(&["demo", "--ui"], b"");
    service.until_out("curl ");
    let printed = service.out();
    let page = printed.lines().find_map(|line| line.split_once("ui/  ")).expect("a page").0;
    let events = format!("curl --silent --no-buffer --max-time 30 {page}ui/events | grep -m 1");
    let counted = format!("{events} '\"kind\":\"Counter\"[^}}]*\"taken\":[1-9]'");
    let output = Command::new("sh").args(["-c", &counted]).output().expect("a shell");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(service.interrupt().code, Some(0));
}
