//! Made-up bytes against everything that reads bytes of an SP peer, or of another node.
//!
//! A [`Target`] is a plain function that says which property some bytes have broken. The
//! [`driver`] feeds it on any toolchain, with seeds, a dictionary and mutations that know frames;
//! the folder `fuzz/` of the repository hands the same functions to libFuzzer.

pub mod driver;
pub mod header;
pub mod framing;
pub mod forward;
pub mod protocol;
pub mod session;
pub mod hostile;

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
    /// A run takes about as long as so many of the cheapest target.
    pub cost: u64,
}

/// All of them.
pub const TARGETS: [Target; 6] = [
    Target { name: "header", check: header::check, seeds: header::seeds, cost: 1 },
    Target { name: "framing", check: framing::check, seeds: framing::seeds, cost: 1 },
    Target { name: "forward", check: forward::check, seeds: forward::seeds, cost: 1 },
    Target { name: "protocol", check: protocol::check, seeds: protocol::seeds, cost: 1 },
    Target { name: "session", check: session::check, seeds: session::seeds, cost: 33 },
    Target { name: "hostile", check: hostile::check, seeds: hostile::seeds, cost: 5 },
];

/// An error unless `holds`.
pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(why()) }
}
