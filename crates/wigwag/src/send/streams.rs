//! The items of a stream of a remote actor, as their reader takes them.

use std::sync::Arc;
use std::task::{Poll, Waker};

use bytes::Bytes;
use wigwag_actor::{CallError, CallErrorKind, ItemSource, ReadItem, Slot, turn};
use wigwag_link::limits::units;
use wigwag_wire::{Buffer, DecodeError, Reader, varint};

use crate::send::cancel::send_cancels;
use crate::session::Session;
use crate::session::references::scope;
use crate::streams::inbox::{Inbox, next_item};

/// The reply that ends a stream: nil.
const END: &[u8] = &[0xC0];

/// The reader's end of a stream.
pub(crate) struct Items {
    session: Arc<Session>,
    target: Arc<str>,
    inbox: Arc<Inbox>,
    slot: Slot,
    /// Bytes of an item's frame in front of its value.
    head: usize,
    /// The items that were taken out of the inbox, and how many of their bytes were read.
    chunk: Buffer,
    read: usize,
    /// Units of items that were read and are not given back.
    unfreed: u64,
    /// Units that are given back together: each time takes a lock.
    free_at: u64,
    state: ItemsState,
}

enum ItemsState {
    /// The ask has no completion yet.
    Open,
    /// The completion has come, and items before it may be left.
    Ending(Result<Bytes, CallError>),
    Over,
}

impl Items {
    /// Prepares the stream that is to answer an ask from the slot of `asker`. Also returns its window
    /// in units; `None` if there is no room for another one.
    pub(crate) fn open(
        session: &Arc<Session>,
        target: &Arc<str>,
        asker: (u32, u32),
        ahead: Option<usize>,
    ) -> Option<(Items, u64)> {
        let wanted = ahead.map(|items| items as u64);
        let window = session.sending().sender.open_stream(asker, wanted)?;
        let inbox = Arc::new(Inbox::new(asker.1, window));
        // Before the ask is sent: the items may come at once.
        session.read_streams.insert(asker.0, inbox.clone());
        let head = varint::length(asker.0.into()) + varint::length(asker.1.into()) + 1;
        let items = Items {
            session: session.clone(),
            target: target.clone(),
            inbox,
            slot: Slot::new(asker.0, asker.1),
            head,
            chunk: Buffer::new(),
            read: 0,
            unfreed: 0,
            free_at: (window / 8).max(1),
            state: ItemsState::Open,
        };
        Some((items, window))
    }

    /// Drops a stream whose ask was not sent.
    pub(crate) fn close_unsent(mut self) {
        self.state = ItemsState::Over;
        self.session.close_stream(self.slot.index());
    }

    /// Gives back the credit of the items that were read.
    fn free(&mut self) {
        let units = std::mem::take(&mut self.unfreed);
        if units > 0
            && let Some(limit) = self.inbox.free(units)
        {
            let asker = (self.slot.index(), self.slot.generation());
            if self.session.sending().sender.raise_items(asker, limit) {
                self.session.wake_driver();
            }
        }
    }

    /// Calls `read` on the next item of the chunk. `None` if none is left.
    fn read_next(&mut self, read: &mut ReadItem<'_>) -> Option<Result<(), CallError>> {
        let item = next_item(&self.chunk, &mut self.read)?;
        self.unfreed += units(self.head + item.len());
        let mut result = read(&mut Reader::new(item));
        if let Err(DecodeError::NeedsSession) = result {
            scope::read_from(&self.session, item, &mut || {
                result = read(&mut Reader::new(item));
                result.is_ok()
            });
        } else if result.is_err() {
            self.session.discard_value(item);
        }
        if self.unfreed >= self.free_at {
            self.free();
        }
        Some(result.map_err(|why| self.bad_reply(&why.to_string())))
    }

    fn bad_reply(&self, why: &str) -> CallError {
        CallError::new(CallErrorKind::BadReply, &self.target).with_detail(why)
    }

    /// Polls for the completion of the ask.
    fn poll_completion(&self, waker: &Waker) -> Poll<Result<Bytes, CallError>> {
        let (slot, session) = (self.slot, &self.session);
        let Poll::Ready(fetched) = session.asks.poll(slot.index(), slot.generation(), waker) else {
            if !turn::is_open() {
                session.flush_ask();
            }
            return Poll::Pending;
        };
        Poll::Ready(match fetched {
            None => Err(CallError::new(CallErrorKind::Unknown, &self.target)),
            Some(answer) => answer.map_err(|failed| {
                let (kind, text) = *failed;
                CallError::new(kind, &self.target).with_detail(&text)
            }),
        })
    }

    /// Lets go the references in items that are never read.
    fn discard(&self, chunk: &Buffer, mut read: usize) {
        while let Some(item) = next_item(chunk, &mut read) {
            self.session.discard_value(item);
        }
    }
}

impl ItemSource for Items {
    fn poll_item(
        &mut self,
        read: &mut ReadItem<'_>,
        waker: &Waker,
    ) -> Poll<Option<Result<(), CallError>>> {
        loop {
            if let Some(result) = self.read_next(read) {
                return Poll::Ready(Some(result));
            }
            self.read = 0;
            if self.inbox.take(&mut self.chunk, waker) {
                continue;
            }
            self.chunk.clear();
            match std::mem::replace(&mut self.state, ItemsState::Over) {
                ItemsState::Over => return Poll::Ready(None),
                ItemsState::Open => {
                    self.free();
                    match self.poll_completion(waker) {
                        Poll::Pending => {
                            self.state = ItemsState::Open;
                            return Poll::Pending;
                        }
                        // Items may have come between the last look and the completion.
                        Poll::Ready(completion) => self.state = ItemsState::Ending(completion),
                    }
                }
                ItemsState::Ending(completion) => {
                    self.session.free_slot(self.slot.index());
                    return Poll::Ready(match completion {
                        Ok(end) if end == END => None,
                        Ok(_) => Some(Err(self.bad_reply("the answer is no stream"))),
                        Err(error) => Some(Err(error)),
                    });
                }
            }
        }
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        let left = self.inbox.abandon();
        if self.session.references.are_known() {
            self.discard(&self.chunk, self.read);
            left.iter().for_each(|chunk| self.discard(chunk, 0));
        }
        match self.state {
            ItemsState::Over => {}
            ItemsState::Ending(_) => self.session.free_slot(self.slot.index()),
            ItemsState::Open => {
                if self.session.disown(self.slot) {
                    let asker = (self.slot.index(), self.slot.generation());
                    send_cancels(&self.session, [asker]);
                }
            }
        }
    }
}
