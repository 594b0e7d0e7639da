//! The two forms of a message in calls to the protocol: a body, or header and body apart.

use bytes::Bytes;
use wigwag_sp::{ContextId, Protocol, RawMessage, RecvError, Refusal};
use wigwag_wire::Time;

/// A message that is sent and received as a whole.
pub(super) trait SocketMessage: Default {
    /// Gives the message to the protocol, or returns it unchanged.
    fn put(
        self,
        protocol: &mut dyn Protocol,
        context: ContextId,
        now: Time,
    ) -> Result<(), (Self, Refusal)>;

    /// Takes the next message from the protocol.
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

/// Sockets with raw messages have no contexts.
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
