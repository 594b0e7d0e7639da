use std::path::Path;

use super::*;
use crate::participants::Participant;
use crate::process::tree::Cost;
use crate::results::reasons::{has_escaped, is_found_out};
use crate::workload::Cell;

/// The row of rounds in which others took `foreign` of the machine.
fn row(known_bad: bool, foreign: &[(f64, bool)], judged: &Judgement) -> Row {
    let program = Path::new("none");
    let all = Participant::embedded(program);
    let participant = all.iter().find(|it| it.is_known_bad() == known_bad).unwrap();
    let cell = Cell::Count { senders: 1 };
    let mut series = Series::new(Entry { cell, participant, partner: None, program });
    series.messages = 1_000;
    for (round, (foreign_cpu_share, loud)) in foreign.iter().copied().enumerate() {
        let cost = Cost { cpu_seconds: 1.0, ..Cost::default() };
        let outcome = Outcome { seconds: 1.0, cost, foreign_cpu_share, ..Outcome::default() };
        series.take_cost(1_000, &outcome);
        assert!(series.take_trial(judged.clone()));
        series.take_window(round, judged.clone(), outcome, loud);
    }
    series.into_row()
}

#[test]
fn a_machine_that_is_never_quiet_is_no_fault_of_the_participant() {
    let loud = [(0.4, true), (0.62, true), (0.5, true)];
    let honest = row(false, &loud, &Judgement::default());
    assert_eq!(honest.verdict, Verdict::Flagged);
    assert_eq!(
        honest.reasons,
        ["no quiet window in 3 of 3 rounds: others took up to 62 % of the processors"]
    );
    assert!(honest.rate.is_some() && !has_escaped(&honest) && !is_found_out(&honest));
    // A bad one is not caught by noise.
    assert!(has_escaped(&row(true, &loud, &Judgement::default())));
    assert_eq!(row(false, &[(0.01, false)], &Judgement::default()).verdict, Verdict::Valid);
}

#[test]
fn a_bad_one_is_caught_by_what_is_said_against_it() {
    let judged =
        Judgement { flags: vec!["2 of 100 were at work".to_owned()], ..Judgement::default() };
    let caught = row(true, &[(0.4, true)], &judged);
    assert!(is_found_out(&caught) && !has_escaped(&caught));
    let mut missing = row(true, &[(0.0, false)], &Judgement::default());
    missing.verdict = Verdict::NotInstalled;
    assert!(!has_escaped(&missing));
}

/// One side worked before the clock, the other on it: the series of that side alone shows it.
#[test]
fn work_that_was_done_before_the_clock_leaves_no_number() {
    let program = Path::new("none");
    let all = Participant::embedded(program);
    let entry =
        Entry { cell: Cell::Count { senders: 1 }, participant: &all[0], partner: None, program };
    let series = |before: [f64; 2]| {
        let mut series = Series::new(entry);
        for (messages, before_cpu_seconds) in [10_000, 10_000_000].into_iter().zip(before) {
            let cost = Cost { cpu_seconds: 0.1, ..Cost::default() };
            let outcome = Outcome { before_cpu_seconds, cost, ..Outcome::default() };
            series.take_cost(messages, &outcome);
        }
        series.into_row()
    };
    let early = series([0.01, 0.8]);
    assert_eq!(early.verdict, Verdict::Void);
    assert!(early.reasons[0].starts_with("it worked before GO"), "{:?}", early.reasons);
    // A start that is as slow for few messages is a slow start.
    assert_eq!(series([0.8, 0.81]).verdict, Verdict::Valid);
}
