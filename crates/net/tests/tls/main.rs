//! `tls+tcp://` between sockets, against peers that are refused, and against peers without TLS.

mod ends;
mod refusals;
mod plain;
mod sockets;
mod reload;

#[path = "../support/certificates.rs"]
mod certificates;
