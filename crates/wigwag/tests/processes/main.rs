//! Nodes in processes of their own: killed, cut off by the network, flooded, hit with noise,
//! called by a program in another language, or sent values of every type. Also the examples of two
//! programs each.
//!
//! One binary, since only the other processes are observed: each is this program again, with the
//! name of one test that is its body. No test here counts resources of this process.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod python_client;
mod kills;
mod namespaces;
mod siege;
mod noise;
mod values;
mod examples;
