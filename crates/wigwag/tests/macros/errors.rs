//! What the macros refuse, and what they say about it: where it is written, why, and what to write
//! instead.

#[test]
fn errors_say_what_to_write_instead() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
