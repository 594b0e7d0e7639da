//! Whether the replies of an actor can go to another process.
//!
//! An interface names one of two codecs. It decides when the program is compiled, so an actor that no
//! other process reaches needs no encoding for its replies, and the others pay nothing for it.

use wigwag_wire::{Decode, DecodeError, Reader};

/// How an asker in another process reads an `R`.
pub trait ReplyCodec<R> {
    /// Reads an answer from another process.
    ///
    /// # Errors
    /// Fails if `reader` does not begin with an `R`.
    fn decode(reader: &mut Reader<'_>) -> Result<R, DecodeError>;
}

/// The codec of an interface whose replies are encoded for callers in other processes.
#[derive(Clone, Copy, Debug)]
pub enum Encoded {}

/// The codec of a local actor: its replies may be any type, and are never encoded.
#[derive(Clone, Copy, Debug)]
pub enum InProcess {}

impl<R: for<'a> Decode<'a>> ReplyCodec<R> for Encoded {
    #[inline(always)]
    fn decode(reader: &mut Reader<'_>) -> Result<R, DecodeError> {
        R::decode(reader)
    }
}

impl<R> ReplyCodec<R> for InProcess {
    /// Always an error, and never called: no other process reaches the actor.
    fn decode(_: &mut Reader<'_>) -> Result<R, DecodeError> {
        Err(DecodeError::NotSerializable)
    }
}

/// A codec of replies that can go to another process.
#[diagnostic::on_unimplemented(
    message = "a local actor cannot be exported",
    label = "this actor is local",
    note = "its arguments and replies have no encoding: remove `local` from `#[wigwag::actor(local)]`"
)]
pub trait Exportable {}

impl Exportable for Encoded {}
