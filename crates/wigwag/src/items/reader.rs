//! The reader's end of a stream that comes over a session: takes items out of the inbox, and gives
//! their credit back.

use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::ReadItem;
use wigwag_link::credit::StreamId;
use wigwag_link::limits::units;
use wigwag_wire::{Buffer, DecodeError, Reader};

use crate::session::Session;
use crate::session::references::scope;
use crate::streams::inbox::{Abandoned, Inbox, next_item};

/// Items that are read together at most.
const ITEMS_TOGETHER_MAX: u64 = 64;

/// Takes the items of one stream.
pub(crate) struct ItemReader {
    pub(crate) session: Arc<Session>,
    pub(crate) inbox: Arc<Inbox>,
    id: StreamId,
    /// Bytes of the body of an item's frame in front of its value.
    head: usize,
    /// The items that were taken out of the inbox, and how many of their bytes were read.
    chunk: Buffer,
    read: usize,
    /// Units of items that the program has, and that are not given back.
    unfreed: u64,
    /// Units of items that were read in advance of the program.
    in_advance: u64,
    /// Items that are read together: as many as an eighth of what is given back together has room for.
    together: u64,
    /// Why an item that was read in advance could not be.
    failed: Option<DecodeError>,
    /// Units that are given back together: each time takes a lock.
    free_at: u64,
}

impl ItemReader {
    /// The reader of a stream with a window of so many units.
    pub(crate) fn new(
        session: Arc<Session>,
        inbox: Arc<Inbox>,
        id: StreamId,
        window: u64,
    ) -> ItemReader {
        let head = id.head_bytes();
        let free_at = (window / 8).max(1);
        ItemReader {
            session,
            inbox,
            id,
            head,
            chunk: Buffer::new(),
            read: 0,
            unfreed: 0,
            in_advance: 0,
            together: (free_at / 8).clamp(1, ITEMS_TOGETHER_MAX),
            failed: None,
            free_at,
        }
    }

    /// Calls `read` on the next item. If none has come, registers `waker` and returns `None`.
    pub(crate) fn next(
        &mut self,
        read: &mut ReadItem<'_>,
        waker: &Waker,
    ) -> Option<Result<(), DecodeError>> {
        loop {
            if let Some(result) = self.read_next(read) {
                return Some(result);
            }
            self.read = 0;
            if !self.inbox.take(&mut self.chunk, waker) {
                self.chunk.clear();
                return None;
            }
        }
    }

    /// Calls `read` on the next item, and on some of those that have come behind it, for a program that
    /// has taken all items so far. Their credit stays with them until the next time. Reading each item
    /// alone costs the reader of short texts 8 % more processor time (`lab run remote`, cell *stream*).
    pub(crate) fn next_some(
        &mut self,
        read: &mut ReadItem<'_>,
        waker: &Waker,
    ) -> Option<Result<(), DecodeError>> {
        self.unfreed += std::mem::take(&mut self.in_advance);
        if let Some(why) = self.failed.take() {
            return Some(Err(why));
        }
        let first = self.next(read, waker)?;
        if first.is_err() {
            return Some(first);
        }
        let given = self.unfreed;
        for _ in 1..self.together {
            match self.read_item(read) {
                Some(Ok(())) => {}
                Some(Err(why)) => {
                    self.failed = Some(why);
                    break;
                }
                None => break,
            }
        }
        self.in_advance = self.unfreed - given;
        self.unfreed = given;
        Some(first)
    }

    /// Gives back the credit of the items that the program has.
    pub(crate) fn free(&mut self) {
        let units = std::mem::take(&mut self.unfreed);
        if units > 0
            && let Some(limit) = self.inbox.free(units)
            && self.session.sending().sender.raise_items(self.id, limit)
        {
            // At once, because the producer may wait for it: the driver may be queued behind the reader
            // on this thread.
            self.session.flush();
        }
    }

    /// Reads the next item of the chunk, and gives credit back if it is time. `None` if none is left.
    fn read_next(&mut self, read: &mut ReadItem<'_>) -> Option<Result<(), DecodeError>> {
        let result = self.read_item(read)?;
        if self.unfreed >= self.free_at {
            self.free();
        }
        Some(result)
    }

    #[inline]
    fn read_item(&mut self, read: &mut ReadItem<'_>) -> Option<Result<(), DecodeError>> {
        let item = next_item(&self.chunk, &mut self.read, self.head)?;
        self.unfreed += units(self.head + item.len());
        match read(&mut Reader::new(item)) {
            // Not the same as handing the result on: that is a load of sixteen bytes right behind a
            // store of one of them, and the load waits, for 7 % of the reader's processor time.
            Ok(()) => Some(Ok(())),
            Err(why) => Some(self.read_with_session(item, why, read)),
        }
    }

    /// Reads an item anew that was not read without a session, if that is why.
    #[cold]
    fn read_with_session(
        &self,
        item: &[u8],
        why: DecodeError,
        read: &mut ReadItem<'_>,
    ) -> Result<(), DecodeError> {
        if !matches!(why, DecodeError::NeedsSession) {
            self.session.discard_value(item);
            return Err(why);
        }
        let mut result = Err(why);
        scope::read_from(&self.session, item, &mut || {
            result = read(&mut Reader::new(item));
            result.is_ok()
        });
        result
    }

    /// The reader goes: what has come is dropped. Returns whether the end had come.
    pub(crate) fn leave(&mut self) -> bool {
        let Abandoned { left, had_ended } = self.inbox.abandon();
        if self.session.has_values_to_discard() {
            self.discard(&self.chunk, self.read);
            left.iter().for_each(|chunk| self.discard(chunk, 0));
        }
        self.chunk = Buffer::new();
        had_ended
    }

    /// Lets go the references in items that are never read.
    fn discard(&self, chunk: &Buffer, mut read: usize) {
        while let Some(item) = next_item(chunk, &mut read, self.head) {
            self.session.discard_value(item);
        }
    }
}
