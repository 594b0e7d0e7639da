//! pair1: one peer, both directions, with a header.
//!
//! The header is one word: three zero bytes and the hop count (RFC sp-pair-01). The socket sends 1
//! and also accepts 0, against the letter of the RFC, because mangos sends 0 and NNG accepts it. A
//! message over the hop limit is dropped; reserved bits or a missing header close the pipe, as in
//! NNG.

use wigwag_wire::ProtocolNumber;

use crate::pair::one_peer::OnePeer;

/// A pair1 socket.
pub type Pair1 = OnePeer<{ ProtocolNumber::PAIR1.0 }>;

#[cfg(test)]
mod tests;
