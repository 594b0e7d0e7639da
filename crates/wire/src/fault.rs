//! Whose doing an error is.
//!
//! A person who reads an error wants to know first whom to ask. Every error type of wigwag answers.

use core::fmt;

/// Where the cause of an error lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The program that called wigwag: a wrong address, a wrong argument, a state that forbids it.
    Caller,
    /// The program at the other end.
    Peer,
    /// What lies between, or nobody is at the other end.
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
