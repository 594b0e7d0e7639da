//! Nodes over real sockets within one process: transports, sessions and their cuts, the limits of
//! peers, and how nodes end. Also two programs that have two versions of an interface.
//!
//! One binary, since its tests share no state: each has nodes of its own, ports are 0, and names of
//! sockets are unique.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod remote;
mod described;
mod protocol_pages;
mod fixed_width;
mod held_turn;
mod mixed_runs;
mod peer_limits;
mod sessions;
mod tls;
mod trace;
mod ws;
mod cancel;
mod outcomes;
mod peer_words;
mod versions;
mod flush;
mod mailbox_bound;
mod metrics;
mod routers;
mod groups;
mod slow;
mod callers;
mod blocked;
mod close;
mod cluster;
mod encoders;
mod long;
mod shared_bytes;
mod references;
mod pipes;
mod sp_clients;
mod streams;
mod scattered;
mod proxies;
