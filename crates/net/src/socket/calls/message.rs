//! The two forms of a message in calls to the protocol: a body, or header and body apart.

use std::mem;

use bytes::Bytes;
use wigwag_sp::{ContextId, Protocol, RawMessage, RecvError, Refusal};
use wigwag_wire::Time;

/// A message that is sent and received as a whole.
pub(crate) trait SocketMessage: Default + Unpin {
    /// Gives the message to the protocol; it stays here if it is refused.
    fn put(
        &mut self,
        protocol: &mut dyn Protocol,
        context: ContextId,
        now: Time,
    ) -> Result<(), Refusal>;

    /// Takes the next message from the protocol.
    fn take(
        &mut self,
        protocol: &mut dyn Protocol,
        context: ContextId,
        now: Time,
    ) -> Result<(), RecvError>;
}

impl SocketMessage for Bytes {
    fn put(
        &mut self,
        protocol: &mut dyn Protocol,
        context: ContextId,
        now: Time,
    ) -> Result<(), Refusal> {
        protocol.send_from(context, self, now)
    }

    fn take(
        &mut self,
        protocol: &mut dyn Protocol,
        context: ContextId,
        now: Time,
    ) -> Result<(), RecvError> {
        protocol.recv_into(context, self, now)
    }
}

/// Sockets with raw messages have no contexts.
impl SocketMessage for RawMessage {
    fn put(
        &mut self,
        protocol: &mut dyn Protocol,
        _context: ContextId,
        now: Time,
    ) -> Result<(), Refusal> {
        protocol.send_raw(mem::take(self), now).map_err(|refused| {
            *self = refused.message;
            refused.why
        })
    }

    fn take(
        &mut self,
        protocol: &mut dyn Protocol,
        _context: ContextId,
        now: Time,
    ) -> Result<(), RecvError> {
        *self = protocol.recv_raw(now)?;
        Ok(())
    }
}
