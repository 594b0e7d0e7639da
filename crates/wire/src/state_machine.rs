//! The crank: four calls that drive anything which speaks over a byte stream.
//!
//! A machine has no socket and no clock. Whoever drives it (the tokio driver, the simulator) hands
//! it bytes and the time, and takes bytes and the next deadline from it.

use core::time::Duration;

use crate::{Batch, ReadBuf, Time};

/// A protocol as a state machine.
pub trait StateMachine {
    /// What the machine tells of the bytes it read. It may borrow from the machine.
    type Event<'a>
    where
        Self: 'a;
    /// Why the connection must end.
    type Error;

    /// Reads one event off the front of `input`. `None` asks for more bytes, and `input` knows how
    /// many are wanted. Any split of the same bytes gives the same events.
    fn receive<'a>(
        &'a mut self,
        input: &mut ReadBuf,
        now: Time,
    ) -> Result<Option<Self::Event<'a>>, Self::Error>;

    /// Time has passed; call it at [`deadline`](Self::deadline) or later.
    fn tick(&mut self, now: Time) -> Result<(), Self::Error>;

    /// Appends what waits to be written, as much as one write should carry.
    fn take_output(&mut self, batch: &mut Batch);

    /// When [`tick`](Self::tick) is due; `None` when nothing waits for time to pass.
    fn deadline(&self) -> Option<Time>;
}

/// Time for a peer to finish its part of the handshake. nanomsg gives 1 s, NNG 10 s; a silent peer
/// must not hold a place for longer than this.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(5);
