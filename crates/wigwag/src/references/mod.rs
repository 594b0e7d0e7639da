//! References to actors that travel: as arguments and replies, over a session.
//!
//! A reference is sent as a number that its node has drawn for the actor, with the node's incarnation
//! and addresses (`session/references/value.rs`). The sender notes for the session that it has lent the reference, which
//! keeps the actor alive (`lend.rs`, `session/references/lent.rs`); `exports/references.rs` finds the actor by its number when somebody attaches
//! by it. The receiver attaches when it reads the reference (`take.rs`): at once over the session
//! with that node, if it can (`Remote`), or in a task, while callers wait (`arriving.rs`). An actor of a third node that cannot be reached is
//! called through the node that gave the reference (`relay.rs`). When the
//! last clone is dropped there, RELEASE says how often it was received, and the sender lets it go; a
//! little later if the reference comes again and again (`session/attach/kept.rs`).

mod lend;
mod take;
mod arriving;
mod relay;

use std::any::Any;
use std::sync::Arc;

use wigwag_actor::{Interface, Ref};
use wigwag_wire::{Buffer, DecodeError, Encode, Reader};

use crate::send::channel::Channel;
use crate::send::remote::Remote;
use crate::session::references::scope;
use crate::session::references::value::SentReference;

pub(crate) use take::take_held;

/// Appends a reference for the session that this thread encodes for. The macros call it.
pub fn encode_reference<I: Interface>(reference: &Ref<I>, out: &mut Buffer) {
    match scope::encode(|session| lend::lend(session, reference)) {
        Some(value) => value.encode(out),
        // Written again for the session, or refused.
        None => ().encode(out),
    }
}

/// Makes a reference of a channel to the actor that an answer leads to. The macros call it.
#[must_use]
pub fn piped_reference<I: Interface>(
    channel: Box<dyn Any + Send>,
    answer: Box<dyn Any + Send + Sync>,
) -> Option<Ref<I>> {
    let channel: Box<Channel> = channel.downcast().ok()?;
    Some(Ref::remote(Arc::new(Remote::piped(*channel, answer))))
}

/// Reads a reference that has come over the session that this thread reads from. The macros call it.
///
/// # Errors
/// - [`NeedsSession`](DecodeError::NeedsSession) if nothing is read from a session;
/// - [`BadReference`](DecodeError::BadReference) if it leads to no actor of this interface.
pub fn decode_reference<I: Interface>(reader: &mut Reader<'_>) -> Result<Ref<I>, DecodeError> {
    let value = SentReference::decode(reader)?;
    let session = scope::read(value.reference).ok_or(DecodeError::NeedsSession)?;
    take::take(&session, value)
}
