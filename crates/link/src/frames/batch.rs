//! The batch: the content of one SP message in an open session (section 3).
//!
//! The header and the unsequenced frames belong to the connection and are made anew for each write.
//! The sequenced frames belong to the session: they carry neither ack nor number, so after a cut
//! the same bytes are sent again behind a new header.

use wigwag_wire::varint::{self, take as v};
use wigwag_wire::{Buffer, Reader};

use crate::error::LinkError;

/// The PAIR1 header of every message: hop count 1, as NNG sends it.
pub const PAIR1_HEADER: [u8; 4] = [0, 0, 0, 1];

/// The message behind its PAIR1 header. mangos sends hop count 0, NNG 1.
///
/// # Errors
/// A larger hop count means a device on the way, which would mix sessions.
pub fn without_pair1_header(message: &[u8]) -> Result<&[u8], LinkError> {
    match message.split_first_chunk::<4>() {
        Some((&PAIR1_HEADER | [0, 0, 0, 0], body)) => Ok(body),
        _ => Err(LinkError::protocol("a session has no device on its way")),
    }
}

/// Largest size of a batch header in bytes: the flags and three numbers.
pub const HEADER_BYTES_MAX: usize = 31;

/// The header at the start of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// The ack: the number of the next frame that the writer of this batch expects to receive.
    pub ack: u64,
    /// The number of the first sequenced frame in this batch, or of the next one if it holds none.
    pub first_seq: u64,
    /// The number of sequenced frames in this batch.
    pub count: u64,
}

impl BatchHeader {
    /// Appends the header to `out`.
    pub fn encode(self, out: &mut Buffer) {
        out.push(0);
        varint::put(out, self.ack);
        varint::put(out, self.first_seq);
        varint::put(out, self.count);
    }

    /// Reads a header.
    ///
    /// # Errors
    ///
    /// Fails if the flags are not zero, if a number is malformed, or if the sequence numbers
    /// overflow.
    pub fn decode(reader: &mut Reader<'_>) -> Result<BatchHeader, LinkError> {
        if reader.u8()? != 0 {
            return Err(LinkError::protocol("the flags of a batch are zero in version 1"));
        }
        let header = BatchHeader { ack: v(reader)?, first_seq: v(reader)?, count: v(reader)? };
        if header.first_seq.checked_add(header.count).is_none() {
            return Err(LinkError::protocol("a sequence number wraps"));
        }
        Ok(header)
    }
}
