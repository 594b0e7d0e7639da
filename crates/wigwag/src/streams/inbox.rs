//! The items of a stream that have come and that its reader has not taken.
//!
//! Items stay encoded, in their frames, until they are read. They come in runs and are kept in chunks,
//! which the reader takes one by one, so that neither side takes the lock for each item.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::task::Waker;

use wigwag_actor::CallErrorKind;
use wigwag_link::LinkError;
use wigwag_link::credit::ItemWindow;
use wigwag_link::limits::UNIT_BYTES;
use wigwag_link::recv_half::{self, ItemRun};
use wigwag_wire::{Buffer, Reader};

use super::OfSlot;
use crate::limits::ITEM_CHUNK_BYTES;
use crate::sync::{Mutex, MutexGuard};

/// The inbox of one stream.
pub(crate) struct Inbox {
    generation: u32,
    state: Mutex<InboxState>,
}

struct InboxState {
    chunks: VecDeque<Buffer>,
    /// Empty chunks for the next items. Empty and filled chunks together are within the window.
    spare: Vec<Buffer>,
    /// Chunks of the window.
    chunks_max: usize,
    window: ItemWindow,
    reader: Option<Waker>,
    /// The reader has gone.
    is_over: bool,
    /// The end of a stream that is a value; the end of another is that of its ask.
    end: Option<StreamEnd>,
}

/// The end of a stream, clean or an error, behind all its items.
pub(crate) type StreamEnd = Result<(), Failure>;

/// The kind of an error, and its text.
pub(crate) type Failure = (CallErrorKind, Box<str>);

/// The outcome of items that have come.
pub(crate) enum Received {
    /// They wait for the reader; the waker must be woken.
    Queued(Option<Waker>),
    /// The reader has gone.
    Unwanted,
    /// They come behind the end of their stream.
    BehindTheEnd,
}

/// The rest of a stream that its reader has left.
pub(crate) struct Abandoned {
    /// The items that it has not taken.
    pub(crate) left: VecDeque<Buffer>,
    /// The end of the stream had come.
    pub(crate) had_ended: bool,
}

/// The outcome of the end of a stream.
pub(crate) enum Ended {
    /// It waits for the reader; the waker must be woken.
    Queued(Option<Waker>),
    /// The reader has gone.
    Unwanted,
    /// The stream had ended.
    Again,
}

impl Inbox {
    /// The inbox of the stream whose ask has this generation, with a window of so many units.
    pub(crate) fn new(generation: u32, window: u64) -> Inbox {
        Inbox {
            generation,
            state: Mutex::new(InboxState {
                chunks: VecDeque::new(),
                spare: Vec::new(),
                chunks_max: usize::try_from(window * UNIT_BYTES as u64 / ITEM_CHUNK_BYTES as u64)
                    .unwrap_or(usize::MAX),
                window: ItemWindow::new(window),
                reader: None,
                is_over: false,
                end: None,
            }),
        }
    }

    /// Queues items: with one lock and one copy, whatever their number.
    ///
    /// # Errors
    /// The items before one of them have used up the credit.
    pub(crate) fn receive(&self, run: &ItemRun<'_>) -> Result<Received, LinkError> {
        let mut state = self.lock();
        if state.end.is_some() {
            return Ok(Received::BehindTheEnd);
        }
        state.window.receive_run(run.units_before_last, run.units)?;
        if state.is_over {
            return Ok(Received::Unwanted);
        }
        let is_full = |chunk: &Buffer| chunk.len() + run.frames.len() > ITEM_CHUNK_BYTES;
        if state.chunks.back().is_none_or(is_full) {
            let chunk = state.spare.pop().unwrap_or_default();
            state.chunks.push_back(chunk);
        }
        if let Some(chunk) = state.chunks.back_mut() {
            chunk.extend(run.frames);
        }
        Ok(Received::Queued(state.reader.take()))
    }

    /// Takes the next chunk of items in exchange for one that was read. If there is none, registers
    /// `waker` and returns false.
    pub(crate) fn take(&self, chunk: &mut Buffer, waker: &Waker) -> bool {
        let mut state = self.lock();
        let Some(next) = state.chunks.pop_front() else {
            state.reader = Some(waker.clone());
            return false;
        };
        let mut read = std::mem::replace(chunk, next);
        let has_room = state.chunks.len() + state.spare.len() < state.chunks_max.max(1);
        if has_room && (1..=2 * ITEM_CHUNK_BYTES).contains(&read.capacity()) {
            read.clear();
            state.spare.push(read);
        }
        true
    }

    /// The reader has taken items of so many units. Returns the new limit if the peer is to be told.
    pub(crate) fn free(&self, units: u64) -> Option<u64> {
        self.lock().window.free(units)
    }

    /// Notes the end of a stream that is a value.
    pub(crate) fn end(&self, end: StreamEnd) -> Ended {
        let mut state = self.lock();
        if state.end.is_some() {
            return Ended::Again;
        }
        state.end = Some(end);
        if state.is_over { Ended::Unwanted } else { Ended::Queued(state.reader.take()) }
    }

    /// The end of the stream, if it has come and every item was taken.
    pub(crate) fn ended(&self) -> Option<StreamEnd> {
        let state = self.lock();
        if state.chunks.is_empty() { state.end.clone() } else { None }
    }

    /// The reader goes.
    pub(crate) fn abandon(&self) -> Abandoned {
        let mut state = self.lock();
        state.is_over = true;
        state.reader = None;
        state.spare = Vec::new();
        Abandoned { left: std::mem::take(&mut state.chunks), had_ended: state.end.is_some() }
    }

    /// True when the reader has gone.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.lock().is_over
    }

    fn lock(&self) -> MutexGuard<'_, InboxState> {
        // The value is consistent between statements, so a panic elsewhere cannot have broken it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OfSlot for Inbox {
    fn generation(&self) -> u32 {
        self.generation
    }
}

/// Takes the next item out of a chunk, of which `at` bytes were read; its frame has `head` bytes in
/// front of it.
#[inline]
pub(crate) fn next_item<'a>(chunk: &'a Buffer, at: &mut usize, head: usize) -> Option<&'a [u8]> {
    let bytes = chunk.as_slice();
    let mut reader = Reader::new(bytes.get(*at..)?);
    let item = recv_half::next_item(&mut reader, head)?;
    *at = bytes.len() - reader.rest().len();
    Some(item)
}

#[cfg(test)]
mod tests {
    use wigwag_link::credit::StreamId;
    use wigwag_link::write;

    use super::*;

    const STREAM: StreamId = StreamId::Value(1);

    /// Receives an item that costs `units`.
    fn receive(inbox: &Inbox, value: &[u8], units: u64) -> Result<Received, LinkError> {
        let mut frame = Buffer::new();
        write::item(&mut frame, STREAM, |out| out.extend(value));
        let (stream, frames) = (STREAM, frame.as_slice());
        inbox.receive(&ItemRun { stream, units_before_last: 0, units, frames })
    }

    #[test]
    fn items_are_taken_in_order_from_chunks_of_any_size() {
        let inbox = Inbox::new(1, 1 << 20);
        let sizes =
            [0, 1, 127, 128, ITEM_CHUNK_BYTES, 3, ITEM_CHUNK_BYTES + 1, 5000, 5000, 5000, 5000];
        for (at, size) in sizes.iter().enumerate() {
            let received = receive(&inbox, &vec![at as u8; *size], 1);
            assert!(matches!(received, Ok(Received::Queued(None))));
        }
        let (mut chunk, mut at, mut next) = (Buffer::new(), 0, 0);
        while inbox.take(&mut chunk, Waker::noop()) {
            at = 0;
            while let Some(item) = next_item(&chunk, &mut at, STREAM.head_bytes()) {
                assert_eq!(item, vec![next as u8; sizes[next]]);
                next += 1;
            }
        }
        assert_eq!((next, at), (sizes.len(), chunk.len()));
        assert!(matches!(receive(&inbox, b"x", 1), Ok(Received::Queued(Some(_)))), "it waits");
    }

    #[test]
    fn items_for_a_reader_that_has_gone_are_held_to_the_credit_and_not_kept() {
        let inbox = Inbox::new(1, 2);
        assert!(receive(&inbox, b"kept", 1).is_ok());
        assert_eq!(inbox.abandon().left.len(), 1);
        assert!(matches!(receive(&inbox, b"late", 1), Ok(Received::Unwanted)));
        assert!(receive(&inbox, b"beyond", 1).is_err());
        assert!(inbox.is_abandoned() && !inbox.take(&mut Buffer::new(), Waker::noop()));
    }

    #[test]
    fn chunks_that_were_read_are_used_again_and_all_are_within_the_window() {
        const CHUNKS: usize = 4;
        let inbox = Inbox::new(1, (CHUNKS * ITEM_CHUNK_BYTES / UNIT_BYTES) as u64);
        let mut chunk = Buffer::new();
        for _ in 0..3 {
            for _ in 0..CHUNKS {
                assert!(receive(&inbox, &[7; ITEM_CHUNK_BYTES - 100], 1).is_ok());
            }
            while inbox.take(&mut chunk, Waker::noop()) {
                let state = inbox.lock();
                assert!(state.chunks.len() + state.spare.len() <= CHUNKS);
            }
            assert!(!inbox.lock().spare.is_empty());
        }
        drop(inbox.abandon());
        assert!(inbox.lock().spare.is_empty());
    }
}
