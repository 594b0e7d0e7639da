//! `tls+tcp://` between sockets, against peers that are refused, and against peers without TLS.

#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod ends;
mod refusals;
mod versions;
mod plain;
mod sockets;
mod reload;
mod resumed;

#[path = "../support/certificates.rs"]
mod certificates;
