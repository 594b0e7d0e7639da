//! Two programs that know two versions of an interface: one test for each row of `docs/versions.md`.
//!
//! In each test the older program calls the actor of the newer one, and the newer program that of the
//! older one. The versions are in `tests/versions`, in a module for each row.

use wigwag_testkit::program::{Program, example};

/// Runs the calls of a row in both directions. Each line of `older` is what the older program prints
/// of a call, and each of `newer` what the newer one prints; `…` stands for any text.
fn check<T: AsRef<str>>(row: &str, older: &[T], newer: &[T]) {
    call(row, "older_program", "newer_program", older);
    call(row, "newer_program", "older_program", newer);
}

fn call(row: &str, caller: &str, service: &str, expected: &[impl AsRef<str>]) {
    // Both are built before one of them runs, for no longer than it may.
    for program in [service, caller] {
        example(program);
    }
    let there = Program::start(service, &["serve"]);
    let address = there.line().unwrap();
    let said = Program::start(caller, &["call", &address, row]).end();
    let expected: Vec<_> = expected.iter().map(AsRef::as_ref).collect();
    let is_same = said.len() == expected.len()
        && said.iter().zip(&expected).all(|(said, expected)| is_like(said, expected));
    assert!(is_same, "{caller} of {service}: {said:#?} is not {expected:#?}");
    assert_eq!(there.end(), [""; 0]);
}

/// True if the line is the pattern, in which `…` stands for any text.
fn is_like(line: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('…');
    let mut rest = parts.next().and_then(|start| line.strip_prefix(start));
    let mut last = None;
    for part in parts {
        rest = rest.and_then(|rest| rest.split_once(part)).map(|(_, rest)| rest);
        last = Some(part);
    }
    match last {
        // The text after the last `…` is the end of the line.
        Some(end) => rest.is_some() && line.ends_with(end),
        None => rest == Some(""),
    }
}

#[test]
fn a_pattern_stands_for_the_lines_that_have_its_parts_in_order() {
    for (line, pattern) in
        [("a", "a"), ("a: b", "a…b"), ("a b c", "a…b…c"), ("a b b", "a…b"), ("a b c", "a…b…")]
    {
        assert!(is_like(line, pattern), "{line}, {pattern}");
    }
    for (line, pattern) in
        [("ab", "a"), ("ba", "a"), ("a b c", "a…b"), ("a c b", "a…b…c"), ("b a", "a…b")]
    {
        assert!(!is_like(line, pattern), "{line}, {pattern}");
    }
}

#[test]
fn the_actor_may_be_renamed() {
    check("actor_renamed", &["difference: 3"], &["difference: 3"]);
}

#[test]
fn methods_may_be_added_and_moved_and_types_may_contain_themselves() {
    let older = ["narrow: 7", "sum: 6"];
    let newer = ["added is refused, NoSuchMethod: …: added", "sum: 6", "narrow: 7"];
    check("methods_added", &older, &newer);
}

#[test]
fn a_removed_method_is_refused() {
    let older = ["removed is refused, NoSuchMethod: …: removed", "kept: 2"];
    check("method_removed", &older, &["kept: 2"]);
}

#[test]
fn a_renamed_method_is_found_where_either_side_declares_it() {
    let older = ["spread: 3", "narrow: 7", "share is refused, NoSuchMethod: …: share"];
    let newer = ["distance: 3", "tight: 7", "portion is refused, NoSuchMethod: …: portion"];
    check("methods_renamed", &older, &newer);
}

/// In every way of sending.
#[test]
fn arguments_that_have_changed_places_are_matched_by_their_names() {
    let said = ["distance: 3", r#"note: "300 by Some(\"me\")""#, "pipeline: 600", "turn: 600"];
    check("arguments_moved", &said, &said);
}

#[test]
fn a_renamed_argument_is_refused_unless_either_side_declares_it() {
    let older = [
        "share: 2",
        "narrow: 7",
        "distance is refused, BadArguments: …`distance` takes (begin: u64, to: u64) there and \
         (from: u64, to: u64) here: `begin` has no counterpart…",
    ];
    let newer = [
        "share: 2",
        "narrow: 7",
        "distance is refused, BadArguments: …`distance` takes (from: u64, to: u64) there and \
         (begin: u64, to: u64) here: `from` has no counterpart…",
    ];
    check("arguments_renamed", &older, &newer);
}

#[test]
fn an_optional_argument_may_be_missing_at_either_side() {
    check("option_added", &[r#"note: "a by None""#], &[r#"note: "a""#]);
}

#[test]
fn another_argument_may_not_be_missing() {
    let older =
        ["distance is refused, BadArguments: …`distance` takes (from: u64, to: u64, unit: \
                  u64) there and (from: u64, to: u64) here: `unit` has no counterpart…"];
    let newer =
        ["distance is refused, BadArguments: …`distance` takes (from: u64, to: u64) there \
                  and (from: u64, to: u64, unit: u64) here: `unit` has no counterpart…"];
    check("argument_added", &older, &newer);
}

#[test]
fn a_wider_or_narrower_number_is_accepted_where_it_fits() {
    let older = ["double: 14", "double has failed, BadReply: …u32"];
    let newer = [
        "double: 14",
        "double has failed, BadArguments: …double: …u32",
        "receipt: rejected: the method takes other arguments",
        "tell: Rejected, double",
    ];
    check("numbers", &older, &newer);
}

#[test]
fn another_type_is_rejected_or_a_bad_reply() {
    let older = [
        "note has failed, BadArguments: …note: expected u64, found…",
        "added has failed, BadReply: …expected u64, found…",
    ];
    let newer = [
        "note has failed, BadArguments: …note: expected text, found…",
        "added has failed, BadReply: …expected text, found…",
    ];
    check("type_changed", &older, &newer);
}

#[test]
fn fields_that_have_changed_places_are_refused_in_arguments_and_replies() {
    let older = [
        "length is refused, BadArguments: …`Range` has the parts to, from there and from, to here…",
        "all is refused, BadArguments: …`Range` has the parts to, from there and from, to here…",
    ];
    let newer = [
        "length is refused, BadArguments: …`Range` has the parts from, to there and to, from here…",
        "all is refused, BadArguments: …`Range` has the parts from, to there and to, from here…",
    ];
    check("fields_moved", &older, &newer);
}

#[test]
fn a_renamed_field_is_refused_unless_either_side_declares_it() {
    let older = [
        "range: Range { from: 2 }",
        "span: Span { from: 2 }",
        "gap is refused, BadArguments: …`Gap` …`begin` and `from` stand in one place…",
        "a_gap is refused, BadArguments: …`Gap` …`begin` and `from` stand in one place…",
    ];
    let newer = [
        "range: Range { begin: 2 }",
        "span: Span { begin: 2 }",
        "gap is refused, BadArguments: …`Gap` …`from` and `begin` stand in one place…",
        "a_gap is refused, BadArguments: …`Gap` …`from` and `begin` stand in one place…",
    ];
    check("fields_renamed", &older, &newer);
}

#[test]
fn an_optional_field_may_be_added_at_the_end() {
    let older =
        [r#"text: "Range { from: 2, to: 5, step: None }""#, "all: Range { from: 1, to: 9 }"];
    let newer =
        [r#"text: "Range { from: 2, to: 5 }""#, "all: Range { from: 1, to: 9, step: None }"];
    check("option_field_added", &older, &newer);
}

#[test]
fn another_field_at_the_end_is_skipped_and_may_not_be_missing() {
    let older =
        ["text has failed, BadArguments: …text: …3 fields", "all: Range { from: 1, to: 9 }"];
    let newer = [r#"text: "Range { from: 2, to: 5 }""#, "all has failed, BadReply: …3 fields"];
    check("field_added", &older, &newer);
}

#[test]
fn a_variant_may_be_added_at_the_end_and_only_it_is_not_understood() {
    let older = [
        r#"text: "[Circle(1), Square(2)]""#,
        "known: [Circle(1), Square(2)]",
        "all has failed, BadReply: …2 variants",
    ];
    let newer = [
        r#"text: "[Circle(1), Square(2)]""#,
        "text has failed, BadArguments: …text: …2 variants",
        "known: [Circle(1), Square(2)]",
        "all: [Circle(1), Square(2)]",
    ];
    check("variant_added", &older, &newer);
}

#[test]
fn variants_that_have_changed_places_are_refused_in_arguments_and_replies() {
    let refused = |there: &str, here: &str| {
        ["text", "known", "all"].map(|call| {
            let differ = format!("`Shape` has the parts {there} there and {here} here");
            format!("{call} is refused, BadArguments: …{differ}…")
        })
    };
    let (old, new) = ("Circle, Square", "Square, Circle");
    check("variants_moved", &refused(new, old), &refused(old, new));
}
