//! The session that an answer goes to.

use wigwag_wire::Buffer;
use wigwag_wire::small::DynEncode;

use crate::error::CallErrorKind;

/// A session, as the actor sees it: where replies go and who must know that places are free.
pub trait InboundQueueOwner: Send + Sync {
    /// Places are free again: `units` of credit were taken out of the lane.
    fn freed(&self, units: u64);

    /// Notes that `calls` more calls have finished their handlers.
    fn handled(&self, calls: u64);

    /// The actor has stopped.
    fn stopped(&self);

    /// Whether answers to asks that follow each other may be joined to runs.
    fn joins(&self) -> bool;

    /// Answers to several asks, as REPLY frames or runs of them that lie behind each other; they are
    /// taken out.
    fn replies(&self, frames: &mut Buffer, count: u64);

    /// The answer to the ask in `slot`.
    fn reply(&self, slot: u32, generation: u32, value: &dyn DynEncode);

    /// A tell was not understood: no such method, or other arguments.
    fn undelivered(&self);

    /// The ask in `slot` has no answer.
    fn fail(&self, slot: u32, generation: u32, kind: CallErrorKind, detail: &str);
}
