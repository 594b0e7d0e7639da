//! Tests of every transport, protocol and codec against the promises of all of them. They are one
//! binary: each test has addresses of its own, and each scheme is registered once.

mod codecs;
mod transports;
mod protocols;
mod toy;
mod piped;
mod handed;
mod configured;
mod others;
