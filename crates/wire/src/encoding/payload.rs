//! The bounds that the macros require of the types that they encode.

use crate::{Decode, Encode};

/// A type that can be an argument, a reply or a part of one: it is encoded and decoded.
///
/// Generated code names such a type as `<T as Payload>::Value`. If `T` lacks an impl, the compiler
/// reports that one projection, once, instead of every use of the two traits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument or a reply",
    label = "has no form on the wire",
    note = "write `#[derive(wigwag::Message)]` on each of your own types in it; a type parameter needs the bound `wigwag::Message`",
    note = "a value that stays in its process may be any type, as `wigwag::Local<…>`, and so may all of an actor with `#[wigwag::actor(local)]`"
)]
pub trait Payload {
    /// The type itself.
    type Value: Encode + for<'a> Decode<'a>;
}

#[diagnostic::do_not_recommend]
impl<T: Encode + for<'a> Decode<'a>> Payload for T {
    type Value = T;
}

/// A type whose values can be sent to another process: as an argument, a reply, or a part of one. It
/// is the bound for the parameters of a generic actor.
///
/// `#[derive(wigwag::Message)]` makes a struct or an enum such a type, and `docs/types.md` lists those
/// of the standard library. Every type with [`Encode`] and [`Decode`] is one, if it can be moved to
/// another thread and borrows nothing.
pub trait Message: Encode + for<'a> Decode<'a> + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Encode + for<'a> Decode<'a> + Send + 'static> Message for T {}
