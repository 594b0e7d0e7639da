//! The gateway over real sockets.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod service;
mod client;
mod calls;
mod routes;
mod streams;
mod pages;
mod mounted;
mod live_page;
mod access;
mod pressure;
mod limits;
mod ending;
mod hostile;
mod sessions;
mod tls;
mod h2spec;
