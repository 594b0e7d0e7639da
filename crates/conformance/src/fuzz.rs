//! Made-up bytes against everything that reads bytes of an SP peer.
//!
//! A [`Target`] is a plain function that says which property some bytes have broken. The
//! [`driver`] feeds it on any toolchain, with seeds, a dictionary and mutations that know frames;
//! the folder `fuzz/` of the repository hands the same functions to libFuzzer.

pub mod driver;
pub mod header;
pub mod framing;
pub mod forward;
pub mod protocol;

/// Bytes that are looked at in one run; more tells nothing new.
pub const INPUT_BYTES_MAX: usize = 4096;

/// The property that was broken.
pub type Verdict = Result<(), String>;

/// One function under test.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// As it is called on the command line.
    pub name: &'static str,
    /// Says what is broken.
    pub check: fn(&[u8]) -> Verdict,
    /// Where mutations begin.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// All of them.
pub const TARGETS: [Target; 4] = [
    Target { name: "header", check: header::check, seeds: header::seeds },
    Target { name: "framing", check: framing::check, seeds: framing::seeds },
    Target { name: "forward", check: forward::check, seeds: forward::seeds },
    Target { name: "protocol", check: protocol::check, seeds: protocol::seeds },
];

/// An error unless `holds`.
pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(why()) }
}
