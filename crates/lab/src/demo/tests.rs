use super::*;

/// A run of the demo, made of the rows of another document.
fn results() -> Results {
    let mut results: Results =
        serde_json::from_str(include_str!("../../tests/fixtures/lab-1.json")).unwrap();
    let told = results.rows.iter().filter(|row| row.cell == TELL).cloned();
    let threads: Vec<Row> = told.map(|row| Row { cell: THREAD.to_owned(), ..row }).collect();
    results.rows.extend(threads);
    results.rows.retain(|row| {
        CELLS.contains(&row.cell.as_str()) && PARTICIPANTS.contains(&row.participant.as_str())
    });
    results
}

#[test]
fn every_cell_has_its_figures_and_the_verdict_covers_all_rows() {
    let results = results();
    assert_eq!(results.rows.len(), CELLS.len() * PARTICIPANTS.len());
    let report = Report::of(&results);
    let sent = |name: &str| -> u64 {
        let rows = results.rows.iter().filter(|row| row.participant == name);
        rows.map(|row| row.verified.sent).sum()
    };
    assert_eq!((report.verified.sent, report.raw_verified.sent), (sent("wigwag"), sent("raw")));
    assert!(report.verified.is_clean() && report.rounds > 0 && report.void.is_empty());
    for rate in [&report.tell, &report.tell_from_thread, &report.ask] {
        let rate = rate.as_ref().unwrap();
        assert!((0.4..0.7).contains(&rate.ratio_to_raw.median), "{rate:?}");
    }
    let rtt = report.rtt.unwrap();
    assert_eq!((rtt.ns.p50, rtt.raw_ns.p50, rtt.ns.p999), (30_400, 17_900, Some(127_917)));
    let local = report.local_tell.unwrap();
    assert!(local.ratio_to_raw.median > 1.0, "a time: {local:?}");
}

#[test]
fn a_round_that_one_cell_has_not_is_not_complete() {
    let mut results = results();
    let rounds = Report::of(&results).rounds;
    results.rows[3].runs.pop();
    assert_eq!(Report::of(&results).rounds, rounds - 1);
    results.rows.remove(3);
    assert_eq!(Report::of(&results).rounds, 0);
}

#[test]
fn a_void_row_has_no_figure_and_says_why() {
    let mut results = results();
    let row = results.rows.iter_mut().find(|row| row.place() == "remote/tell/wigwag").unwrap();
    row.verdict = Verdict::Void;
    row.reasons = vec!["5 of 10 messages were lost".to_owned()];
    row.runs.clear();
    let report = Report::of(&results);
    assert!(report.tell.is_none() && report.ask.is_some());
    assert_eq!(report.void, ["remote/tell/wigwag: 5 of 10 messages were lost"]);
}
