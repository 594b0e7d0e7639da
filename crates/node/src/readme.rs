//! The snippets of the README and of the guides, so that they stay true: `cargo test --doc` compiles and runs them.
#![doc = include_str!("../../../README.md")]

#[doc = include_str!("../../../docs/options.md")]
mod options {}

#[doc = include_str!("../../../docs/transports.md")]
mod transports {}
