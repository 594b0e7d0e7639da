//! Our sockets against other programs: nanocat of nanomsg, nngcat and pynng of NNG, and mangos.
//!
//! Each protocol, each direction of the connection, over tcp, ipc and ws, and a few over TLS; and a
//! page in a browser. The programs come with the Debian packages nanomsg-utils and nng-utils, mangos by Go from its module proxy, and pynng as a
//! Python package in an environment of the target folder. The tests run if `WIGWAG_OUTSIDE=1` is
//! set; then a program that is not installed is a failure. nanomsg has no pair version 1, and only
//! mangos has star.
#![allow(clippy::unwrap_used, reason = "a test ends where it fails")]

mod peer;
mod one;
mod many;
mod forward;
mod names;
mod sizes;
mod exchanges;
mod hops;
mod restart;
mod browser;
#[cfg(feature = "tls")]
mod tls;

#[cfg(feature = "tls")]
#[path = "../support/certificates.rs"]
mod certificates;
