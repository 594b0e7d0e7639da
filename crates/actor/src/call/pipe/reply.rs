//! Replies that hold a reference.

use crate::reference::Ref;
use crate::reference::interface::Interface;

/// A reply through which calls can be [piped](crate::Call::pipe): a reference to an actor with the
/// interface `J`, or an `Option` or a `Result` of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no reference to an actor, so nothing can be piped through it",
    label = "the reply is no reference, and no `Option` or `Result` of one"
)]
pub trait PipedReply<J: Interface> {
    /// The reference, if there is one.
    fn into_reference(self) -> Option<Ref<J>>;
}

impl<J: Interface> PipedReply<J> for Ref<J> {
    fn into_reference(self) -> Option<Ref<J>> {
        Some(self)
    }
}

impl<J: Interface, R: PipedReply<J>> PipedReply<J> for Option<R> {
    fn into_reference(self) -> Option<Ref<J>> {
        self?.into_reference()
    }
}

impl<J: Interface, R: PipedReply<J>, E> PipedReply<J> for Result<R, E> {
    fn into_reference(self) -> Option<Ref<J>> {
        self.ok()?.into_reference()
    }
}
