//! The errors of the macros: where they point, the reason, and the remedy.

#[test]
fn errors_say_what_to_write_instead() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
