//! The party that caused an error.
//!
//! Every error type of wigwag names it, so that the reader of an error knows where to look.

use core::fmt;

/// The party that caused an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The program that called wigwag: a wrong address, a wrong argument, a state that forbids the
    /// call.
    Caller,
    /// The program at the other end.
    Peer,
    /// The network in between, or nothing listens at the other end.
    Network,
    /// This machine: a port in use, no file handles left, no permission.
    Machine,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Caller => "the caller",
            Fault::Peer => "the peer",
            Fault::Network => "the network",
            Fault::Machine => "this machine",
        })
    }
}
