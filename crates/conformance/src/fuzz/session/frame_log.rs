//! The frames that one end has published, and how many of them the other end has received.

use wigwag_link::frame::{Frame, numbers};
use wigwag_link::outbox::Outbox;
use wigwag_link::write;
use wigwag_wire::{Buffer, Reader};

use crate::fuzz::{Verdict, ensure};

/// The sequenced frames of one direction, in order.
#[derive(Debug, Default)]
pub(crate) struct FrameLog {
    frames: Vec<LoggedFrame>,
    next_seq: u64,
    bytes: usize,
}

#[derive(Debug)]
struct LoggedFrame {
    bytes: Vec<u8>,
    /// The number after its last one.
    end: u64,
    /// The bytes of all frames up to and including this one.
    bytes_so_far: usize,
}

/// The position up to which a log was received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogPosition {
    frames: usize,
    /// The number of the next frame.
    pub(crate) seq: u64,
}

impl FrameLog {
    /// Adds published frames, encoded in `bytes`.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        let mut reader = Reader::new(bytes);
        let mut from = bytes;
        while let Ok((kind, body)) = Frame::next(&mut reader, u64::MAX) {
            let (frame, rest) = from.split_at(from.len() - reader.rest().len());
            from = rest;
            self.next_seq += numbers(kind, body).unwrap_or(1);
            self.bytes += frame.len();
            let (end, bytes_so_far) = (self.next_seq, self.bytes);
            self.frames.push(LoggedFrame { bytes: frame.to_vec(), end, bytes_so_far });
        }
    }

    /// Adds the frames that the session itself has published meanwhile: answers to ATTACH, DETACH
    /// and REVOKE, and errors for calls that reach no actor.
    pub(crate) fn catch_up(&mut self, outbox: &Outbox) {
        if outbox.next_seq() == self.next_seq {
            return;
        }
        let mut seq = outbox.next_seq() - outbox.untaken_frames();
        outbox.each_unsent(|kind, body| {
            if seq >= self.next_seq {
                let mut frame = Buffer::new();
                write::frame(&mut frame, kind, |out| out.extend(body));
                self.append(frame.as_slice());
            }
            seq += numbers(kind, body).unwrap_or(1);
        });
    }

    /// The number of the next frame.
    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// The bytes of the frames of which not all numbers are below `acked`.
    pub(crate) fn bytes_from(&self, acked: u64) -> usize {
        let first = self.frames.partition_point(|published| published.end <= acked);
        let before = first.checked_sub(1).map_or(0, |last| self.frames[last].bytes_so_far);
        self.bytes - before
    }

    /// Checks that received bytes are the next frames.
    pub(crate) fn check_next(&self, received: &mut LogPosition, mut bytes: &[u8]) -> Verdict {
        while !bytes.is_empty() {
            let at = received.seq;
            let Some(published) = self.frames.get(received.frames) else {
                return Err(format!("frame {at} was heard and never said: {bytes:02x?}"));
            };
            let same = bytes.starts_with(&published.bytes);
            ensure(same, || {
                format!("frame {at}: said {:02x?}, heard {bytes:02x?}", published.bytes)
            })?;
            bytes = &bytes[published.bytes.len()..];
            (received.frames, received.seq) = (received.frames + 1, published.end);
        }
        Ok(())
    }
}
