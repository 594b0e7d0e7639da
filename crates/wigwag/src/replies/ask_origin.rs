//! The channel that an ask was sent on, kept with its slot, so that the outcome of the ask is
//! counted where the ask was.

/// The channel of an ask, and which use of the channel's number: a number is used again after
/// DETACH, and an ask of the use before may still be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AskOrigin(u64);

impl AskOrigin {
    /// An ask that is not counted: the node has sent it for itself.
    pub(crate) const NONE: AskOrigin = AskOrigin(u64::MAX);

    /// An ask on use `use_of` of channel number `channel`.
    pub(crate) fn new(channel: u64, use_of: u32) -> AskOrigin {
        AskOrigin(channel << 32 | u64::from(use_of))
    }

    /// The channel's number.
    pub(crate) fn channel(self) -> usize {
        (self.0 >> 32) as usize
    }

    /// The origin as one word, to be stored in a slot.
    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    /// The origin of a word that [`to_bits`](Self::to_bits) made.
    pub(crate) fn from_bits(bits: u64) -> AskOrigin {
        AskOrigin(bits)
    }
}

/// The asks of a pipeline when its session ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingTally {
    pub(crate) origin: AskOrigin,
    pub(crate) sent: u64,
    pub(crate) unknown: u64,
    pub(crate) not_delivered: u64,
}
