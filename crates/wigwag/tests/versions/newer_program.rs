//! The program that knows the newer version of each interface of `docs/versions.md`.
//! `tests/nodes/versions.rs` runs it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod version;
mod newer;

use std::error::Error;

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    version::run(newer::export, newer::call).await
}
