//! A reference as an argument or a reply.
//!
//! Between actors of one process it is handed over as it is. To another process it goes by way of
//! the node, which knows the session that a value is encoded for or read from; the node's code for it
//! is part of the [`Interface`].

use wigwag_wire::{Buffer, Decode, DecodeError, Encode, Reader};

use super::Ref;
use super::interface::Interface;

/// A reference is encoded before a lock is taken: its session notes that it was sent.
impl<I: Interface> Encode for Ref<I> {
    const TRAVELS: bool = I::IS_REFERABLE;

    fn encode(&self, out: &mut Buffer) {
        I::encode_reference(self, out);
    }
}

impl<'a, I: Interface> Decode<'a> for Ref<I> {
    fn decode(reader: &mut Reader<'a>) -> Result<Ref<I>, DecodeError> {
        I::decode_reference(reader)
    }
}

/// An actor of another process, as its reference is sent on.
#[derive(Clone, Debug)]
pub struct RemoteActor {
    /// The incarnation of its node.
    pub incarnation: u128,
    /// The id of its node.
    pub node: u128,
    /// The number that its node has given to references to it.
    pub reference: u128,
    /// The hash of its schema.
    pub schema_hash: u64,
    /// Addresses at which its node may be reached.
    pub addresses: Vec<std::sync::Arc<str>>,
}
