//! Values that cannot leave their process: channels, shared memory, closures.
//!
//! Mail between actors of one process is never encoded, so such a value can be sent as it is.
//! Towards another process its type decides: [`Encode::TRAVELS`] is false, and a call or a reply
//! that contains it is refused as [`NotSerializable`](crate::CallErrorKind::NotSerializable) before
//! any of it is written.

use std::ops::{Deref, DerefMut};

use wigwag_wire::{Buffer, Decode, DecodeError, Encode, Reader};

/// A value that lives in this process only, as an argument or a reply.
///
/// Between actors of one process it is moved as it is.
///
/// ```
/// # use std::sync::mpsc;
/// # use wigwag_actor::Local;
/// let (sender, receiver) = mpsc::channel();
/// let progress = Local(sender); // an argument of a call
/// progress.send(50).unwrap();
/// # assert_eq!(receiver.recv(), Ok(50));
/// ```
///
/// # Errors
/// A call with a `Local` in an argument that goes to another process is refused and comes back with
/// [`NotSerializable`](crate::CallErrorKind::NotSerializable). A reply with a `Local` is lost
/// there, and the asker gets the same error.
///
/// # Performance
/// No allocation and no reference count: it is the value itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Local<T>(pub T);

impl<T> Deref for Local<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Local<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> From<T> for Local<T> {
    fn from(value: T) -> Local<T> {
        Local(value)
    }
}

/// Writes nil. Never reached: `TRAVELS` is checked first.
impl<T> Encode for Local<T> {
    const TRAVELS: bool = false;
    const IS_PLAIN: bool = true;

    fn encode(&self, out: &mut Buffer) {
        ().encode(out);
    }
}

/// Always an error.
impl<'a, T> Decode<'a> for Local<T> {
    fn decode(_: &mut Reader<'a>) -> Result<Local<T>, DecodeError> {
        Err(DecodeError::NotSerializable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn travels<T: Encode>(_: &T) -> bool {
        T::TRAVELS
    }

    #[test]
    fn a_value_with_a_local_part_is_local() {
        let here = || Local(5_u8);
        assert!(!travels(&here()) && !travels(&&here()) && !travels(&Box::new(here())));
        assert!(!travels(&Some(here())) && !travels(&vec![here()]) && !travels(&[here(); 2]));
        assert!(!travels(&(1_u8, 2_u8, here())) && !travels(&vec![Some((here(), 1_u8))]));
        assert!(!travels(&Ok::<_, u8>(here())) && !travels(&Err::<u8, _>(here())));
        let (key, value) = ([(here(), 1_u8)].into(), [(1_u8, here())].into());
        assert!(!travels::<std::collections::BTreeMap<_, _>>(&key));
        assert!(!travels::<std::collections::BTreeMap<_, _>>(&value));
        assert!(travels(&(vec![Some(1_u8)], Ok::<_, String>([1.5_f64; 3]), Box::new("text"))));
    }

    #[test]
    fn it_is_written_as_nothing_and_never_read() {
        let mut out = Buffer::new();
        Local("text").encode(&mut out);
        assert_eq!(out.as_slice(), [0xC0]);
        let read = Local::<u8>::decode(&mut Reader::new(out.as_slice()));
        assert_eq!(read, Err(DecodeError::NotSerializable));
    }
}
