//! Nodes in processes of their own: killed, cut off by the network, flooded, hit with noise, or spoken
//! to by a program in another language.
//!
//! One binary, since only the other processes are looked at: they are this program again, with the
//! name of one test that is their body. Nothing here counts what this process holds.
#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod python_client;
mod kills;
mod namespaces;
mod siege;
mod noise;
