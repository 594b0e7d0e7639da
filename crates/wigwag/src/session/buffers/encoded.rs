//! Values that are encoded before a lock is taken.
//!
//! An encoder of the program may do anything: wait for a lock that another sender holds, send calls
//! itself, or panic. So it runs under no lock of the runtime, and before anything is claimed for the
//! call. Its bytes are copied to their place afterwards. Values without such an encoder are encoded
//! in their place; [`IS_PLAIN`](wigwag_wire::Encode::IS_PLAIN) tells which.

use std::cell::Cell;
use std::sync::Arc;

use wigwag_wire::Buffer;
use wigwag_wire::small::Scratch;

use crate::limits::ENCODED_BYTES_KEPT_MAX;
use crate::session::Session;
use crate::session::buffers::encoding::Arguments;
use crate::session::references::scope::{self, LentInValue};

thread_local! {
    /// Memory for the next value. It is taken out while it is used, so an encoder that itself sends
    /// finds none.
    static MEMORY: Cell<Buffer> = const { Cell::new(Buffer::new()) };
}

/// An encoded value. Its bytes are not allocated in steady state: their memory serves the next value of
/// the thread.
pub(crate) struct EncodedValue {
    bytes: Buffer,
    /// The references in it, which are let go unless it is sent.
    lent: LentInValue,
}

impl EncodedValue {
    /// Encodes a value for the peer of `session`. The caller holds no lock.
    ///
    /// # Errors
    /// Why a reference in it cannot be sent, in words.
    pub(crate) fn new(
        session: &Arc<Session>,
        encode: impl Fn(&mut Buffer),
    ) -> Result<EncodedValue, &'static str> {
        let bytes = MEMORY.try_with(Cell::take).unwrap_or_default();
        let mut encoded = EncodedValue { bytes, lent: LentInValue::default() };
        encoded.lent = scope::encode_for(session, &mut encoded.bytes, encode, Buffer::clear)?;
        Ok(encoded)
    }

    /// Encodes a value without references.
    pub(crate) fn of_parts(encode: impl FnOnce(&mut Buffer)) -> EncodedValue {
        let bytes = MEMORY.try_with(Cell::take).unwrap_or_default();
        let mut encoded = EncodedValue { bytes, lent: LentInValue::default() };
        encode(&mut encoded.bytes);
        encoded
    }

    /// This value in another form.
    pub(crate) fn rewritten(mut self, encode: impl FnOnce(&[u8], &mut Buffer)) -> EncodedValue {
        let mut other = EncodedValue::of_parts(|out| encode(self.bytes(), out));
        other.lent = std::mem::take(&mut self.lent);
        other
    }

    /// The value is on its way.
    pub(crate) fn sent(mut self) {
        self.lent.sent();
    }

    /// The number of the first reference in the value, while it is not sent.
    pub(crate) fn first_reference(&self) -> Option<u128> {
        self.lent.first()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// The value as the arguments of a call.
    pub(crate) fn arguments(&self) -> EncodedArguments<'_> {
        EncodedArguments(self.bytes())
    }
}

impl Drop for EncodedValue {
    fn drop(&mut self) {
        let mut memory = std::mem::take(&mut self.bytes);
        if memory.capacity() <= ENCODED_BYTES_KEPT_MAX {
            memory.clear();
            // A thread that ends keeps nothing.
            let _ = MEMORY.try_with(|kept| kept.set(memory));
        }
    }
}

/// Arguments that are encoded already.
pub(crate) struct EncodedArguments<'a>(pub(crate) &'a [u8]);

impl Arguments for EncodedArguments<'_> {
    fn encode_small(&self, _: bool, _: &mut Scratch, _: usize) -> Option<usize> {
        None
    }

    fn encode(&self, _: bool, out: &mut Buffer) {
        out.extend(self.0);
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    fn kept() -> usize {
        let memory = MEMORY.take();
        let kept = memory.capacity();
        MEMORY.set(memory);
        kept
    }

    #[test]
    fn memory_is_used_again_unless_it_is_large() {
        drop(EncodedValue::of_parts(|out| out.extend(&[7; 100])));
        assert!(kept() >= 100);
        let again = EncodedValue::of_parts(|out| out.push(1));
        assert_eq!((again.bytes(), kept()), (&[1][..], 0));
        drop(again);
        drop(EncodedValue::of_parts(|out| out.extend(&[7; ENCODED_BYTES_KEPT_MAX + 1])));
        assert_eq!(kept(), 0);
    }

    #[test]
    fn a_value_within_another_has_memory_of_its_own() {
        let outer = EncodedValue::of_parts(|out| {
            out.push(1);
            assert_eq!(EncodedValue::of_parts(|out| out.push(2)).bytes(), [2]);
            out.push(3);
        });
        assert_eq!(outer.bytes(), [1, 3]);
    }
}
