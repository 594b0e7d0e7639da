//! `wigwag demo --serve`: the command lines that it suggests work.

use crate::process::{Serving, run};

#[test]
fn the_suggested_command_lines_work_and_ctrl_c_ends_the_service() {
    let serving = Serving::start();
    let offers: Vec<Vec<&str>> =
        serving.offers.iter().map(|offer| offer.split(' ').skip(1).collect()).collect();
    let [ask, describe] = offers.as_slice() else {
        panic!("two lines are suggested: {:?}", serving.offers);
    };
    let asked = run(ask.iter().copied());
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "5\n"), "{asked:?}");
    let described = run(describe.iter().copied());
    assert_eq!(described.code, Some(0), "{described:?}");
    assert!(described.out.contains("  get_and_reset() -> u64\n"), "{described:?}");
    let ended = serving.interrupt();
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

/// As a service manager does it, and right after the last line.
#[test]
fn a_service_ends_in_good_order_at_sigterm() {
    let ended = Serving::start().end_with("TERM");
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
}

#[test]
fn the_help_fits_on_one_screen_and_has_three_examples() {
    let help = run(["--help"]);
    assert_eq!(help.code, Some(0));
    assert!(help.out.lines().count() <= 24, "{}", help.out);
    let examples = help.out.lines().filter(|line| line.starts_with("  wigwag "));
    assert_eq!(examples.count(), 3, "{}", help.out);
}
