use super::*;
use crate::figures::statistics::Spread;
use crate::results::Interval;

fn rich() -> Results {
    serde_json::from_str(include_str!("../../../tests/fixtures/lab-1.json")).unwrap()
}

/// The page without the document that it carries.
fn visible(page: &str) -> &str {
    page.split_once("<script").unwrap().0
}

/// Words with which a participant may try to get out of its place.
const HOSTILE: &str = "</td></script><script>alert(1)</script><img src=x onerror='x'>\"'&\u{202e}";

/// Every text of the document that comes from outside.
fn made_hostile() -> Results {
    let mut results = rich();
    let at = &mut results.environment;
    for text in [&mut at.started, &mut at.wigwag, &mut at.cpu, &mut at.kernel] {
        text.push_str(HOSTILE);
    }
    at.congestion_control.push_str(HOSTILE);
    at.remarks.push(HOSTILE.to_owned());
    for row in &mut results.rows {
        for text in [&mut row.workload, &mut row.cell, &mut row.participant] {
            text.push_str(HOSTILE);
        }
        row.version = Some(HOSTILE.to_owned());
        row.reasons.push(HOSTILE.to_owned());
        for thread in row.runs.iter_mut().flat_map(|run| &mut run.threads) {
            thread.name.push_str(HOSTILE);
        }
    }
    results
}

#[test]
fn hostile_words_stay_words() {
    let page = page(&made_hostile());
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</script").count(), 1);
    assert!(!page.contains("<img"));
    assert!(!visible(&page).contains('\u{202e}'));
    assert!(visible(&page).contains("&lt;script&gt;alert(1)"));
}

/// Each attribute that was opened is closed before its element ends, whatever stands in it.
#[test]
fn no_attribute_is_left_open() {
    let page = page(&made_hostile());
    for element in visible(&page).split('<').skip(1) {
        let inside = element.split('>').next().unwrap();
        assert_eq!(inside.matches('"').count() % 2, 0, "<{inside}>");
    }
}

#[test]
fn the_document_comes_out_of_the_page_as_it_went_in() {
    for results in [rich(), made_hostile()] {
        let page = page(&results);
        let (_, after) = page.split_once("id=results>").unwrap();
        let (json, _) = after.split_once("</script>").unwrap();
        let found: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(found, serde_json::to_value(&results).unwrap());
    }
}

/// Even if a void row carried figures, the page would not show them.
#[test]
fn a_void_row_has_no_number_and_its_reason_is_shown() {
    let mut results = rich();
    let row = results.rows.iter_mut().find(|row| row.participant == "go").unwrap();
    row.verdict = Verdict::Void;
    row.reasons = vec!["it read a quarter".to_owned()];
    let absurd = 77_777_777.0;
    row.rate = Some(Spread { median: absurd, min: absurd, max: absurd });
    row.cpu_s_per_million = row.rate;
    row.ratio_to_raw = Some(Interval { median: absurd, low: absurd, high: absurd });
    row.peak_rss_bytes = Some(77_777_777_777_777);
    let page = page(&results);
    assert!(!visible(&page).contains("77.8 M") && !visible(&page).contains("77,77"));
    assert!(visible(&page).contains("it read a quarter"));
    assert!(visible(&page).contains("no number"));
    assert!(visible(&page).contains("<bdi>go</bdi> ✕ VOID"));
}

/// The curve of a participant that lost its number goes with the number.
#[test]
fn curves_and_courses_are_those_of_rows_that_earned_them() {
    let mut results = rich();
    let drawn = |results: &Results, what: &str| visible(&page(results)).matches(what).count();
    let (curves, areas) = (drawn(&results, "svg class=key"), drawn(&results, "class=\"area"));
    assert_eq!(curves, 9);
    assert!(areas > 40, "{areas}");
    for row in &mut results.rows {
        row.verdict = Verdict::Void;
        row.reasons = vec!["it read a quarter".to_owned()];
    }
    assert_eq!(drawn(&results, "svg class=key") + drawn(&results, "class=\"area"), 0);
}

/// Ten cuts are ten wedges, in the colours of either scheme, and the row's verdict decides.
#[test]
fn throughput_is_drawn_with_every_cut_in_it() {
    let mut results = rich();
    let drawn = |results: &Results, what: &str| visible(&page(results)).matches(what).count();
    assert_eq!(drawn(&results, "Throughput across cuts</h4>"), 1);
    assert_eq!(drawn(&results, "class=\"cut wedge\""), 10);
    assert!(drawn(&results, "10 cuts, back after 12.0 ms in the middle") == 1);
    assert!(visible(&page(&results)).contains(".cut{stroke:var(--void)"));
    let row = results.rows.iter_mut().find(|row| row.cuts.is_some()).unwrap();
    let cuts = row.cuts.as_mut().unwrap();
    cuts.resumed_ms = None;
    cuts.cuts.truncate(3);
    // A cut that lies outside of the run is not drawn.
    cuts.cuts[0].at_ms = 1e9;
    assert_eq!(drawn(&results, "class=\"cut wedge\""), 2);
    assert_eq!(drawn(&results, "3 cuts, it never came back"), 1);
    let row = results.rows.iter_mut().find(|row| row.cuts.is_some()).unwrap();
    row.cuts.as_mut().unwrap().bytes_per_second.fill(f64::NAN);
    assert_eq!(drawn(&results, "Throughput across cuts</h4>"), 0);
    let mut results = rich();
    let row = results.rows.iter_mut().find(|row| row.cuts.is_some()).unwrap();
    (row.verdict, row.reasons) = (Verdict::Void, vec!["7 messages were lost".to_owned()]);
    assert_eq!(drawn(&results, "Throughput across cuts</h4>"), 0);
}

/// The server is above the line and the client below it, and the legend names both.
#[test]
fn both_programs_of_a_pair_are_told_apart() {
    let mut results = rich();
    results.rows.retain(|row| row.cell == "tell" && row.participant == "raw");
    let page = page(&results);
    for words in [">server</text>", ">client</text>", "server: <bdi>raw-server</bdi> 50 %"] {
        assert!(visible(&page).contains(words), "{words}");
    }
    assert!(visible(&page).contains("server mem") && visible(&page).contains("wire B / msg"));
    let missing: Vec<&str> = page.matches("NaN").collect();
    assert!(missing.is_empty());
}

/// More participants than there are colours stand in more than one plot, the limit in each.
#[test]
fn a_plot_of_curves_has_no_more_lines_than_can_be_told_apart() {
    let mut results = rich();
    results.rows.retain(|row| row.cell == "rtt" && row.rtt_us.is_some());
    let erlang = results.rows.iter().find(|row| row.participant == "erlang").unwrap().clone();
    for number in 0..9 {
        let participant = format!("peer-{number}");
        results.rows.push(Row { participant, ..erlang.clone() });
    }
    let page = page(&results);
    assert!(visible(&page).contains("Round trips by share (2 of 2)"));
    assert_eq!(visible(&page).matches("<path class=\"line line-limit").count(), 4);
    for number in 0..palette::LINES {
        assert!(visible(&page).contains(&format!("line line{number}\"")), "{number}");
    }
    assert!(!visible(&page).contains(&format!("line line{}\"", palette::LINES)));
}

#[test]
fn every_reason_of_the_document_is_on_the_page() {
    let results = rich();
    let page = page(&results);
    for reason in results.rows.iter().flat_map(|row| &row.reasons) {
        assert!(visible(&page).contains(&html(reason)), "{reason}");
    }
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = page(&rich());
    for word in ["http:", "https:", "url(", "@import", "<link", "src="] {
        assert!(!visible(&page).contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn a_known_bad_participant_with_a_number_is_the_first_thing_said() {
    let mut results = rich();
    assert!(!page(&results).contains("Do not trust"));
    let row = results.rows.iter_mut().find(|row| row.participant == "broken-liar").unwrap();
    row.verdict = Verdict::Valid;
    let page = page(&results);
    let alarm = page.find("Do not trust").unwrap();
    assert!(alarm < page.find("<table").unwrap());
    assert!(page.contains("NO: it got a number"));
}

/// A number with a flag that says nothing against it is an escape on the page, on the terminal and
/// for the exit code alike.
#[test]
fn a_known_bad_participant_that_only_noise_flagged_has_escaped() {
    let mut results = rich();
    let row = results.rows.iter_mut().find(|row| row.participant == "broken-liar").unwrap();
    row.verdict = Verdict::Flagged;
    row.reasons = vec!["no quiet window in 1 of 3 rounds".to_owned()];
    assert!(has_escaped(row));
    assert!(page(&results).contains("Do not trust"));
    assert!(crate::report::text::tables(&results).contains("NO: it got a number"));
}

/// In the table, and in the bars, whose first part is that of the server.
#[test]
fn processor_time_is_shown_side_by_side() {
    let page = page(&rich());
    for words in ["server 0.0845 + client 0.0855", "0.0845 + 0.0855 s", "one program"] {
        assert!(visible(&page).contains(words), "{words}");
    }
}

#[test]
fn a_cell_without_its_limit_says_so() {
    let mut results = rich();
    results.rows.retain(|row| row.participant != "raw");
    assert!(page(&results).contains("NOT MEASURED"));
}

#[test]
fn figures_that_are_no_numbers_leave_their_place_empty_or_dashed() {
    let mut results = rich();
    for row in &mut results.rows {
        let nan = f64::NAN;
        row.rate = row.rate.map(|_| Spread { median: nan, min: nan, max: f64::INFINITY });
        row.cpu_s_per_million = row.rate;
        row.ratio_to_raw = row.ratio_to_raw.map(|_| Interval { median: nan, low: 0.0, high: nan });
        if let Some(rtt) = &mut row.rtt_us {
            (rtt.p50, rtt.max) = (0.0, f64::INFINITY);
        }
        row.runs.iter_mut().for_each(|run| run.cpu_seconds = nan);
    }
    let page = page(&results);
    assert!(!visible(&page).contains("NaN") && !visible(&page).contains("inf\""));
}

#[test]
fn an_empty_run_and_an_interrupted_one_are_pages() {
    let mut results = rich();
    results.rows.clear();
    results.interrupted = true;
    results.quick = true;
    let page = page(&results);
    for word in ["No cell was measured", "Interrupted", "Quick", "Example Processor"] {
        assert!(page.contains(word), "{word}");
    }
}

#[test]
fn cells_in_which_another_system_is_ahead_stand_before_all_tables() {
    let mut results = rich();
    let behind = "<h2 id=behind>";
    let page_of = |results: &Results| visible(&page(results)).to_owned();
    let all = page_of(&results);
    let (section, rest) =
        all.split_once(behind).unwrap().1.split_once("<h2 id=workload-0>").unwrap();
    assert!(section.contains("pingpong / server") && section.contains("c-epoll"), "{section}");
    assert!(!rest.contains(behind) && all.contains("href=#behind"));
    // A wigwag that is ahead of nobody, and then none at all.
    results.rows.retain(|row| row.participant != "c-epoll");
    assert!(page_of(&results).contains("In no cell of this run"));
    results.rows.retain(|row| row.participant != "wigwag");
    let none = page_of(&results);
    assert!(!none.contains(behind) && !none.contains("#behind"));
}
