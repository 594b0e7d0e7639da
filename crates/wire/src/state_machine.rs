//! The interface between a protocol and its driver: four calls that drive everything that speaks
//! over a byte stream.
//!
//! A state machine has no socket and no clock. Its driver (the simulator, a fuzzer) passes it bytes
//! and the time, and takes bytes and the next deadline from it.

use core::time::Duration;

use crate::{Batch, ReadBuf, Time};

/// A connection's protocol as a state machine.
pub trait ConnectionStateMachine {
    /// An event found in the received bytes. It may borrow from the state machine.
    type Event<'a>
    where
        Self: 'a;
    /// Why the connection must end.
    type Error;

    /// Reads one event off the front of `input`. `None` means that more bytes are needed, and
    /// `input` knows how many. Any split of the same bytes gives the same events.
    fn receive<'a>(
        &'a mut self,
        input: &mut ReadBuf,
        now: Time,
    ) -> Result<Option<Self::Event<'a>>, Self::Error>;

    /// Advances the time; call it at [`deadline`](Self::deadline) or later.
    fn tick(&mut self, now: Time) -> Result<(), Self::Error>;

    /// Appends the bytes that wait to be written, as many as one write should carry.
    fn take_output(&mut self, batch: &mut Batch);

    /// When [`tick`](Self::tick) is due; `None` if nothing waits for time to pass.
    fn deadline(&self) -> Option<Time>;
}

/// Time for a peer to finish its part of the handshake; a silent peer holds a place no longer.
/// nanomsg allows 1 s, NNG 10 s.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
