//! `wigwag demo`: the document, Ctrl-C in the middle, and no process left behind.

use std::fs;
use std::process::Child;
use std::time::Duration;

use serde_json::Value;

use crate::process::{
    catches_interrupts, children_of, eventually, eventually_within, finish, is_gone, run, signal,
    start,
};

/// Time for the warm-up and a whole round: six times what they take on two cores that have nothing
/// else to do.
const ROUND_MAX: Duration = Duration::from_secs(120);

/// True while the demo measures tells from a plain thread, which it does once in each round and never
/// in the warm-up. Such a thread has no name of its own, so it bears that of the process.
fn has_a_telling_thread(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let names = threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "wigwag").count() > 1
}

/// A demo that goes on until it is ended, once it measures; and its second process.
fn endless(more: &[&str]) -> (Child, u32) {
    let words = ["demo", "--rounds", "100000"];
    let child = start(words.into_iter().chain(more.iter().copied()));
    let pid = child.id();
    // Only then has it heard from the second process.
    eventually("the demo listens for Ctrl-C", || catches_interrupts(pid));
    let [service] = children_of(pid).as_slice().try_into().unwrap_or([0]);
    assert_ne!(service, 0, "the demo has one second process");
    (child, service)
}

#[test]
fn one_round_gives_one_document_in_which_every_ratio_names_its_good_direction() {
    let said = run(["demo", "--json", "--rounds", "1"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{said:?}");
    let document: Value = serde_json::from_str(&said.out).unwrap();
    for part in ["verified", "raw_verified"] {
        let verified = &document[part];
        assert!(verified["sent"].as_u64() > Some(0), "{verified}");
        assert_eq!(verified["sent"], verified["received"]);
        for damage in ["lost", "duplicated", "reordered", "corrupt"] {
            assert_eq!(verified[damage], 0, "{part} {damage}");
        }
    }
    for (part, ratio, better) in [
        ("tell", "ratio_to_raw", "higher"),
        ("tell_from_thread", "ratio_to_raw", "higher"),
        ("ask", "ratio_to_raw", "higher"),
        ("rtt", "ratio_to_raw", "lower"),
        ("local_tell", "ratio_to_kanal", "lower"),
    ] {
        let median = &document[part][ratio]["median"];
        assert!(median.as_f64() > Some(0.0), "{part}: {median}");
        assert_eq!(document[part]["better"], better, "{part}");
    }
    assert_eq!((&document["rounds"], &document["interrupted"]), (&1.into(), &false.into()));
}

#[test]
fn ctrl_c_in_the_middle_prints_what_was_measured_and_leaves_no_process() {
    let (child, service) = endless(&[]);
    eventually_within(ROUND_MAX, "a thread tells", || has_a_telling_thread(child.id()));
    signal(child.id(), "INT");
    let said = finish(child);
    assert_eq!((said.code, said.err.as_str()), (Some(130), ""), "{said:?}");
    assert!(said.out.starts_with("verified  wigwag: "), "{said:?}");
    assert!(said.out.contains("\ninterrupted after "), "{said:?}");
    eventually("the second process ends", || is_gone(service));
}

#[test]
fn ctrl_c_before_the_first_figure_still_gives_a_whole_document() {
    let (child, service) = endless(&["--json"]);
    signal(child.id(), "INT");
    let said = finish(child);
    assert_eq!((said.code, said.err.as_str()), (Some(130), ""), "{said:?}");
    let document: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(document["interrupted"], true);
    eventually("the second process ends", || is_gone(service));
}

#[test]
fn a_demo_that_is_killed_takes_its_second_process_along() {
    let (child, service) = endless(&[]);
    assert!(!is_gone(service));
    signal(child.id(), "KILL");
    assert_eq!(finish(child).code, None, "ended by a signal");
    eventually("the second process ends", || is_gone(service));
}
