use super::*;
use crate::results::Verdict;

fn rich() -> Results {
    serde_json::from_str(include_str!("../../../tests/fixtures/lab-1.json")).unwrap()
}

/// A run of one row besides the limit, with this ratio.
fn with(median: f64, low: f64, high: f64) -> Results {
    let mut results = rich();
    results.rows.retain(|row| row.cell == "tell" && !row.known_bad);
    results.rows.truncate(2);
    results.rows[1].ratio_to_raw = Some(Interval { median, low, high });
    results
}

#[test]
fn faster_and_slower_need_intervals_that_lie_apart() {
    let old = with(0.5, 0.45, 0.55);
    let cases = [
        (with(0.6, 0.56, 0.65), "faster"),
        (with(0.4, 0.35, 0.44), "slower"),
        (with(0.6, 0.54, 0.65), "not distinguishable"),
        (with(0.6, 0.55, 0.65), "not distinguishable"),
        (with(0.4, 0.35, 0.46), "not distinguishable"),
    ];
    for (new, verdict) in cases {
        let text = compare(&old, &new, Kernel::Same, false).unwrap();
        let line = text.lines().find(|line| line.contains("/wigwag")).unwrap();
        assert!(line.starts_with(verdict), "{line}");
        assert!(text.contains("the limit"), "{text}");
        let summary = match verdict {
            "faster" => "0 of 1 rows agree (0 %); faster: 1, slower: 0",
            "slower" => "0 of 1 rows agree (0 %); faster: 0, slower: 1",
            _ => "1 of 1 rows agree (100 %); faster: 0, slower: 0",
        };
        assert_eq!(text.lines().last(), Some(summary));
    }
}

/// How far two such ratios lie apart tells nothing.
#[test]
fn a_row_of_one_round_has_no_verdict_and_does_not_count() {
    let old = with(0.5, 0.5, 0.5);
    let mut new = with(0.9, 0.9, 0.9);
    new.rows[1].runs.truncate(1);
    for (old, new) in [(&old, &new), (&new, &old)] {
        let text = compare(old, new, Kernel::Same, false).unwrap();
        let line = text.lines().find(|line| line.contains("/wigwag")).unwrap();
        assert!(line.starts_with("no interval  "), "{line}");
        assert!(!text.contains("rows agree"), "{text}");
    }
}

#[test]
fn unlike_environments_are_refused_with_what_differs() {
    let old = rich();
    let mut new = rich();
    new.environment.cores = 64;
    new.environment.kernel = "Linux 7.2".to_owned();
    new.environment.remarks.pop();
    new.quick = true;
    let unlike = compare(&old, &new, Kernel::Same, false).unwrap_err();
    let what: Vec<&str> = unlike.differences.iter().map(|each| each.what).collect();
    assert_eq!(what, ["length of the run", "cores", "kernel", "remarks"]);
    assert!(unlike.to_string().contains("cores: 2 → 64"), "{unlike}");
}

#[test]
fn a_kernel_may_differ_where_that_is_allowed_and_the_text_says_so_first() {
    let (old, mut new) = (with(0.5, 0.45, 0.55), with(0.6, 0.56, 0.65));
    new.environment.kernel = "Linux 6.1.0-99".to_owned();
    let refused = compare(&old, &new, Kernel::Same, false).unwrap_err().to_string();
    assert!(
        refused.contains("→ Linux 6.1.0-99\n") && refused.ends_with("--any-kernel"),
        "{refused}"
    );
    let text = compare(&old, &new, Kernel::Any, false).unwrap();
    let told = format!("Allowed to differ: kernel: {} → Linux 6.1.0-99\n", old.environment.kernel);
    assert!(text.starts_with(&told), "{text}");
    assert!(text.ends_with("faster: 1, slower: 0\n"), "{text}");
    let same = compare(&old, &old, Kernel::Any, false).unwrap();
    assert!(!same.contains("Allowed"), "{same}");
    let across = compare(&old, &new, Kernel::Any, true).unwrap();
    assert!(across.contains("  kernel: ") && !across.contains("Allowed"), "{across}");
    new.environment.cores = 64;
    let refused = compare(&old, &new, Kernel::Any, false).unwrap_err();
    assert!(refused.to_string().ends_with("cores: 2 → 64"), "{refused}");
}

#[test]
fn versions_and_volatile_fields_may_differ() {
    let old = rich();
    let mut new = rich();
    new.environment.wigwag = "0.2.0".to_owned();
    new.environment.started = "2027-01-01T00:00:00Z".to_owned();
    new.environment.load = 1.7;
    new.environment.memory_bytes -= 4_096;
    new.environment.remarks.reverse();
    new.environment.remarks.push(format!("{RUNS}counter from 2027-01-01T00:00:00Z"));
    assert!(compare(&old, &new, Kernel::Same, false).is_ok());
    new.environment.memory_bytes /= 2;
    assert_eq!(compare(&old, &new, Kernel::Same, false).unwrap_err().differences.len(), 1);
}

#[test]
fn across_tells_what_differs_first_and_gives_no_verdict() {
    let (old, mut new) = (with(0.5, 0.45, 0.55), with(0.9, 0.85, 0.95));
    new.environment.cpu = "Another".to_owned();
    let text = compare(&old, &new, Kernel::Same, true).unwrap();
    let differs = text.find("processor: Example Processor 7 @ 2.40 GHz → Another").unwrap();
    let ratio = text.find("0.500 (0.450–0.550) → 0.900 (0.850–0.950)  × 1.80").unwrap();
    assert!(differs < ratio, "{text}");
    assert!(!text.contains("faster") && !text.contains("distinguishable"), "{text}");
}

#[test]
fn a_row_without_a_number_on_one_side_is_reported_with_its_reason() {
    let (old, mut new) = (with(0.5, 0.45, 0.55), with(0.9, 0.85, 0.95));
    new.rows[1].verdict = Verdict::Void;
    new.rows[1].reasons = vec!["it lost\u{1b}[2J 3 messages".to_owned()];
    let text = compare(&old, &new, Kernel::Same, false).unwrap();
    let told = "VALID 0.500 (0.450–0.550) → VOID (it lost\\u{1b}[2J 3 messages)";
    assert!(text.contains(told), "{text}");
    assert!(text.contains("not comparable"), "{text}");
    assert!(!text.contains("0.900"), "{text}");
}

#[test]
fn rows_of_one_run_only_and_other_versions_are_reported() {
    let (mut old, mut new) = (with(0.5, 0.45, 0.55), with(0.5, 0.45, 0.55));
    old.rows[1].version = Some("1.0".to_owned());
    new.rows.push(new.rows[1].clone());
    new.rows[2].participant = "newcomer".to_owned();
    let text = compare(&old, &new, Kernel::Same, false).unwrap();
    assert!(text.contains("[version 1.0 → wigwag 0.1.0]"), "{text}");
    assert!(text.contains("only in the new run"), "{text}");
    let back = compare(&new, &old, Kernel::Same, false).unwrap();
    assert!(back.contains("only in the old run"), "{back}");
}

#[test]
fn a_run_compared_with_itself_has_nothing_to_tell_apart() {
    let text = compare(&rich(), &rich(), Kernel::Same, false).unwrap();
    let differs = |line: &str| line.starts_with("faster") || line.starts_with("slower");
    assert!(!text.lines().any(differs), "{text}");
    assert_eq!(text.lines().count(), rich().rows.len() + 1);
    let summary = text.lines().last().unwrap();
    assert!(summary.contains("rows agree (100 %); faster: 0, slower: 0"), "{summary}");
}
