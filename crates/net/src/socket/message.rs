//! What a call hands to the protocol and gets from it: a body, or header and body apart.

use bytes::Bytes;
use wigwag_sp::{ContextId, Protocol, RawMessage, RecvError, Refusal};
use wigwag_wire::Time;

/// Something that is sent and received in one piece.
pub(super) trait SocketMessage: Default {
    /// Gives it to the protocol, or gets it back unchanged.
    fn put(
        self,
        protocol: &mut dyn Protocol,
        context: ContextId,
        now: Time,
    ) -> Result<(), (Self, Refusal)>;

    /// Gets the next one.
    fn take(protocol: &mut dyn Protocol, context: ContextId, now: Time) -> Result<Self, RecvError>;
}

impl SocketMessage for Bytes {
    fn put(
        self,
        protocol: &mut dyn Protocol,
        context: ContextId,
        now: Time,
    ) -> Result<(), (Bytes, Refusal)> {
        let outcome = protocol.send_in(context, self, now);
        outcome.map_err(|refused| (refused.body, refused.why))
    }

    fn take(
        protocol: &mut dyn Protocol,
        context: ContextId,
        now: Time,
    ) -> Result<Bytes, RecvError> {
        protocol.recv_in(context, now)
    }
}

/// Whatever has raw messages has no contexts.
impl SocketMessage for RawMessage {
    fn put(
        self,
        protocol: &mut dyn Protocol,
        _context: ContextId,
        now: Time,
    ) -> Result<(), (RawMessage, Refusal)> {
        let outcome = protocol.send_raw(self, now);
        outcome.map_err(|refused| (refused.message, refused.why))
    }

    fn take(
        protocol: &mut dyn Protocol,
        _context: ContextId,
        now: Time,
    ) -> Result<RawMessage, RecvError> {
        protocol.recv_raw(now)
    }
}
