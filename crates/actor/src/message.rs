//! A call as a value.

use wigwag_wire::small::Scratch;
use wigwag_wire::{Buffer, DecodeError, Reader};

/// A call as a value that can wait in a mailbox or travel.
pub trait Message: Sized + Send + 'static {
    /// The method's number in the actor's own schema.
    fn method(&self) -> u32;

    /// False when an argument of this method lives in its own process only: the call is refused on
    /// its way to another one. The macros write what the compiler knows beforehand.
    #[inline(always)]
    fn travels(&self) -> bool {
        true
    }

    /// Appends the arguments as a positional MessagePack array.
    fn encode_arguments(&self, out: &mut Buffer);

    /// Encodes short arguments into a window from `place` on, if they are short whatever their
    /// values are; returns their end.
    #[inline(always)]
    fn encode_small(&self, window: &mut Scratch, place: usize) -> Option<usize> {
        let _ = (window, place);
        None
    }

    /// Writes the arguments in the form in which all calls of this method take the same bytes, mark
    /// and all; gives their end. `None`: this method has no such form.
    #[inline(always)]
    fn encode_fixed(&self, window: &mut Scratch, place: usize) -> Option<usize> {
        let _ = (window, place);
        None
    }

    /// Reads the arguments of method `method`, in either form. Missing trailing arguments are an error unless they
    /// are `Option`; extra ones are skipped. `None`: no such method.
    fn decode(method: u32, reader: &mut Reader<'_>) -> Result<Option<Self>, DecodeError>;
}
