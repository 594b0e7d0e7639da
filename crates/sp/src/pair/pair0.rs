//! pair0: one peer, both directions, no header; the pair of nanomsg.
//!
//! It is incompatible with pair1: the handshake ends such a connection.

use wigwag_wire::ProtocolNumber;

use crate::pair::one_peer::OnePeer;

/// A pair0 socket.
pub type Pair0 = OnePeer<{ ProtocolNumber::PAIR0.0 }>;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use wigwag_wire::Time;

    use super::*;
    use crate::{CloseReason, PipeId, Protocol, Received};

    #[test]
    fn only_bodies_go_over_the_wire() {
        let (mut pair, now) = (Pair0::new(), Time::START);
        assert_eq!(pair.number(), ProtocolNumber::PAIR0);
        pair.open(PipeId(1), now).unwrap();
        assert_eq!(pair.open(PipeId(2), now), Err(CloseReason::HasPeer));
        pair.send(Bytes::from_static(b"out"), now).unwrap();
        assert_eq!(pair.transmit(PipeId(1)).unwrap().to_vec(), b"out");
        for body in [&b""[..], b"in", b"\0\0\x01\x01"] {
            assert_eq!(pair.receive(PipeId(1), Bytes::from_static(body), now), Received::Queued);
            assert_eq!(pair.recv(now).unwrap(), body);
        }
    }
}
