//! The snippets of the README, so that they stay true: `cargo test --doc` compiles and runs them.
#![doc = include_str!("../../../README.md")]
