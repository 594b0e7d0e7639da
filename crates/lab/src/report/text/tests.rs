use super::*;
use crate::figures::statistics::Spread;

fn rich() -> Results {
    serde_json::from_str(include_str!("../../../tests/fixtures/lab-1.json")).unwrap()
}

/// The lines from the one that is `title` to the next empty one.
fn table<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let from = text.lines().skip_while(|line| *line != title);
    from.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn the_verdict_stands_before_the_number_and_the_limit_first() {
    let text = tables(&rich());
    let lines = table(&text, "remote / tell");
    assert!(lines[1].starts_with("verdict"), "{text}");
    assert!(lines[2].starts_with("✓ VALID") && lines[2].contains("  raw "), "{text}");
    assert!(lines[3].contains("0.536 (0.520–0.552)"), "{text}");
}

#[test]
fn a_plain_loop_tells_what_it_put_on_the_wire_and_whether_it_tired() {
    let text = tables(&rich());
    let head = table(&text, "remote / naive")[1];
    assert!(head.contains("last ÷ first  wire B / msg  memory"), "{text}");
    assert!(!table(&text, "counter / 1 sender")[1].contains("wire"), "{text}");
}

#[test]
fn a_delay_tells_what_was_kept_and_cuts_tell_how_soon_it_was_back() {
    let text = tables(&rich());
    let delayed = table(&text, "remote / tell, 10 ms");
    assert!(delayed[1].contains("÷ raw") && delayed[1].contains("  kept"), "{text}");
    assert!(delayed[3].contains("0.910 (0.880–0.930)"), "{text}");
    let cut = table(&text, "remote / tell, ten cuts");
    assert!(cut[1].contains("cuts  resumed"), "{text}");
    assert!(cut[2].starts_with("– HAS NONE") && cut[3].contains("end with their connection"));
    assert!(cut[4].contains("  10    12.0 ms (9.00–31.0 ms)"), "{text}");
    assert!(!table(&text, "remote / tell")[1].contains("kept"), "{text}");
}

#[test]
fn a_void_row_has_its_reason_and_no_number() {
    let mut results = rich();
    let row = results.rows.iter_mut().find(|row| row.verdict == Verdict::Void).unwrap();
    row.known_bad = false;
    row.workload = "http".to_owned();
    row.cell = "get".to_owned();
    row.rate = Some(Spread { median: 7.77e10, min: 7.77e10, max: 7.77e10 });
    row.reasons = vec!["wrong content".to_owned()];
    let text = tables(&results);
    let lines = table(&text, "http / get");
    assert_eq!(
        lines[1..4],
        [
            "verdict         participant  witness",
            "○ NOT MEASURED  raw",
            "    the limit of this cell was not measured in this run",
        ]
    );
    assert_eq!(lines[4..], ["✕ VOID          scala-2016", "    wrong content"]);
    assert!(!text.contains("77.7"), "{text}");
}

#[test]
fn known_bad_participants_stand_in_a_table_of_their_own() {
    let text = tables(&rich());
    let lines = table(&text, "known bad: each must come out VOID or FLAGGED");
    assert!(lines.iter().any(|line| line.contains("broken-liar") && line.ends_with("yes")));
    assert_eq!(text.matches("broken-liar").count(), 1);
}

#[test]
fn columns_stand_below_each_other_and_lines_are_cut_nowhere_but_in_names() {
    let text = tables(&rich());
    let lines = table(&text, "counter / 1 sender");
    let place = |line: &str, word: &str| {
        line.find(word).map(|at| line[..at].chars().count()).unwrap_or_else(|| panic!("{line}"))
    };
    assert_eq!(place(lines[1], "rate"), place(lines[2], "24.1 M/s"), "{text}");
    assert!(text.contains("an-actor-library-with-a-name-that-s…"), "{text}");
}

#[test]
fn output_of_a_participant_cannot_move_the_cursor() {
    let mut results = rich();
    for row in &mut results.rows {
        row.participant.push_str("\u{1b}[31m");
        row.cell.push('\r');
        row.reasons.push("one\n✓ VALID  forged".to_owned());
    }
    let text = tables(&results);
    assert!(!text.contains('\u{1b}') && !text.contains('\r'));
    assert!(!text.contains("\n✓ VALID  forged"));
}

#[test]
fn an_empty_run_and_an_interrupted_one_say_so() {
    let mut results = rich();
    results.rows.clear();
    results.interrupted = true;
    let text = tables(&results);
    assert!(
        text.starts_with("INTERRUPTED") && text.contains("\nNo cell was measured.\n"),
        "{text}"
    );
}

#[test]
fn every_server_stands_beside_every_client_in_one_table() {
    let mut results = rich();
    let row = |results: &mut Results, cell: &str, change: fn(&mut Row)| {
        change(results.rows.iter_mut().find(|row| row.cell == cell).unwrap());
    };
    row(&mut results, "raw × go", |row| row.verdict = Verdict::Void);
    row(&mut results, "go × raw", |row| row.verdict = Verdict::Flagged);
    row(&mut results, "wigwag × go", |row| row.ratio_to_raw = None);
    results.rows.retain(|row| row.cell != "go × wigwag");
    let text = tables(&results);
    let lines = table(&text, "pingpong / every server (down) × every client (across), ÷ raw");
    let words = |line: &str| {
        line.split("  ")
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(lines[1])[..3], ["× raw", "× wigwag", "× go"], "{text}");
    let of = |server: &str| words(lines[2..].iter().find(|line| line.starts_with(server)).unwrap());
    assert_eq!(of("raw")[..4], ["raw", "1.00", "0.898", "✕"], "{text}");
    assert_eq!(of("wigwag")[3], "148 k/s", "{text}");
    assert_eq!(of("go")[1..3], ["▲ 0.777", "–"], "{text}");
}

#[test]
fn a_participant_that_met_nobody_else_has_no_matrix() {
    let mut results = rich();
    results.rows.retain(|row| !row.cell.contains(" × ") || row.cell == "raw × raw");
    assert!(!tables(&results).contains("every client"));
}

#[test]
fn cells_in_which_another_system_is_ahead_come_last() {
    let text = tables(&rich());
    let lines = table(&text, "where others are ahead");
    let words: Vec<&str> = lines[2].split_whitespace().collect();
    assert_eq!(words[..5], ["pingpong", "/", "server", "CPU", "s"], "{text}");
    assert!(lines[2].contains("6.10") && lines[2].contains("c-epoll  5.20"), "{text}");
    let mut results = rich();
    results.rows.retain(|row| row.participant != "wigwag");
    assert!(!tables(&results).contains("where others are ahead"));
}
