//! The interface of an actor: the calls that it understands.

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
}
