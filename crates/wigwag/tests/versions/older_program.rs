//! The program that knows the older version of each interface of `docs/versions.md`.
//! `tests/nodes/versions.rs` runs it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod version;
mod older;

use std::error::Error;

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    version::run(older::export, older::call).await
}
