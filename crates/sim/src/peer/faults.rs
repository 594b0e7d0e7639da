//! Errors that may be planted in a peer, to test that the checks detect them.

use std::sync::Arc;

use wigwag_link::batch::BatchHeader;
use wigwag_link::frame::Frame;
use wigwag_link::frame::kind::REPLY;
use wigwag_wire::{Buffer, BufferSlice, Reader};

/// Planted errors of a peer; an honest one has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The number of frames that it acknowledges and has never received.
    pub acks_ahead: u64,
    /// It accepts frames again that it had accepted before.
    pub skips_deduplication: bool,
    /// Replies before this number are not sent again.
    pub drops_replies_before: u64,
}

/// Renumbers a batch so that its first frame becomes the next one to be accepted.
pub(super) fn renumber(message: &mut Vec<u8>, recv_next: u64) {
    let Some((word, batch)) = message.split_first_chunk::<4>() else { return };
    let mut reader = Reader::new(batch);
    let Ok(header) = BatchHeader::decode(&mut reader) else { return };
    let mut whole = Buffer::new();
    whole.extend(word);
    BatchHeader { first_seq: header.first_seq.max(recv_next), ..header }.encode(&mut whole);
    whole.extend(reader.rest());
    *message = whole.as_slice().to_vec();
}

/// Turns each reply into a frame that its reader does not know and may skip.
pub(super) fn drop_replies(segment: &mut BufferSlice) {
    const UNKNOWN: u8 = 0xFF;
    let whole = segment.flat().into_owned();
    let mut bytes = whole.clone();
    let mut reader = Reader::new(&whole);
    let mut at = 0;
    while let Ok((kind, _)) = Frame::next(&mut reader, u64::MAX) {
        if kind == REPLY {
            bytes[at] = UNKNOWN;
        }
        at = bytes.len() - reader.rest().len();
    }
    let mut changed = Buffer::new();
    changed.extend(&bytes);
    *segment = Arc::new(changed).into();
}
