#![no_main]

use libfuzzer_sys::fuzz_target;
use wigwag_conformance::fuzz::ring::check;

fuzz_target!(|input: &[u8]| {
    if let Err(why) = check(input) {
        panic!("{why}");
    }
});
