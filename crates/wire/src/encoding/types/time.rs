//! Spans of time.

use core::time::Duration;

use crate::encoding::collections::nested;
use crate::encoding::msgpack::put_array;
use crate::{Buffer, Decode, DecodeError, Encode, Reader};

pub(super) const NANOS: u32 = 1_000_000_000;

/// `[seconds, nanoseconds]`.
impl Encode for Duration {
    const IS_PLAIN: bool = true;
    fn encode(&self, out: &mut Buffer) {
        put_array(out, 2);
        self.as_secs().encode(out);
        self.subsec_nanos().encode(out);
    }
}

impl<'a> Decode<'a> for Duration {
    fn decode(reader: &mut Reader<'a>) -> Result<Duration, DecodeError> {
        let (seconds, nanos) = take_seconds(reader)?;
        Ok(Duration::new(seconds, nanos))
    }
}

/// Reads seconds, of either sign, and the nanoseconds after them.
pub(super) fn take_seconds<'a, S: Decode<'a>>(
    reader: &mut Reader<'a>,
) -> Result<(S, u32), DecodeError> {
    const EXPECTED: &str = "[seconds, nanoseconds]";
    nested(reader, |reader, count| {
        if count != 2 {
            return Err(DecodeError::OutOfRange { expected: EXPECTED });
        }
        let (seconds, nanos) = (S::decode(reader)?, u32::decode(reader)?);
        if nanos >= NANOS {
            return Err(DecodeError::OutOfRange { expected: EXPECTED });
        }
        Ok((seconds, nanos))
    })
}
