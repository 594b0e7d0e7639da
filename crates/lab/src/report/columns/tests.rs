use super::*;

#[test]
fn a_unit_that_both_ends_share_is_said_once() {
    let spread = |min, max| spread_of(Spread { median: 2e6, min, max }, rate).line();
    assert_eq!(spread(1.5e6, 2.5e6), "2.00 M/s (1.50–2.50 M/s)");
    assert_eq!(spread(9e5, 2.5e6), "2.00 M/s (900 k/s–2.50 M/s)");
    assert_eq!(spread(2e6, 2e6), "2.00 M/s");
}

/// Percentiles of a closed loop promise no latency under a load, in no head.
#[test]
fn percentiles_of_a_closed_loop_are_called_round_trips_and_a_stall_stands_among_them() {
    let titles: Vec<&str> = Column::all().iter().map(|column| column.title).collect();
    for percentile in ["p50", "p90", "p99", "max"] {
        assert!(titles.contains(&format!("RTT {percentile}").as_str()), "{titles:?}");
    }
    let results: crate::results::Results =
        serde_json::from_str(include_str!("../../../tests/fixtures/lab-1.json")).unwrap();
    let closed = results.rows.iter().filter(|row| row.rtt_us.is_some());
    for column in closed.flat_map(|row| Column::used_by(&[row])) {
        assert!(!column.title.contains("latency"), "{}", column.title);
    }
}

#[test]
fn bits_are_those_of_the_messages_where_their_length_is_known() {
    let results: crate::results::Results =
        serde_json::from_str(include_str!("../../../tests/fixtures/lab-1.json")).unwrap();
    let mut row = results.rows.into_iter().find(|row| row.message_bytes.is_some()).unwrap();
    let column = Column::all().iter().find(|column| column.title == "Gb/s").unwrap();
    row.message_bytes = Some(4_096);
    row.rate = Some(Spread { median: 1e6, min: 5e5, max: 2e6 });
    assert_eq!(column.of(&row).unwrap().line(), "32.8 (16.4–65.5)");
    row.message_bytes = None;
    assert!(column.of(&row).is_none());
}

#[test]
fn processor_time_is_told_side_by_side_and_one_program_is_called_so() {
    let results: crate::results::Results =
        serde_json::from_str(include_str!("../../../tests/fixtures/lab-1.json")).unwrap();
    let column = Column::all().iter().find(|column| column.title == "CPU by side").unwrap();
    let of = |workload: &str, cell: &str| {
        let here = |row: &&Row| (row.workload.as_str(), row.cell.as_str()) == (workload, cell);
        let row = results.rows.iter().find(|row| here(row) && row.participant == "raw");
        column.of(row.unwrap()).map(|figure| figure.line())
    };
    assert_eq!(of("remote", "tell").unwrap(), "server 0.0845 + client 0.0855");
    assert_eq!(of("counter", "1 sender").unwrap(), "one program");
    assert_eq!(of("pingpong", "server"), None, "the lab's own client stood beside it");
    assert!(column.terminal != TerminalDetail::None, "a terminal shows it too");
}

/// A worker's share, the generator's cost and the heads of answers are figures of http alone.
#[test]
fn a_server_of_http_shows_its_workers_its_heads_and_what_asking_cost() {
    let results: crate::results::Results =
        serde_json::from_str(include_str!("../../../tests/fixtures/lab-1.json")).unwrap();
    let of = |workload: &str, title: &str| {
        let here = |row: &&Row| (row.workload.as_str(), row.cell.as_str()) == (workload, "server");
        let column = Column::all().iter().find(|column| column.title == title).unwrap();
        column.of(results.rows.iter().find(here).unwrap()).map(|figure| figure.main)
    };
    assert_eq!(of("http", "busiest ÷ mean").unwrap(), "1.09");
    assert_eq!(of("http", "workers").unwrap(), "51 + 42");
    assert_eq!(of("http", "header B").unwrap(), "137");
    assert_eq!(of("http", "generator CPU").unwrap(), "4.14");
    for title in ["busiest ÷ mean", "workers", "header B", "generator CPU"] {
        assert_eq!(of("pingpong", title), None, "{title}");
    }
}

#[test]
fn where_the_lab_was_the_limit_a_rate_is_a_lower_bound() {
    let results: crate::results::Results =
        serde_json::from_str(include_str!("../../../tests/fixtures/lab-1.json")).unwrap();
    let mut row = results.rows.into_iter().find(|row| row.rate.is_some()).unwrap();
    let of = |row: &Row, title: &str| {
        let column = Column::all().iter().find(|column| column.title == title);
        column.unwrap().of(row).unwrap().main
    };
    row.verdict = Verdict::Valid;
    assert!(!of(&row, "rate").contains('≥'));
    row.verdict = Verdict::Flagged;
    row.reasons = vec!["at least this: the lab's own side took 96 % of a processor".to_owned()];
    assert!(of(&row, "rate").starts_with("≥ ") && of(&row, "÷ raw").starts_with("≥ "));
    assert!(!of(&row, "CPU s / M").contains('≥'));
}
