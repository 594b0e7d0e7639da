//! UUIDs.

use ::uuid::Uuid;

use crate::encoding::small::Scratch;
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

/// Bin of 16 bytes. A text such as `"67e55044-10b1-426f-9247-bb680e5fe0c8"` is read too, because JSON
/// has no bytes.
impl Encode for Uuid {
    const IS_PLAIN: bool = true;
    const SMALL_BYTES: usize = 2 + 16;

    fn encode(&self, out: &mut Buffer) {
        self.as_bytes().encode(out);
    }

    #[inline(always)]
    fn encode_small(&self, scratch: &mut Scratch, at: usize) -> usize {
        self.as_bytes().encode_small(scratch, at)
    }
}

impl<'a> Decode<'a> for Uuid {
    fn decode(reader: &mut Reader<'a>) -> Result<Uuid, DecodeError> {
        if !matches!(reader.peek(), Some(0xA0..=0xBF | 0xD9..=0xDB)) {
            return <[u8; 16]>::decode(reader).map(Uuid::from_bytes);
        }
        let text = <&str>::decode(reader)?;
        Uuid::try_parse(text).map_err(|_| DecodeError::OutOfRange { expected: "a UUID" })
    }
}
