//! The calls that an actor understands.

use crate::message::Message;
use crate::reference::Ref;
use crate::schema::Schema;

/// The calls that an actor understands. A caller needs no more than this.
pub trait Interface: Sized + Send + 'static {
    /// One variant a method.
    type Message: Message;
    /// A reference with one method a method.
    type Ref: From<Ref<Self>> + AsRef<Ref<Self>> + Clone + Send + Sync + 'static;
    /// Names, order and types.
    const SCHEMA: &'static Schema;
}
