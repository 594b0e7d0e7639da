//! The interface of an actor: the calls that it understands.

use std::any::Any;

use wigwag_wire::{Buffer, DecodeError, Encode, Reader};

use crate::message::Message;
use crate::reference::Ref;
use crate::schema::Schema;

/// The calls that an actor understands. A caller needs no more than this; the macros implement it.
pub trait Interface: Sized + Send + 'static {
    /// The actor's messages: an enum with one variant per method.
    type Message: Message;
    /// The actor's reference, with one function per method.
    type Ref: From<Ref<Self>> + AsRef<Ref<Self>> + Clone + Send + Sync + 'static;
    /// [`Encoded`](crate::Encoded), or [`InProcess`](crate::InProcess) for a local actor, which no
    /// other process reaches.
    type Codec;
    /// Names, order and types of the methods.
    const SCHEMA: &'static Schema;

    /// True if a reference to such an actor may be sent to another process.
    #[doc(hidden)]
    const IS_REFERABLE: bool = false;

    /// Appends a reference for the session that the thread encodes for.
    #[doc(hidden)]
    fn encode_reference(_: &Ref<Self>, out: &mut Buffer) {
        ().encode(out);
    }

    /// Reads a reference that has come over the session that the thread reads from.
    ///
    /// # Errors
    /// If there is no such session, or no such reference.
    #[doc(hidden)]
    fn decode_reference(_: &mut Reader<'_>) -> Result<Ref<Self>, DecodeError> {
        Err(DecodeError::NotSerializable)
    }

    /// Makes a reference of a channel to the actor that an answer leads to, which the node has opened
    /// before the answer has come. `answer` is dropped with the reference.
    #[doc(hidden)]
    fn piped_reference(
        _channel: Box<dyn Any + Send>,
        _answer: Box<dyn Any + Send + Sync>,
    ) -> Option<Ref<Self>> {
        None
    }
}
