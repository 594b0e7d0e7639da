//! The promises of sockets of any protocol: their calls, options, counters and closes, raw sockets
//! and what forwards between them.

pub mod socket;
pub mod options;
pub mod observation;
pub mod closing;
pub mod raw;
pub mod forwarders;
pub mod hops;
