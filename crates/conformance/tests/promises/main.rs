//! Every transport, protocol and codec against what all of them promise. One binary: each test has
//! addresses of its own, and a scheme is registered once.

mod codecs;
mod transports;
mod protocols;
mod toy;
mod handed;
mod others;
