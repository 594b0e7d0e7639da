//! The messages of an actor.

use wigwag_wire::small::Scratch;
use wigwag_wire::{Buffer, DecodeError, Reader};

/// Returns true if all of `parts` are; for the constants that the macros generate.
#[doc(hidden)]
pub const fn all(parts: &[bool]) -> bool {
    let mut at = 0;
    while at < parts.len() {
        if !parts[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// A message of an actor: a call as a value, which can wait in a mailbox or be sent to another
/// process.
///
/// The macros implement it for the messages of each [`Interface`](crate::Interface).
pub trait Message: Sized + Send + 'static {
    /// The method's number in the actor's own schema.
    fn method(&self) -> u32;

    /// False when an argument of this method cannot leave its process: the call is then refused on
    /// its way to another one. The macros generate what the compiler knows in advance.
    #[inline(always)]
    fn travels(&self) -> bool {
        true
    }

    /// True if encoding the arguments runs no code of the program
    /// ([`Encode::IS_PLAIN`](wigwag_wire::Encode::IS_PLAIN)), so that it may be done under a lock.
    /// The macros generate what the compiler knows in advance.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        false
    }

    /// Appends the arguments as a positional MessagePack array.
    fn encode_arguments(&self, out: &mut Buffer);

    /// Writes the arguments into a window, from `place` on, if their encoding is short for all
    /// values; returns their end.
    #[inline(always)]
    fn encode_small(&self, window: &mut Scratch, place: usize) -> Option<usize> {
        let _ = (window, place);
        None
    }

    /// Writes the arguments in the fixed-width form, mark included, in which all calls of this
    /// method take the same number of bytes; returns their end. `None`: this method has no such
    /// form.
    #[inline(always)]
    fn encode_fixed(&self, window: &mut Scratch, place: usize) -> Option<usize> {
        let _ = (window, place);
        None
    }

    /// Reads the arguments of method `method`, in either form. Missing trailing arguments are an
    /// error unless they are `Option`; extra ones are skipped. `None`: no such method.
    fn decode(method: u32, reader: &mut Reader<'_>) -> Result<Option<Self>, DecodeError>;
}
